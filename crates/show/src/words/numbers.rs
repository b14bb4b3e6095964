//! How numbers are written.

use coho_profile::Estimate;

use super::bytes;
use crate::figure::Format;

/// Nothing that is measured has more digits before the point: what a damaged profile tells is written by powers of ten.
const SENSIBLE: f64 = 1e12;

/// `1.00e300` of what is beyond the sensible, `–` of what is no number.
fn beyond(value: f64) -> Option<String> {
    match value.abs() {
        _ if !value.is_finite() => Some("–".to_owned()),
        size if size >= SENSIBLE => Some(format!("{value:.2e}")),
        _ => None,
    }
}

/// Three significant digits, or all before the point.
pub fn number(value: f64) -> String {
    if let Some(text) = beyond(value) {
        return text;
    }
    // Without the sign that a zero may have.
    let value = value + 0.0;
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.0995 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// As a paper prints it: two decimals.
pub fn printed(value: f64) -> String {
    beyond(value).unwrap_or_else(|| format!("{:.2}", value + 0.0))
}

/// Without trailing zeros: `0.5`, `20`.
pub fn plain(value: f64) -> String {
    if let Some(text) = beyond(value) {
        return text;
    }
    let text = format!("{:.3}", value + 0.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A ratio, never by powers of ten: `1.10`, `0.003`.
pub fn ratio(value: f64) -> String {
    match value {
        _ if value.abs() < 0.0005 => "0".to_owned(),
        _ if value.abs() < 0.0995 => format!("{value:.3}"),
        _ => number(value),
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

/// A number in the way that its column wants it.
pub fn formatted(value: f64, format: Format) -> String {
    if let Some(text) = beyond(value) {
        return text;
    }
    let value = value + 0.0;
    match format {
        Format::Digits => number(value),
        Format::Ratio => ratio(value),
        Format::Plain if value != 0.0 && (1e-9..0.0995).contains(&value.abs()) => {
            format!("{value:.*}", (2.0 - value.abs().log10().floor()) as usize)
        }
        Format::Plain => number(value),
        Format::Tenths if value.abs() < 9.995 => format!("{:.1}", value.max(0.0)),
        Format::Tenths => number(value),
        Format::Printed => printed(value),
        Format::Whole => format!("{value:.0}"),
        Format::Bytes => bytes(value as u64),
        Format::Percent => format!("{:.0} %", value * 100.0),
    }
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
        assert_eq!([1e300, -2.5e15, -0.0].map(number), ["1.00e300", "-2.50e15", "0.00"]);
        assert_eq!(
            [printed(1e300), plain(1e300), printed(-0.0), plain(-0.0)],
            ["1.00e300", "1.00e300", "0.00", "0"]
        );
        assert_eq!(formatted(1e300, Format::Whole), "1.00e300");
    }

    #[test]
    fn a_figure_alone_says_how_sure_it_is() {
        let figure = Estimate { low: 110.0, high: 113.4, n: 40, ..Estimate::exact(112.0) };
        assert_eq!(within(&figure), "112 ±2 %");
        assert_eq!(within(&Estimate { low: 112.0, high: 112.0, n: 40, ..figure.clone() }), "112 ±1 %");
        assert_eq!(within(&Estimate::exact(112.0)), "112 (one sample)");
        assert_eq!(within(&Estimate { n: 5, ..figure.clone() }), "112 (5 samples, ±2 %)");
    }

    #[test]
    fn small_numbers_are_plain_where_a_column_has_large_ones() {
        let plain = |value| formatted(value, Format::Plain);
        assert_eq!(
            [1710.2, 8.57, 0.5, 0.008_569, 0.0].map(plain),
            ["1710", "8.57", "0.50", "0.00857", "0.00"]
        );
    }

    #[test]
    fn a_small_ratio_is_not_shown_as_none() {
        assert_eq!(
            [1.25, 0.5, 0.0994, 0.00312, 0.000_04].map(times),
            ["1.25", "0.50", "0.099", "0.0031", "0.000040"]
        );
        assert_eq!((times(2e-9), times(f64::INFINITY)), ("2.0e-9".to_owned(), "–".to_owned()));
    }
}
