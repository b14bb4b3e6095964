//! Figures with the interval in which they lie. Arithmetic takes each end as far as it can go.

use coho_profile::{Estimate, Ns};
use serde::Serialize;

use crate::stats::median;

/// A figure, a number or a time, and the range in which it lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Range<T = f64> {
    /// The figure, computed from the medians of its inputs.
    #[serde(rename = "median")]
    pub value: T,
    /// The lower end.
    pub low: T,
    /// The upper end.
    pub high: T,
}

impl From<&Estimate> for Range {
    fn from(estimate: &Estimate) -> Self {
        Self { value: estimate.median, low: estimate.low, high: estimate.high }
    }
}

impl Range<Ns> {
    /// A time estimated in ns.
    pub(crate) fn time(ns: &Estimate) -> Self {
        Self { value: Ns(ns.median), low: Ns(ns.low), high: Ns(ns.high) }
    }

    /// The same as numbers, in ns.
    pub fn ns(self) -> Range {
        Range { value: self.value.0, low: self.low.0, high: self.high.0 }
    }
}

impl Range {
    /// This over another; `None` where the other may be 0.
    pub(crate) fn over(self, other: Self) -> Option<Self> {
        (other.low > 0.0).then(|| Self {
            value: self.value / other.value,
            low: self.low / other.high,
            high: self.high / other.low,
        })
    }

    pub(crate) fn less(self, other: Self) -> Self {
        let Self { value, low, high } = other;
        Self { value: self.value - value, low: self.low - high, high: self.high - low }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        let Self { value, low, high } = other;
        Self { value: self.value + value, low: self.low + low, high: self.high + high }
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The mean of several, end by end.
    pub(crate) fn mean(all: &[Self]) -> Option<Self> {
        let n = all.len() as f64;
        let sum = all.iter().copied().reduce(Self::plus)?;
        Some(sum.times(1.0 / n))
    }

    /// The median of several, end by end.
    pub(crate) fn middle(all: &[Self]) -> Option<Self> {
        let of = |end: fn(&Self) -> f64| median(&mut all.iter().map(end).collect::<Vec<_>>());
        (!all.is_empty()).then(|| Self {
            value: of(|one| one.value),
            low: of(|one| one.low),
            high: of(|one| one.high),
        })
    }

    /// The geometric mean of several ratios.
    pub(crate) fn geometric(all: &[Self]) -> Option<Self> {
        let n = all.len() as f64;
        let of = |end: fn(&Self) -> f64| (all.iter().map(|one| end(one).ln()).sum::<f64>() / n).exp();
        let usable = !all.is_empty() && all.iter().all(|one| one.low > 0.0);
        usable.then(|| Self { value: of(|one| one.value), low: of(|one| one.low), high: of(|one| one.high) })
    }
}
