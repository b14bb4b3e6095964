//! Signs as in print.

/// A number's digits with the minus sign of print, which zero has not: `−2.5`, `0.00`.
pub fn with_minus(digits: String) -> String {
    match digits.strip_prefix('-') {
        Some(size) if size.contains(|digit| ('1'..='9').contains(&digit)) => format!("−{size}"),
        Some(zero) => zero.to_owned(),
        None => digits,
    }
}

/// A change with its sign: `+5`, `−0.4`; `0` if it rounds to none, and `–` if it is no number.
pub fn change(value: f64, decimals: usize) -> String {
    match with_minus(format!("{value:.decimals$}")) {
        _ if !value.is_finite() => "–".to_owned(),
        digits if digits.starts_with('−') => digits,
        digits if digits.contains(|digit| ('1'..='9').contains(&digit)) => format!("+{digits}"),
        _ => "0".to_owned(),
    }
}

/// A range: `24.1–26.3`, or `−3…2` where a dash would stand beside a minus sign.
pub fn between(low: &str, high: &str) -> String {
    let dash = if low.starts_with('−') || high.starts_with('−') { "…" } else { "–" };
    format!("{low}{dash}{high}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_sign_and_no_minus_is_a_hyphen() {
        let digits = ["-2.5", "-0", "-0.00", "0", "12", "-1.0e-9"].map(|text| with_minus(text.to_owned()));
        assert_eq!(digits, ["−2.5", "0", "0.00", "0", "12", "−1.0e-9"]);
        let changes = [4.6, -0.4, 0.4, -12.0, f64::INFINITY, f64::NAN].map(|value| change(value, 0));
        assert_eq!(changes, ["+5", "0", "0", "−12", "–", "–"]);
        assert_eq!([change(-0.44, 1), change(0.0, 1)], ["−0.4", "0"]);
    }

    #[test]
    fn no_dash_stands_beside_a_minus_sign() {
        assert_eq!(between("24.1", "26.3"), "24.1–26.3");
        assert_eq!([between("−24.9", "−2.34"), between("−3", "2")], ["−24.9…−2.34", "−3…2"]);
    }
}
