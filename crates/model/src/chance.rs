//! Whether one thing is more or less than another beyond chance.
//!
//! Every sentence that calls something quicker, slower, better, best, more or less, or different rests on a [`Family`] of
//! comparisons: all that were looked at before one of them was told. Each is judged by intervals of so much confidence that
//! all of them together find a difference where there is none in one case of twenty at most (Bonferroni). The best of
//! twenty equal things always looks better than the rest; it is not called better here.
//!
//! ```
//! use coho_model::chance::{Family, Order};
//! use coho_profile::Estimate;
//! let of = |low: f64, n| Estimate { low, high: low + 2.0, n, min: low, ..Estimate::exact(low + 1.0) };
//! assert_eq!(Family::of(1).compare(&of(20.0, 40), &of(23.0, 40)), Order::Less);
//! assert_eq!(Family::of(500).compare(&of(20.0, 40), &of(23.0, 40)), Order::Open);
//! assert_eq!(Family::of(1).compare(&of(20.0, 5), &of(90.0, 5)), Order::TooFew);
//! ```

use coho_profile::{Estimate, SAME_MODE};

use crate::stability::jumped_between;

/// How likely any comparison of a family finds a difference where there is none.
pub const CHANCE: f64 = 0.05;

/// Runs of one machine differ by up to this ratio, whatever the interval of each: caches, the clock and the address of a
/// line are others each time.
pub const BETWEEN_RUNS: f64 = 1.1;

/// What may be said of two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The first is less.
    Less,
    /// The first is more.
    More,
    /// The figures do not tell which is more.
    Open,
    /// There are too few samples for so many comparisons.
    TooFew,
}

impl Order {
    /// Whether one is more than the other.
    pub fn differs(self) -> bool {
        matches!(self, Self::Less | Self::More)
    }
}

/// Comparisons that are looked at together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Family {
    confidence: f64,
    least_ratio: f64,
}

impl Family {
    /// So many comparisons.
    pub fn of(comparisons: usize) -> Self {
        Self { confidence: 1.0 - CHANCE / comparisons.max(1) as f64, least_ratio: 1.0 }
    }

    /// Each of so many things with each other, as the search for the best of them takes.
    pub fn among(things: usize) -> Self {
        Self::of(things.saturating_mul(things.saturating_sub(1)) / 2)
    }

    /// The same, where only ratios of at least this size count.
    #[must_use]
    pub fn beyond(self, least_ratio: f64) -> Self {
        Self { least_ratio, ..self }
    }

    /// The same for figures of different runs.
    #[must_use]
    pub fn of_different_runs(self) -> Self {
        self.beyond(BETWEEN_RUNS)
    }

    /// The same for figures of so many passes each, 0 where that is not known. One or two do not show what differs from run to
    /// run: a call's time kept to one value in a run, and to one 1.47 times as long in the next.
    #[must_use]
    pub fn of_passes(self, one: u64, other: u64) -> Self {
        let are_few = |passes: u64| (1..Estimate::FEWEST_PASSES).contains(&passes);
        if are_few(one) || are_few(other) { self.beyond(SAME_MODE) } else { self }
    }

    /// The confidence of each comparison.
    pub fn confidence(self) -> f64 {
        self.confidence
    }

    /// The ends between which a figure lies: of its interval at this confidence, and of all values between which it jumped.
    /// `None` if there are too few samples, or the figure's own ends contradict each other.
    pub fn ends(self, figure: &Estimate) -> Option<(f64, f64)> {
        let (low, high) = jumped_between(figure, figure.interval_at(self.confidence)?);
        let is_usable = low <= figure.median && figure.median <= high && low.is_finite() && high.is_finite();
        is_usable.then_some((low, high))
    }

    /// Compares two figures that were measured apart.
    pub fn compare(self, one: &Estimate, other: &Estimate) -> Order {
        let (Some((low, high)), Some((least, most))) = (self.ends(one), self.ends(other)) else {
            return Order::TooFew;
        };
        let apart = |less: f64, more: f64| more > self.least_ratio * less;
        match () {
            () if high < least && apart(one.median, other.median) => Order::Less,
            () if low > most && apart(other.median, one.median) => Order::More,
            () => Order::Open,
        }
    }

    /// Compares a figure with a value, as the ratio of two figures in one round with 1, or their difference with 0.
    pub fn compare_to(self, figure: &Estimate, value: f64) -> Order {
        match self.ends(figure) {
            None => Order::TooFew,
            Some((_, high)) if high < value && figure.median * self.least_ratio <= value => Order::Less,
            Some((low, _)) if low > value && figure.median >= value * self.least_ratio => Order::More,
            Some(_) => Order::Open,
        }
    }

    /// Compares two series of values whose same positions are the same round: in how many rounds the first was more (sign
    /// test). This holds whatever befell all of a round, and for values of any distribution.
    pub fn rounds(self, one: &[f64], other: &[f64]) -> Order {
        let signs = || one.iter().zip(other).map(|(one, other)| one.total_cmp(other));
        let count = |order| signs().filter(|sign| *sign == order).count();
        let (less, more) = (count(std::cmp::Ordering::Less), count(std::cmp::Ordering::Greater));
        match () {
            () if signs().count() < self.fewest_rounds() => Order::TooFew,
            () if self.is_beyond(less, more) => Order::Less,
            () if self.is_beyond(more, less) => Order::More,
            () => Order::Open,
        }
    }

    /// The fewest rounds that can show a difference: all must agree.
    pub fn fewest_rounds(self) -> usize {
        (1..).find(|&rounds| self.is_beyond(rounds, 0)).unwrap_or(usize::MAX)
    }

    /// Whether chance seldom makes so many rounds agree where so few do not.
    fn is_beyond(self, agree: usize, against: usize) -> bool {
        agree > against && tail(agree + against, against) <= (1.0 - self.confidence) / 2.0 * (1.0 + 1e-9)
    }
}

/// The probability that at most `most` of `n` coins show heads.
fn tail(n: usize, most: usize) -> f64 {
    let n = n as f64;
    // By logarithms: 0.5^n is 0 for more than a thousand rounds.
    let mut term = n * 0.5f64.ln();
    let mut sum = term.exp();
    for heads in 1..=most {
        term += ((n - heads as f64 + 1.0) / heads as f64).ln();
        sum += term.exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_rounds_are_those_of_the_sign_test() {
        // 2 of 2^n: 6 rounds for one comparison at 5 %, 7 for each of three, 9 for each of ten.
        assert_eq!([1, 2, 3, 4, 5].map(|things| Family::among(things).fewest_rounds()), [6, 6, 7, 8, 9]);
        // Conover, table A3: of 20 rounds, 5 against is significant at 5 % on two sides, and 6 is not.
        let of = |against: usize| {
            let other: Vec<f64> = (0..20).map(|at| if at < against { 0.0 } else { 2.0 }).collect();
            Family::of(1).rounds(&[1.0; 20], &other)
        };
        assert_eq!([of(5), of(6)], [Order::Less, Order::Open]);
        assert_eq!(Family::of(1).rounds(&[1.0; 5], &[9.0; 5]), Order::TooFew);
        assert_eq!(Family::of(1).rounds(&[1.0; 50], &[1.0; 50]), Order::Open, "ties are no evidence");
        assert!((tail(2000, 999) - 0.5).abs() < 0.02, "also of many rounds");
    }

    #[test]
    fn the_more_is_looked_at_the_more_it_takes() {
        let of = |low: f64| Estimate { low, high: low + 2.0, min: low, n: 40, ..Estimate::exact(low + 1.0) };
        let order = |comparisons: usize| Family::of(comparisons).compare(&of(20.0), &of(22.5));
        assert_eq!([order(1), order(100)], [Order::Less, Order::Open]);
        assert_eq!(Family::of(100).compare(&of(90.0), &of(20.0)), Order::More);
        assert_eq!(
            Family::of(1).of_different_runs().compare(&of(50.0), &of(53.0)),
            Order::Open,
            "within a tenth"
        );
        assert_eq!(Family::of(1).compare_to(&of(1.2), 1.0), Order::More);
        assert_eq!(Family::of(1).beyond(3.0).compare_to(&of(1.2), 1.0), Order::Open);
        let jumps = Estimate { stable: Some(false), modes: modes(&[21.0, 90.0]), ..of(20.0) };
        assert_eq!(Family::of(1).compare(&jumps, &of(80.0)), Order::Open, "it was seen there, too");
    }

    fn modes(values: &[f64]) -> Vec<coho_profile::Mode> {
        values.iter().map(|&value| coho_profile::Mode { value, share: 0.5 }).collect()
    }
}
