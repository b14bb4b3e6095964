//! What else differs between the best placement and another, and so may explain its time.

use coho_profile::{Estimate, PlacementTime};

use crate::chance::Family;

/// Smaller differences explain nothing.
const WORTH_TELLING: f64 = 1.1;

/// A counter that differs beyond chance.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its name, as in [`PlacementTime::counters`].
    pub counter: String,
    /// Its median under the best placement.
    pub best: f64,
    /// Its median under the other.
    pub other: f64,
}

/// The counters that differ between two placements beyond chance, the most different first.
pub fn differences(best: &PlacementTime, other: &PlacementTime) -> Vec<Difference> {
    let family = Family::of(best.counters.len());
    let apart = |one: &Estimate, two: &Estimate| family.compare(one, two).differs();
    // Adding one to counts makes a change from none to some a difference, and a change from one to two none.
    let factor = |one: f64, two: f64| {
        let least = if one.max(two) >= 10.0 { 1.0 } else { 1e-9 };
        ((one + least) / (two + least)).ln().abs()
    };
    let mut differences: Vec<_> = best
        .counters
        .iter()
        .filter_map(|(name, best)| {
            let other = other.counters.get(name)?;
            let tells = apart(best, other) && factor(best.median, other.median) >= WORTH_TELLING.ln();
            tells.then(|| Difference { counter: name.clone(), best: best.median, other: other.median })
        })
        .collect();
    differences.sort_by(|one, two| factor(two.best, two.other).total_cmp(&factor(one.best, one.other)));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(counters: &[(&str, f64, f64)]) -> PlacementTime {
        let estimate = |&(name, low, high): &(&str, f64, f64)| {
            let middle = f64::midpoint(low, high);
            (
                name.to_owned(),
                Estimate { median: middle, low, high, min: low, n: 20, ..Estimate::exact(middle) },
            )
        };
        PlacementTime { counters: counters.iter().map(estimate).collect(), ..PlacementTime::default() }
    }

    #[test]
    fn only_what_lies_apart_is_told_the_largest_first() {
        let best = placement(&[("cpu", 1.0, 1.2), ("migrations", 0.0, 2.0), ("switches", 90.0, 110.0)]);
        let other = placement(&[("cpu", 1.1, 1.5), ("migrations", 400.0, 500.0), ("switches", 190.0, 210.0)]);
        let names: Vec<_> = differences(&best, &other).into_iter().map(|found| found.counter).collect();
        assert_eq!(names, ["migrations", "switches"]);
        assert!(differences(&best, &best).is_empty());
    }
}
