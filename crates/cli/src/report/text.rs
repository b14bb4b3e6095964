//! How figures are written for people.

use coho_profile::{Estimate, Inexact, LineSpread};

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

/// Median and interval: `113 (112–115)`; of too few samples for one their range: `113 [112–115, n=3]`.
pub fn estimate(estimate: &Estimate) -> String {
    own(estimate, number)
}

/// The same times `scale`, as in another unit.
pub fn scaled(estimate: &Estimate, scale: f64) -> String {
    own(estimate, |value| number(scale * value))
}

/// Median and half the interval's width in whole per cent, rounded up: `113 ±2 %`; of too few samples for an interval that
/// they are so few.
pub fn within(estimate: &Estimate) -> String {
    let median = number(estimate.median);
    let half = (100.0 * estimate.relative_half_width()).ceil().max(1.0);
    match estimate.n {
        0 | 1 => format!("{median} (one sample)"),
        _ if estimate.has_interval() => format!("{median} ±{half:.0} %"),
        n => format!("{median} ({n} samples, ±{half:.0} %)"),
    }
}

/// A ratio with its interval, never by powers of ten: `1.10 (0.003–111)`.
pub fn ratio(ratio: &Estimate) -> String {
    let plain = |value: f64| match value {
        _ if value.abs() < 0.0005 => "0".to_owned(),
        _ if value.abs() < 0.0995 => format!("{value:.3}"),
        _ => number(value),
    };
    own(ratio, plain)
}

/// A number of lines with its interval, which nobody counts finer than by tenths.
pub fn lines(estimate: &Estimate) -> String {
    let tenths =
        |value: f64| if value.is_finite() { format!("{:.1}", value.max(0.0)) } else { "–".to_owned() };
    let digits = |value: f64| if value.abs() >= 9.995 { number(value) } else { tenths(value) };
    own(estimate, digits)
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

/// A figure in the words of a source that does not tell it exactly: `≈ 4.00`, `< 10.0`, `0.70–0.80`.
pub fn worded(value: f64, interval: Option<(f64, f64)>, inexact: Option<Inexact>) -> String {
    match (inexact, interval) {
        (Some(Inexact::About), _) => format!("≈ {}", number(value)),
        (Some(Inexact::Below), _) => format!("< {}", number(value)),
        (Some(Inexact::Between), Some((low, high))) => format!("{}–{}", number(low), number(high)),
        _ => with_interval(value, interval),
    }
}

/// A ratio of two figures, which may be small but is never 0: `1.25`, `0.0031`.
pub fn times(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "–".to_owned();
    }
    match ratio.abs() {
        size if size >= 0.0995 || size == 0.0 => number(ratio),
        size if size < 1e-6 => format!("{ratio:.1e}"),
        size => format!("{ratio:.*}", (1.0 - size.log10().floor()) as usize),
    }
}

/// An estimate with its interval, or with its range where its samples are too few for one.
fn own(estimate: &Estimate, digits: impl Fn(f64) -> String) -> String {
    let Estimate { median, low, high, n, .. } = *estimate;
    match n {
        0 | 1 => digits(median),
        _ if estimate.has_interval() => told(median, Some((low, high)), digits),
        _ => format!("{} [{}–{}, n={n}]", digits(median), digits(low), digits(high)),
    }
}

fn told(value: f64, interval: Option<(f64, f64)>, digits: impl Fn(f64) -> String) -> String {
    match interval {
        Some((low, high)) => format!("{} ({}–{})", digits(value), digits(low), digits(high)),
        None => digits(value),
    }
}

/// A size, as the topology's tree tells it.
pub use coho_topology::size as bytes;

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
    fn a_figure_alone_says_how_sure_it_is() {
        let figure = Estimate { low: 110.0, high: 113.4, n: 40, ..Estimate::exact(112.0) };
        assert_eq!(within(&figure), "112 ±2 %");
        assert_eq!(within(&Estimate { low: 112.0, high: 112.0, n: 40, ..figure.clone() }), "112 ±1 %");
        assert_eq!(within(&Estimate::exact(112.0)), "112 (one sample)");
        assert_eq!(within(&Estimate { n: 5, ..figure.clone() }), "112 (5 samples, ±2 %)");
    }

    /// An interval of 95 % takes six samples.
    #[test]
    fn the_range_of_few_samples_is_not_shown_as_an_interval() {
        let of = |n| Estimate { low: 23.1, high: 25.2, n, ..Estimate::exact(24.0) };
        assert_eq!(estimate(&of(6)), "24.0 (23.1–25.2)");
        for n in [2, 5] {
            assert_eq!(estimate(&of(n)), format!("24.0 [23.1–25.2, n={n}]"));
        }
        assert_eq!(estimate(&of(1)), "24.0");
        assert_eq!(scaled(&of(3), 1e3), "24000 [23100–25200, n=3]");
    }

    #[test]
    fn ratios_are_read_without_powers_of_ten() {
        let wide = Estimate { median: 1.1, low: 0.0029, high: 111.0, n: 3, ..Estimate::exact(1.1) };
        assert_eq!(ratio(&wide), "1.10 [0.003–111, n=3]");
        assert_eq!(ratio(&Estimate { n: 6, ..wide }), "1.10 (0.003–111)");
        assert_eq!(ratio(&Estimate::exact(0.5)), "0.50");
    }

    #[test]
    fn a_small_ratio_is_not_shown_as_none() {
        assert_eq!(
            [1.25, 0.5, 0.0994, 0.00312, 0.000_04].map(times),
            ["1.25", "0.50", "0.099", "0.0031", "0.000040"]
        );
        assert_eq!((times(2e-9), times(f64::INFINITY)), ("2.0e-9".to_owned(), "–".to_owned()));
    }

    #[test]
    fn what_a_source_words_is_not_shown_as_exact() {
        let range = Some((0.7, 0.8));
        assert_eq!(worded(4.0, None, Some(Inexact::About)), "≈ 4.00");
        assert_eq!(worded(10.0, None, Some(Inexact::Below)), "< 10.0");
        assert_eq!(worded(0.75, range, Some(Inexact::Between)), "0.70–0.80");
        assert_eq!(worded(0.75, range, None), "0.75 (0.70–0.80)");
    }

    #[test]
    fn text_from_a_profile_cannot_steer_a_terminal() {
        assert_eq!(tame("a\x1b[31mb\n"), "a\\u{1b}[31mb ");
        assert_eq!(short("abcdef", 4), "abc…");
    }
}
