//! How numbers are written.

use std::borrow::Cow;

use coho_model::signs::with_minus;
use coho_profile::Estimate;

/// No measured value has more digits before the point: those of a damaged profile are written by powers of ten.
const SENSIBLE: f64 = 1e12;

/// `1.00e300` for a value beyond that, `–` for one that is not a number.
pub(crate) fn beyond(value: f64) -> Option<String> {
    match value.abs() {
        _ if !value.is_finite() => Some("–".to_owned()),
        size if size >= SENSIBLE => Some(with_minus(format!("{value:.2e}"))),
        _ => None,
    }
}

/// Nobody reads a figure of this many digits in a row, and no machine gave it: the largest integer has 20.
const ILLEGIBLE: usize = 21;

/// Text in which figures of a damaged profile, wherever they were put into words, are written by powers of ten.
pub fn legible(text: &str) -> Cow<'_, str> {
    let is_digit = |c: char| c.is_ascii_digit();
    if !text.split(|c| !is_digit(c)).any(|run| run.len() >= ILLEGIBLE) {
        return Cow::Borrowed(text);
    }
    let (mut legible, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(is_digit) {
        let (before, from) = rest.split_at(at);
        let (run, behind) = from.split_at(from.find(|c| !is_digit(c)).unwrap_or(from.len()));
        legible += before;
        rest = behind;
        if run.len() < ILLEGIBLE {
            legible += run;
            continue;
        }
        legible += &format!("{}.{}e{}", &run[..1], &run[1..3], run.len() - 1);
        // What stands behind the point adds nothing.
        if let Some(decimals) = rest.strip_prefix('.').filter(|decimals| decimals.starts_with(is_digit)) {
            rest = decimals.trim_start_matches(is_digit);
        }
    }
    Cow::Owned(legible + rest)
}

/// Three significant digits, or all before the point; below a tenth two: `113`, `1.50`, `0.084`.
pub fn number(value: f64) -> String {
    let digits = || match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.0995 || size == 0.0 => format!("{value:.2}"),
        size if size >= 0.000_95 => significant(value),
        _ => format!("{value:.1e}"),
    };
    beyond(value).unwrap_or_else(|| with_minus(digits()))
}

/// Two significant digits of what is below a tenth.
fn significant(value: f64) -> String {
    format!("{value:.*}", (1.0 - value.abs().log10().floor()) as usize)
}

/// As a paper prints it: two decimals.
pub fn printed(value: f64) -> String {
    beyond(value).unwrap_or_else(|| with_minus(format!("{value:.2}")))
}

/// Without trailing zeros: `0.5`, `20`.
pub fn plain(value: f64) -> String {
    let decimal = || format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned();
    beyond(value).unwrap_or_else(|| with_minus(decimal()))
}

/// A ratio, never by powers of ten: `1.10`, `0.003`.
pub fn ratio(value: f64) -> String {
    match value {
        _ if value.abs() < 0.0005 => "0".to_owned(),
        _ if value.abs() < 0.0995 => with_minus(format!("{value:.3}")),
        _ => number(value),
    }
}

/// A ratio of two figures, which may be small but is never 0: `1.25`, `0.0031`.
pub fn times(ratio: f64) -> String {
    match ratio.abs() {
        _ if !ratio.is_finite() => "–".to_owned(),
        size if size >= 0.0995 || size == 0.0 => number(ratio),
        size if size < 1e-6 => with_minus(format!("{ratio:.1e}")),
        _ => with_minus(significant(ratio)),
    }
}

/// Median and half the interval's width in whole per cent, rounded up: `113 ±2 %`; with the number of samples where these are
/// too few for an interval.
pub fn within(estimate: &Estimate) -> String {
    let median = number(estimate.median);
    let half = (100.0 * estimate.relative_half_width()).ceil().max(1.0);
    match estimate.n {
        0 | 1 => format!("{median} (one sample)"),
        _ if estimate.has_interval() => format!("{median} ±{half:.0} %"),
        n => format!("{median} ({n} samples, ±{half:.0} %)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!([113.44, 22.66, 1.5, 9.999].map(number), ["113", "22.7", "1.50", "10.0"]);
        assert_eq!(
            [0.0843, -0.003_14, 0.000_95, 0.000_92].map(number),
            ["0.084", "−0.0031", "0.00095", "9.2e-4"]
        );
        assert_eq!([f64::NAN, 1e300, -2.5e15, -0.0].map(number), ["–", "1.00e300", "−2.50e15", "0.00"]);
        assert_eq!([1e300, -0.0].map(printed), ["1.00e300", "0.00"]);
        assert_eq!([1e300, -0.0].map(plain), ["1.00e300", "0"]);
    }

    #[test]
    fn a_figure_alone_says_how_sure_it_is() {
        let figure =
            |half: f64, n| Estimate { low: 112.0 - half, high: 112.0 + half, n, ..Estimate::exact(112.0) };
        assert_eq!(within(&figure(1.7, 40)), "112 ±2 %");
        assert_eq!(within(&figure(0.0, 40)), "112 ±1 %");
        assert_eq!(within(&figure(0.0, 1)), "112 (one sample)");
        assert_eq!(within(&figure(1.7, 5)), "112 (5 samples, ±2 %)");
    }

    #[test]
    fn very_many_digits_are_written_by_powers_of_ten_and_fewer_stay() {
        let (most, figure) = (u64::MAX, format!("{:.2} ns", 1e30));
        assert_eq!(
            legible(&format!("a {figure}, 12.5 % and CPU {most}.")),
            format!("a 1.00e30 ns, 12.5 % and CPU {most}.")
        );
        assert_eq!(legible(&format!("−{}.", "9".repeat(24))), "−9.99e23.");
    }

    #[test]
    fn a_small_ratio_is_not_shown_as_none() {
        let ratios = [1.25, 0.5, 0.0994, 0.00312, 0.000_04, 2e-9, f64::INFINITY];
        assert_eq!(ratios.map(times), ["1.25", "0.50", "0.099", "0.0031", "0.000040", "2.0e-9", "–"]);
    }
}
