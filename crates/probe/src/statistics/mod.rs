//! Figures from batches: medians with intervals that assume no distribution, modes and change points.

mod change;
mod modes;

use coho_profile::Estimate;

pub use change::change_points;
pub use coho_profile::order::{interval, median};
pub use modes::{FEWEST_TOLD, modes};

/// Relative difference below which passes never count as disagreeing: caches, turbo and the address of a line change
/// figures by as much.
pub const PASS_FLOOR: f64 = 0.10;

/// The fewest samples that have a 95 % interval.
const FEWEST: usize = Estimate::FEWEST as usize;

/// One in this many passes may be odd without making a figure unstable: among many passes, some are disturbed.
const ODD_PASSES: usize = 8;

/// The median of samples in any order; `None` if there are none.
pub(crate) fn median_of(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    (!samples.is_empty()).then(|| median(&samples))
}

/// An estimate from the samples of several passes; `None` without a finite sample.
///
/// The interval covers that of all samples together and that of what the passes' medians vary about, since samples of one
/// pass are not independent. It is stable if the samples show one mode and the passes' own intervals, widened by [`PASS_FLOOR`],
/// contain the median of all, except for one in eight. For fewer than six samples neither is known: they have no 95 %
/// interval, and [`low`](Estimate::low) to [`high`](Estimate::high) is then their whole range.
///
/// ```
/// let figure = coho_probe::statistics::estimate(&[vec![10.0, 10.1, 10.2], vec![10.1, 10.1, 10.3]]).unwrap();
/// assert_eq!(figure.median, 10.1);
/// assert_eq!(figure.stable, Some(true));
/// ```
pub fn estimate(passes: &[Vec<f64>]) -> Option<Estimate> {
    let passes: Vec<Vec<f64>> =
        passes.iter().map(|pass| sorted(pass)).filter(|pass| !pass.is_empty()).collect();
    let all = sorted(&passes.concat());
    let min = *all.first()?;
    let median = self::median(&all);
    let (mut low, mut high) = interval(&all);
    if passes.len() > 1 {
        let of_passes = of_medians(passes.iter().map(|pass| self::median(pass)).collect());
        // A median lies between samples, however far apart the passes are.
        (low, high) = (low.min(of_passes.0.max(min)), high.max(of_passes.1.min(all[all.len() - 1])));
    }
    let modes = modes(&all);
    let floor = PASS_FLOOR * median.abs();
    let apart = |pass: &&Vec<f64>| {
        let (low, high) = interval(pass);
        median < low - floor || median > high + floor
    };
    let agree = passes.iter().filter(apart).count() <= passes.len() / ODD_PASSES;
    let stable = (all.len() >= FEWEST).then_some(agree && modes.len() == 1);
    Some(Estimate { median, low, high, min, n: all.len() as u64, stable, modes })
}

/// How many ranges of 2 to 5 normal values an interval of 95 % of their mean reaches to either side (Lord 1947).
const RANGES: [f64; 4] = [6.353, 1.304, 0.717, 0.507];

/// The interval of what passes vary about, by their medians. As of any values, their range is one of 95 % from six on; with
/// fewer it is too narrow.
fn of_medians(medians: Vec<f64>) -> (f64, f64) {
    let medians = sorted(&medians);
    let (n, range) = (medians.len(), medians[medians.len() - 1] - medians[0]);
    match n.checked_sub(2).and_then(|at| RANGES.get(at)) {
        None => interval(&medians),
        Some(ranges) => {
            let mean = medians.iter().sum::<f64>() / n as f64;
            (mean - ranges * range, mean + ranges * range)
        }
    }
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut samples: Vec<_> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    samples.sort_by(f64::total_cmp);
    samples
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_interval_covers_the_median_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(1);
        for n in [11, 44, 300] {
            let covered = (0..2000)
                .filter(|_| {
                    // Heavy one-sided tail; its median is ln 2.
                    let samples: Vec<_> = (0..n).map(|_| -(1.0 - random.f64()).ln()).collect();
                    let (low, high) = interval(&sorted(&samples));
                    (low..=high).contains(&std::f64::consts::LN_2)
                })
                .count();
            assert!(covered >= 1880, "{covered} of 2000 with n = {n}");
        }
    }

    /// Samples of a pass share what befell it: the address of its lines, the clock, a neighbour.
    #[test]
    fn the_interval_covers_what_passes_vary_about() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut bell = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        for passes in [2, 3, 4, 5, 6, 10] {
            let covered = (0..1000).filter(|_| {
                let pass = |_| {
                    let level = 100.0 + bell();
                    (0..15).map(|_| level + bell()).collect()
                };
                let figure = estimate(&(0..passes).map(pass).collect::<Vec<Vec<f64>>>()).unwrap();
                (figure.low..=figure.high).contains(&100.0)
            });
            let covered = covered.count();
            // Two passes can reach no farther than their samples.
            assert!(covered >= if passes == 2 { 850 } else { 930 }, "{covered} of 1000 with {passes} passes");
        }
    }

    #[test]
    fn passes_that_disagree_are_unstable() {
        let near: Vec<f64> = (0..20).map(|i| 50.0 + f64::from(i) * 0.05).collect();
        let shifted: Vec<f64> = near.iter().map(|x| x * 1.24).collect();
        assert_eq!(estimate(&[near.clone(), near.clone()]).unwrap().stable, Some(true));
        let both = estimate(&[near.clone(), shifted]).unwrap();
        assert!(both.stable == Some(false) && both.low < 51.0 && both.high > 60.0);
        let mut many = vec![near.clone(); 15];
        many.push(near.iter().map(|x| x * 1.2).collect());
        assert_eq!(estimate(&many).unwrap().stable, Some(true));
        assert_eq!(estimate(&[vec![], vec![f64::NAN]]), None);
    }

    #[test]
    fn too_few_samples_for_an_interval_are_neither_stable_nor_not() {
        assert_eq!(estimate(&[vec![25.0; 5]]).unwrap().stable, None);
        assert_eq!(estimate(&vec![vec![25.0]; 3]).unwrap().stable, None);
        assert_eq!(estimate(&[vec![25.0]]).unwrap().stable, None);
        assert_eq!(estimate(&vec![vec![25.0]; FEWEST]).unwrap().stable, Some(true));
    }

    #[test]
    fn a_preempted_batch_moves_nothing() {
        let mut samples = vec![25.0; 30];
        samples.extend([4000.0, 90_000.0]);
        let figure = estimate(&[samples]).unwrap();
        assert_eq!((figure.median, figure.high), (25.0, 25.0));
    }

    proptest! {
        #[test]
        fn estimates_are_ordered(passes in prop::collection::vec(prop::collection::vec(0.1f64..1e6, 0..40), 0..6)) {
            match estimate(&passes) {
                None => prop_assert!(passes.iter().all(Vec::is_empty)),
                Some(figure) => {
                    prop_assert!(figure.min <= figure.low && figure.low <= figure.median && figure.median <= figure.high);
                    prop_assert_eq!(figure.n as usize, passes.iter().map(Vec::len).sum::<usize>());
                    let shares: f64 = figure.modes.iter().map(|mode| mode.share).sum();
                    prop_assert!((shares - 1.0).abs() < 1e-9);
                }
            }
        }

        #[test]
        fn estimates_scale(pass in prop::collection::vec(1.0f64..100.0, 1..60), by in 0.1f64..1000.0) {
            let one = estimate(std::slice::from_ref(&pass)).unwrap();
            let scaled = estimate(&[pass.iter().map(|x| x * by).collect()]).unwrap();
            prop_assert!((scaled.median / one.median / by - 1.0).abs() < 1e-9);
            prop_assert_eq!(scaled.modes.len(), one.modes.len());
        }
    }
}
