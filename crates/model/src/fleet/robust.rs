//! How far a value lies from the middle of its group, measured by what the group's values differ by.

use coho_profile::order::{median, median_of};

use crate::chance::CHANCE;

/// Standard deviations in a median absolute deviation, of values that scatter normally.
const PER_MAD: f64 = 1.4826;
/// Standard deviations between the median and the outermost tenth of such values.
const PER_TENTH: f64 = 1.2816;
/// One value in so many is of the outermost tenth.
const TAIL: usize = 10;
/// The fewest values of which any may be called odd: in fewer, chance alone puts some far off.
pub(super) const FEWEST: usize = 16;
/// A score above this is odd however many were looked at: chance has it in one of millions.
const SURE: f64 = 7.5 / PER_MAD;
/// The same of the worst of many.
const SURE_OF_WORST: f64 = 15.0;
/// Values closer than this part of their median count as equal, even if all others of the group have the same value.
const EQUAL: f64 = 0.005;

/// The middle of a group's values, and by how much they usually differ from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    /// Like a standard deviation, whatever a few odd values are.
    pub(super) scale: f64,
    /// Between these lies the middle half.
    pub(super) quartiles: (f64, f64),
    pub(super) n: usize,
}

impl Spread {
    /// Of at least [`FEWEST`] values; `None` of fewer, or where most are 0, so that nothing says how much they may differ.
    /// Sorts them.
    pub(super) fn of(values: &mut [f64]) -> Option<Self> {
        if values.len() < FEWEST { None } else { Self::of_any(values) }
    }

    /// The same of any number of values, of which few tell little.
    pub(super) fn of_any(values: &mut [f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let middle = median(values);
        let mut off: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        let n = values.len();
        // Where more than a tenth lie far off to one side, the group itself scatters so.
        let tail = f64::max(values[n - 1 - n / TAIL] - middle, middle - values[n / TAIL]) / PER_TENTH;
        let scale = f64::max(PER_MAD * median_of(&mut off), EQUAL * middle.abs()).max(tail);
        let quartiles = (values[n / 4], values[n - 1 - n / 4]);
        (scale > 0.0 && scale.is_finite()).then_some(Self { median: middle, scale, quartiles, n })
    }

    /// The robust z-score of a value.
    pub(super) fn score(&self, value: f64) -> f64 {
        (value - self.median) / self.scale
    }

    /// Beyond which a score is odd, of so many that were looked at. The scale of few values is itself uncertain.
    pub(super) fn limit(&self, looked_at: usize) -> f64 {
        let by_chance = quantile(CHANCE / 2.0 / looked_at.max(1) as f64);
        by_chance.min(SURE) * self.uncertainty()
    }

    /// The same where each value is itself the worst of many: such values scatter further to one side, as exponentially
    /// distributed ones do.
    pub(super) fn limit_of_worst(&self, looked_at: usize) -> f64 {
        (looked_at.max(1) as f64 / CHANCE).ln().min(SURE_OF_WORST) * self.uncertainty()
    }

    fn uncertainty(&self) -> f64 {
        1.0 + (FEWEST as f64 / self.n as f64).powf(1.5)
    }
}

/// What a normally distributed value exceeds with this probability, below 0.5 (Abramowitz & Stegun, 26.2.23).
fn quantile(probability: f64) -> f64 {
    let t = (-2.0 * probability.ln()).sqrt();
    let over = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let under = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - over / under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (probability, expected) in [(0.025, 1.960), (0.001, 3.090), (2.5e-7, 5.026)] {
            assert!((quantile(probability) - expected).abs() < 2e-3, "{probability}");
        }
    }

    #[test]
    fn values_that_are_equal_to_a_digit_still_have_a_scale() {
        let mut clocks = [3.0; 20];
        clocks[7] = 2.1;
        let spread = Spread::of(&mut clocks).unwrap();
        assert_eq!((spread.median, spread.score(3.0)), (3.0, 0.0));
        assert!(spread.score(2.1) < -spread.limit(1_000_000));
        assert!(spread.score(2.97).abs() < spread.limit(1));
        assert_eq!(Spread::of(&mut [0.0; 20]), None, "of zeros nothing says how far others may be");
        assert_eq!(Spread::of(&mut [3.0; FEWEST - 1]), None);
    }

    #[test]
    fn a_group_of_which_many_are_far_off_is_one_that_scatters() {
        let with = |slow: usize| {
            let mut values: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 7)).collect();
            values[..slow].fill(170.0);
            let spread = Spread::of(&mut values).unwrap();
            spread.score(170.0) > spread.limit(40)
        };
        assert!(with(1) && with(3) && !with(6));
    }

    #[test]
    fn healthy_machines_are_hardly_ever_odd_in_groups_of_any_size() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let figures = 60;
        for machines in [FEWEST, 25, 50, 200] {
            let (mut odd, rounds) = (0, 4000 / machines);
            for _ in 0..rounds {
                let mut named = vec![false; machines];
                for _ in 0..figures {
                    let values: Vec<f64> = (0..machines).map(|_| 100.0 + 3.0 * normal()).collect();
                    let spread = Spread::of(&mut values.clone()).unwrap();
                    let limit = spread.limit(machines * figures);
                    for (named, value) in named.iter_mut().zip(&values) {
                        *named |= spread.score(*value).abs() > limit;
                    }
                }
                odd += named.iter().filter(|named| **named).count();
            }
            let share = odd as f64 / (rounds * machines) as f64;
            assert!(share < 0.01, "{share} of machines in groups of {machines}");
        }
    }
}
