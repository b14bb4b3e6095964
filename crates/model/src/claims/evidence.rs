//! Figures with the interval in which they lie, and the bounds that claims set them.

use coho_profile::{Estimate, Method, Profile};

use super::Verdict;
use crate::stats::median;

/// The fewest samples whose range holds their median with 95 % (1 - 2 / 2^n).
const LEAST_SAMPLES: u64 = 6;
/// An unstable figure's value counts if so much of the samples had it.
const SEEN: f64 = 0.05;

/// What is judged.
pub(super) struct Context<'a> {
    pub(super) profile: &'a Profile,
    /// Whether its figures were printed, which tells no interval.
    pub(super) published: bool,
}

/// What a claim is judged by.
pub(super) struct Evidence {
    pub(super) parts: Vec<Part>,
    /// How and when it was measured.
    pub(super) how: String,
}

/// One figure of the evidence: all must be on the claim's side.
pub(super) struct Part {
    /// What it is of; empty if it is the only one.
    pub(super) what: String,
    pub(super) range: Range,
}

/// A figure and within which it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What a figure is to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Within(f64, f64),
}

/// What a figure is counted in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// One figure over another.
    Times,
    Share,
    Ns,
    Kib,
    Lines,
    Cpi,
}

impl Context<'_> {
    /// Within which a figure lies.
    ///
    /// # Errors
    /// Why it tells nothing.
    pub(super) fn range(&self, what: &str, estimate: Option<&Estimate>) -> Result<Range, String> {
        let Some(estimate) = estimate.filter(|estimate| estimate.median.is_finite()) else {
            return Err(format!("{what} was not measured"));
        };
        let Estimate { median: value, mut low, mut high, n, .. } = *estimate;
        if self.published {
            return Ok(Range { value, low, high });
        }
        if n < LEAST_SAMPLES {
            let samples = if n == 1 { "one sample".to_owned() } else { format!("{n} samples") };
            return Err(format!("{what} has {samples}, and an interval of 95 % takes {LEAST_SAMPLES}"));
        }
        if estimate.stable == Some(false) {
            for mode in estimate.modes.iter().filter(|mode| mode.share >= SEEN) {
                (low, high) = (low.min(mode.value), high.max(mode.value));
            }
        }
        Ok(Range { value, low, high })
    }

    /// The first of several names that something has.
    pub(super) fn first<T>(
        names: &[&'static str],
        find: impl Fn(&str) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        names.iter().find_map(|&name| Some((name, find(name)?)))
    }
}

/// How and for how long a section was measured.
pub(super) fn how(method: &Method) -> String {
    let mut how = match (method.passes, method.duration_s) {
        (0, 0.0) => return "as printed".to_owned(),
        (0, seconds) => format!("one run of {seconds:.1} s"),
        (passes, seconds) => format!("one run of {passes} passes in {seconds:.1} s"),
    };
    if method.interrupted {
        how += ", stopped before its end";
    }
    if method.steal_s > 0.05 * method.duration_s {
        how += &format!(", {:.1} s of it taken by the hypervisor", method.steal_s);
    }
    how
}

impl Evidence {
    pub(super) fn of(parts: Vec<Part>, how: impl Into<String>) -> Self {
        Self { parts, how: how.into() }
    }

    /// A single figure.
    pub(super) fn one(range: Range, how: impl Into<String>) -> Self {
        Self::of(vec![Part { what: String::new(), range }], how)
    }
}

impl Part {
    pub(super) fn new(what: impl Into<String>, range: Range) -> Self {
        Self { what: what.into(), range }
    }
}

impl Range {
    /// This over another; `None` where that may be 0.
    pub(super) fn over(self, other: Self) -> Option<Self> {
        (other.low > 0.0).then(|| Self {
            value: self.value / other.value,
            low: self.low / other.high,
            high: self.high / other.low,
        })
    }

    pub(super) fn less(self, other: Self) -> Self {
        let Self { value, low, high } = other;
        Self { value: self.value - value, low: self.low - high, high: self.high - low }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let Self { value, low, high } = other;
        Self { value: self.value + value, low: self.low + low, high: self.high + high }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The mean of several, as far as each goes.
    pub(super) fn mean(all: &[Self]) -> Option<Self> {
        let n = all.len() as f64;
        let sum = all.iter().copied().reduce(Self::plus)?;
        Some(sum.times(1.0 / n))
    }

    /// The middle one of several, by each end.
    pub(super) fn middle(all: &[Self]) -> Option<Self> {
        let of = |end: fn(&Self) -> f64| median(&mut all.iter().map(end).collect::<Vec<_>>());
        (!all.is_empty()).then(|| Self {
            value: of(|one| one.value),
            low: of(|one| one.low),
            high: of(|one| one.high),
        })
    }

    /// The geometric mean of several ratios.
    pub(super) fn geometric(all: &[Self]) -> Option<Self> {
        let n = all.len() as f64;
        let of = |end: fn(&Self) -> f64| (all.iter().map(|one| end(one).ln()).sum::<f64>() / n).exp();
        let usable = !all.is_empty() && all.iter().all(|one| one.low > 0.0);
        usable.then(|| Self { value: of(|one| one.value), low: of(|one| one.low), high: of(|one| one.high) })
    }
}

impl Bound {
    pub(super) fn holds(self, range: Range) -> Verdict {
        let (least, most) = self.ends();
        match range {
            Range { low, high, .. } if low >= least && high <= most => Verdict::Holds,
            Range { low, high, .. } if high < least || low > most => Verdict::DoesNotHold,
            _ => Verdict::CannotBeTold,
        }
    }

    fn ends(self) -> (f64, f64) {
        match self {
            Self::AtLeast(least) => (least, f64::INFINITY),
            Self::AtMost(most) => (f64::NEG_INFINITY, most),
            Self::Within(least, most) => (least, most),
        }
    }

    /// The bound in words.
    pub(super) fn told(self, unit: Unit) -> String {
        match self {
            Self::AtLeast(one) | Self::AtMost(one) => unit.number(one),
            Self::Within(least, most) => {
                format!("the bounds {} and {}", unit.number(least), unit.number(most))
            }
        }
    }

    pub(super) fn met(self, unit: Unit) -> String {
        match self {
            Self::AtLeast(least) => format!("the interval is at least {}", unit.number(least)),
            Self::AtMost(most) => format!("the interval is at most {}", unit.number(most)),
            Self::Within(least, most) => {
                format!("the interval is within {} and {}", unit.number(least), unit.number(most))
            }
        }
    }

    pub(super) fn missed(self, range: Range, unit: Unit) -> String {
        let (least, most) = self.ends();
        if range.high < least {
            format!("below {} over its whole interval", unit.number(least))
        } else {
            format!("above {} over its whole interval", unit.number(most))
        }
    }
}

impl Unit {
    fn number(self, value: f64) -> String {
        let digits = |value: f64| match value.abs() {
            value if value >= 100.0 => format!("{value:.0}"),
            value if value >= 10.0 => format!("{value:.1}"),
            _ => format!("{value:.2}"),
        };
        match self {
            Self::Times => format!("{}x", digits(value)),
            Self::Share => format!("{} %", digits(100.0 * value)),
            Self::Ns => format!("{} ns", digits(value)),
            Self::Kib => format!("{} KiB", digits(value)),
            Self::Lines => format!("{} lines", digits(value)),
            Self::Cpi => format!("CPI {}", digits(value)),
        }
    }

    /// The figure with its interval, where it has one.
    pub(super) fn show(self, range: Range) -> String {
        let Range { value, low, high } = range;
        if high.is_infinite() {
            return format!("at least {}", self.number(low));
        }
        if low == high {
            return self.number(value);
        }
        let bare = |value: f64| {
            let text = self.number(value);
            text.trim_start_matches("CPI ")
                .split(' ')
                .next()
                .unwrap_or_default()
                .trim_end_matches('x')
                .to_owned()
        };
        format!("{} ({}–{})", self.number(value), bare(low), bare(high))
    }
}
