//! How figures are written for people.

use coho_profile::{Estimate, LineSpread};

use crate::visible::on_one_line;

/// Three significant digits, or all before the point.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.0995 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// As a paper prints it: two decimals.
pub fn printed(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { "–".to_owned() }
}

/// Median and interval: `113 (112–115)`.
pub fn estimate(estimate: &Estimate) -> String {
    with_interval(estimate.median, own_interval(estimate))
}

/// A ratio with its interval, never by powers of ten: `1.10 (0.003–111)`.
pub fn ratio(ratio: &Estimate) -> String {
    let plain = |value: f64| match value {
        _ if value.abs() < 0.0005 => "0".to_owned(),
        _ if value.abs() < 0.0995 => format!("{value:.3}"),
        _ => number(value),
    };
    told(ratio.median, own_interval(ratio), plain)
}

/// A number of lines with its interval, which nobody counts finer than by tenths.
pub fn lines(estimate: &Estimate) -> String {
    let tenths =
        |value: f64| if value.is_finite() { format!("{:.1}", value.max(0.0)) } else { "–".to_owned() };
    let digits = |value: f64| if value.abs() >= 9.995 { number(value) } else { tenths(value) };
    told(estimate.median, own_interval(estimate), digits)
}

/// The spread of a pair's time over cache lines, and whether it is the lines': `24.4–30.3 ns, r 0.97: lines differ`.
pub fn line_spread(lines: &LineSpread) -> String {
    let halves = lines.split_half.filter(|r| r.is_finite());
    let halves = halves.map_or_else(String::new, |r| format!(", r {}", signed(r)));
    let whose = if lines.differ() { "lines differ" } else { "noise, no line stays quicker" };
    format!("{}–{} ns{halves}: {whose}", number(lines.p10), number(lines.p90))
}

/// A correlation, with the minus sign of print.
fn signed(correlation: f64) -> String {
    format!("{correlation:.2}").replace('-', "−").replace("−0.00", "0.00")
}

/// A value with the interval that it lies in, where one is told.
pub fn with_interval(value: f64, interval: Option<(f64, f64)>) -> String {
    told(value, interval, number)
}

/// The interval of an estimate from more than one sample.
fn own_interval(estimate: &Estimate) -> Option<(f64, f64)> {
    (estimate.n > 1).then_some((estimate.low, estimate.high))
}

fn told(value: f64, interval: Option<(f64, f64)>, digits: impl Fn(f64) -> String) -> String {
    match interval {
        Some((low, high)) => format!("{} ({}–{})", digits(value), digits(low), digits(high)),
        None => digits(value),
    }
}

/// A size in the largest binary unit that leaves no fraction; of five digits and more also in one that leaves quarters
/// (157.5 MiB).
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut size, mut unit) = (bytes, 0);
    while size >= 1024 && size % 1024 == 0 && unit + 1 < UNITS.len() {
        size /= 1024;
        unit += 1;
    }
    if size >= 10_240 && size % 256 == 0 && unit + 1 < UNITS.len() {
        return format!("{} {}", size as f64 / 1024.0, UNITS[unit + 1]);
    }
    format!("{size} {}", UNITS[unit])
}

/// The least and the greatest of some sizes in bytes: `8 B`, or `220 B to 512 B`.
pub fn span(sizes: impl Iterator<Item = f64> + Clone) -> String {
    let [least, greatest] = [sizes.clone().fold(f64::INFINITY, f64::min), sizes.fold(0.0, f64::max)];
    match least < greatest {
        true => format!("{} to {}", bytes(least as u64), bytes(greatest as u64)),
        false => bytes(greatest as u64),
    }
}

/// `1 level`, `2 levels`.
pub fn count(n: usize, noun: &str) -> String {
    match (n, noun.ends_with("L3")) {
        (1, _) | (_, true) => format!("{n} {noun}"),
        _ => format!("{n} {noun}s"),
    }
}

/// Text that a profile brings, on one line: it could steer a terminal.
pub fn tame(text: &str) -> String {
    on_one_line(text)
}

/// Why something is missing, for a place that says already that it is.
pub fn reason(why: &str) -> String {
    tame(why.strip_prefix("not available: ").unwrap_or(why))
}

/// A thousand is still read at a glance; a longer text is cut.
pub fn short(text: &str, most: usize) -> String {
    let tame = tame(text);
    if tame.chars().count() <= most { tame } else { tame.chars().take(most - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(number(113.44), "113");
        assert_eq!(number(22.66), "22.7");
        assert_eq!(number(1.5), "1.50");
        assert_eq!(number(9.999), "10.0");
        assert_eq!(number(f64::NAN), "–");
    }

    #[test]
    fn ratios_are_read_without_powers_of_ten() {
        let wide = Estimate { median: 1.1, low: 0.0029, high: 111.0, n: 3, ..Estimate::exact(1.1) };
        assert_eq!(ratio(&wide), "1.10 (0.003–111)");
        assert_eq!(ratio(&Estimate::exact(0.5)), "0.50");
    }

    #[test]
    fn sizes_take_the_unit_that_leaves_no_fraction() {
        assert_eq!(bytes(16 << 10), "16 KiB");
        assert_eq!(bytes(1536), "1536 B");
        assert_eq!(bytes(161_280 << 10), "157.5 MiB");
        assert_eq!(bytes(100_001), "100001 B", "exact, or in full");
        assert_eq!(bytes(0), "0 B");
    }

    #[test]
    fn text_from_a_profile_cannot_steer_a_terminal() {
        assert_eq!(tame("a\x1b[31mb\n"), "a\\u{1b}[31mb ");
        assert_eq!(short("abcdef", 4), "abc…");
    }
}
