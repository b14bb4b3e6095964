//! A number with what is known of it.

use coho_model::signs;
use coho_profile::{Estimate, Inexact};

use crate::words;

/// A number with its interval and how it is written. Its unit stands in the column's head.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Figure {
    pub value: f64,
    pub spread: Spread,
    /// How many samples, CPUs or pairs it is the median or mean of.
    pub n: u64,
    /// How many samples its interval rests on: of several figures, those of the one with the fewest.
    pub samples: u64,
    /// How many passes they come from; 0 if that is not known.
    pub passes: u64,
    /// How its source words it, where that is not exact.
    pub inexact: Option<Inexact>,
    pub format: Format,
    /// A sign behind it that the table's notes explain; empty for none.
    pub mark: &'static str,
}

/// Within which a figure lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    None,
    /// The median's 95 % interval.
    Interval(f64, f64),
    /// The least and the greatest of too few samples for an interval.
    Range(f64, f64),
}

/// How a number is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Three digits: `113`, `22.7`, `1.50`.
    #[default]
    Digits,
    /// A ratio, never by powers of ten: `1.10`, `0.003`.
    Ratio,
    /// Three digits, never by powers of ten: `1710`, `0.00857`.
    Plain,
    /// Something counted, no finer than by tenths: `22.3`.
    Tenths,
    /// As papers print: two decimals.
    Printed,
    /// A whole number: `263`.
    Whole,
    /// A size in bytes: `64 KiB`.
    Bytes,
    /// A share, as per cent: `0.25` is `25 %`.
    Percent,
}

impl Format {
    pub fn of(self, value: f64) -> Figure {
        Figure::exact(value).format(self)
    }

    fn text(self, value: f64) -> String {
        let size = value.abs();
        signs::with_minus(match self {
            _ if words::beyond(value).is_some() => words::number(value),
            Self::Ratio => words::ratio(value),
            Self::Plain if (1e-9..0.0995).contains(&size) => {
                format!("{value:.*}", (2.0 - size.log10().floor()) as usize)
            }
            Self::Tenths if size < 9.995 => format!("{:.1}", value.max(0.0)),
            Self::Digits | Self::Plain | Self::Tenths => words::number(value),
            Self::Printed => words::printed(value),
            Self::Whole => format!("{value:.0}"),
            Self::Bytes => words::bytes(value as u64),
            Self::Percent => format!("{:.0} %", value * 100.0),
        })
    }
}

impl Figure {
    /// A number without an interval.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            spread: Spread::None,
            n: 1,
            samples: 1,
            passes: 0,
            inexact: None,
            format: Format::Digits,
            mark: "",
        }
    }

    pub fn count(n: impl TryInto<u64>) -> Self {
        let n = n.try_into().unwrap_or(u64::MAX);
        Self { format: Format::Whole, ..Self::exact(n as f64) }
    }

    pub fn bytes(bytes: u64) -> Self {
        Self { format: Format::Bytes, ..Self::exact(bytes as f64) }
    }

    /// A value between the ends of its interval.
    pub fn within(value: f64, interval: Option<(f64, f64)>, n: u64) -> Self {
        let spread = interval.map_or(Spread::None, |(low, high)| Spread::Interval(low, high));
        Self { spread, n, samples: n, ..Self::exact(value) }
    }

    /// The same, of which the interval rests on another number of samples.
    pub fn of_samples(self, samples: u64) -> Self {
        Self { samples, ..self }
    }

    /// What a paper says: a value, or a range where the estimate has one.
    pub fn published(estimate: &Estimate) -> Self {
        let range = Some((estimate.low, estimate.high)).filter(|(low, high)| low < high);
        let inexact = range.map(|_| Inexact::Between);
        Self { inexact, ..Self::within(estimate.median, range, estimate.n) }
    }

    /// The same in another unit.
    pub fn scaled(mut self, scale: f64) -> Self {
        self.value *= scale;
        self.spread = match self.spread {
            Spread::None => Spread::None,
            Spread::Interval(low, high) => Spread::Interval(low * scale, high * scale),
            Spread::Range(low, high) => Spread::Range(low * scale, high * scale),
        };
        self
    }

    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    pub fn marked(mut self, mark: &'static str) -> Self {
        self.mark = mark;
        self
    }

    pub fn worded(mut self, inexact: Option<Inexact>) -> Self {
        self.inexact = inexact;
        self
    }

    /// Its 95 % interval: only with one can a difference between two figures exceed the noise.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self.spread {
            Spread::Interval(low, high) => Some((low, high)),
            Spread::None | Spread::Range(..) => None,
        }
    }

    /// How many times another positive figure it is: within what the two intervals allow, or of too few samples the two
    /// ranges.
    pub fn over(&self, other: &Self) -> Self {
        let ends = |spread| match spread {
            Spread::None => None,
            Spread::Interval(low, high) | Spread::Range(low, high) => Some((low, high)),
        };
        let spread = match (ends(self.spread), ends(other.spread)) {
            (Some((low, high)), Some((least, most))) if least > 0.0 => {
                let (low, high) = (low / most, high / least);
                match self.interval().and(other.interval()) {
                    Some(_) => Spread::Interval(low, high),
                    None => Spread::Range(low, high),
                }
            }
            _ => Spread::None,
        };
        let samples = self.samples.min(other.samples);
        // Those of the figure with fewer; 0 is not known.
        let passes = [self.passes, other.passes].into_iter().filter(|passes| *passes > 0).min().unwrap_or(0);
        Self { spread, n: self.n.min(other.n), samples, passes, ..Self::exact(self.value / other.value) }
    }

    /// The same without what is known of its spread.
    pub fn without_interval(&self) -> Self {
        let worded = self.inexact == Some(Inexact::Between);
        Self { spread: if worded { self.spread } else { Spread::None }, ..self.clone() }
    }

    /// As it stands in a sentence: as in a table, and of one sample with a word that it is one.
    pub fn in_words(&self) -> String {
        match self.spread {
            Spread::None if self.n == 1 => format!("{} (one sample)", self.text()),
            _ => self.text(),
        }
    }

    /// As it stands in a table: `113 (112–115)`, of few samples `113 [112–115, n=3]`.
    pub fn text(&self) -> String {
        let digits = |value: f64| self.format.text(value);
        let between = |low, high| signs::between(&digits(low), &digits(high));
        let text = match (self.inexact, self.spread) {
            _ if !self.value.is_finite() => return "–".to_owned(),
            (Some(Inexact::About), _) => format!("≈ {}", digits(self.value)),
            (Some(Inexact::Below), _) => format!("< {}", digits(self.value)),
            (Some(Inexact::Between), Spread::Interval(low, high)) => between(low, high),
            (_, Spread::None) => digits(self.value),
            (_, Spread::Interval(low, high)) => {
                format!("{} ({})", digits(self.value), between(low, high))
            }
            (_, Spread::Range(low, high)) => {
                format!("{} [{}, n={}]", digits(self.value), between(low, high), self.n)
            }
        };
        if self.mark.is_empty() { text } else { format!("{text} {}", self.mark) }
    }
}

/// Median and interval; of fewer than six samples their range.
impl From<&Estimate> for Figure {
    fn from(estimate: &Estimate) -> Self {
        let Estimate { median, low, high, n, passes, .. } = *estimate;
        let spread = match n {
            0 | 1 => Spread::None,
            _ if estimate.has_interval() => Spread::Interval(low, high),
            _ => Spread::Range(low, high),
        };
        Self { spread, n, samples: n, passes, ..Self::exact(median) }
    }
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Self::exact(value)
    }
}

macro_rules! counted {
    ($($kind:ident),+) => {$(
        impl From<$kind> for Figure {
            fn from(n: $kind) -> Self {
                Self::count(n)
            }
        }
    )+};
}
counted!(u32, u64, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_as_sure_as_the_figures_it_is_of() {
        let of = |median, n| {
            Figure::from(&Estimate { low: 0.9 * median, high: 1.1 * median, n, ..Estimate::exact(median) })
        };
        let ratio = |a, b| of(20.0, a).over(&of(10.0, b)).in_words();
        assert_eq!(ratio(9, 40), "2.00 (1.64–2.44)");
        assert_eq!([ratio(9, 3), ratio(1, 40)], ["2.00 [1.64–2.44, n=3]", "2.00 (one sample)"]);
    }

    #[test]
    fn minus_signs_are_those_of_print() {
        let estimate = Estimate { low: -24.9, high: -2.34, n: 40, ..Estimate::exact(-9.47) };
        assert_eq!(Figure::from(&estimate).text(), "−9.47 (−24.9…−2.34)");
        assert_eq!(Format::Percent.of(-0.004).text(), "0 %");
        assert_eq!(Format::Whole.of(-0.4).text(), "0");
    }

    /// An interval of 95 % takes six samples.
    #[test]
    fn the_range_of_few_samples_is_not_shown_as_an_interval() {
        let of = |n| Figure::from(&Estimate { low: 23.1, high: 25.2, n, ..Estimate::exact(24.0) });
        assert_eq!(of(6).text(), "24.0 (23.1–25.2)");
        assert_eq!(of(6).interval(), Some((23.1, 25.2)));
        for n in [2, 5] {
            assert_eq!(of(n).text(), format!("24.0 [23.1–25.2, n={n}]"));
            assert_eq!(of(n).interval(), None);
        }
        assert_eq!(of(1).text(), "24.0");
        assert_eq!(of(3).scaled(1e3).text(), "24000 [23100–25200, n=3]");
    }

    #[test]
    fn ratios_are_read_without_powers_of_ten() {
        let wide = Estimate { median: 1.1, low: 0.0029, high: 111.0, n: 3, ..Estimate::exact(1.1) };
        assert_eq!(Figure::from(&wide).format(Format::Ratio).text(), "1.10 [0.003–111, n=3]");
        assert_eq!(Format::Ratio.of(0.5).text(), "0.50");
        let small = [1710.2, 8.57, 0.5, 0.008_569, 0.0].map(|value| Format::Plain.of(value).text());
        assert_eq!(small, ["1710", "8.57", "0.50", "0.00857", "0.00"]);
        assert_eq!(Format::Whole.of(1e300).text(), "1.00e300", "but for what no machine gives");
    }

    #[test]
    fn what_a_source_words_is_not_shown_as_exact() {
        let figure = Figure::within(0.75, Some((0.7, 0.8)), 1);
        assert_eq!(figure.text(), "0.75 (0.70–0.80)");
        assert_eq!(figure.worded(Some(Inexact::Between)).text(), "0.70–0.80");
        assert_eq!(Figure::exact(4.0).worded(Some(Inexact::About)).text(), "≈ 4.00");
        assert_eq!(Figure::exact(10.0).worded(Some(Inexact::Below)).text(), "< 10.0");
        let range = Estimate { low: 0.7, high: 0.8, ..Estimate::exact(0.75) };
        assert_eq!(Figure::published(&range).text(), "0.70–0.80");
    }
}
