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

/// By how much the clock moves a figure from run to run, relative to it: over seconds, which no pass of a run spans.
const RUN_FLOOR: f64 = 0.005;

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
/// A pass is the unit that runs differ by: samples of one pass share its lines, its clock and its neighbours. With three
/// passes or more, the interval contains the median that a run right after finds in 95 of 100 cases, if that differs no
/// more than passes do, and the interval of all samples together. With one or two, it is that of all samples and holds for
/// this run only. The figure is stable if the samples show one mode and the passes' own intervals, widened by
/// [`PASS_FLOOR`], contain the median of all, except for one in eight. For fewer than six samples neither is known: they
/// have no 95 % interval, and [`low`](Estimate::low) to [`high`](Estimate::high) is then their whole range.
///
/// ```
/// let figure = coho_probe::statistics::estimate(&[vec![10.0, 10.1, 10.2], vec![10.1, 10.1, 10.3]]).unwrap();
/// assert_eq!(figure.median, 10.1);
/// assert_eq!(figure.stable, Some(true));
/// assert!(!figure.holds_for_next_run());
/// ```
pub fn estimate(passes: &[Vec<f64>]) -> Option<Estimate> {
    let passes: Vec<Vec<f64>> =
        passes.iter().map(|pass| sorted(pass)).filter(|pass| !pass.is_empty()).collect();
    let all = sorted(&passes.concat());
    let min = *all.first()?;
    let median = self::median(&all);
    let (mut low, mut high) = interval(&all);
    if passes.len() as u64 >= Estimate::FEWEST_PASSES && all.len() >= FEWEST {
        let medians = passes.iter().map(|pass| self::median(pass)).collect();
        // What never varies, such as a count, does not depend on the clock.
        let floor = if min < all[all.len() - 1] { RUN_FLOOR * median.abs() } else { 0.0 };
        let reach = between_runs(median, medians) + floor;
        high = high.max(median + reach);
        // A time is never negative.
        let least = if min > 0.0 { min / 2.0 } else { f64::NEG_INFINITY };
        low = low.min((median - reach).max(least));
    }
    let modes = modes(&all);
    let floor = PASS_FLOOR * median.abs();
    let apart = |pass: &&Vec<f64>| {
        let (low, high) = interval(pass);
        median < low - floor || median > high + floor
    };
    let agree = passes.iter().filter(apart).count() <= passes.len() / ODD_PASSES;
    let stable = (all.len() >= FEWEST).then_some(agree && modes.len() == 1);
    let (n, passes) = (all.len() as u64, passes.len() as u64);
    Some(Estimate { median, low, high, min, n, passes, stable, modes })
}

/// An estimate from one value of each pass. Passes of one value disagree only if they show several modes.
pub(crate) fn estimate_of_passes(values: impl IntoIterator<Item = f64>) -> Option<Estimate> {
    let values: Vec<f64> = values.into_iter().collect();
    let passes: Vec<_> = values.iter().map(|value| vec![*value]).collect();
    let stable = estimate(&[values])?.stable;
    Some(Estimate { stable, ..estimate(&passes)? })
}

/// How far the median of the next run may be from this one's, which has these passes' medians: as far as the farther end of
/// their interval by order statistics, times what makes 93 of 100 or more also where passes have two modes or a heavy tail,
/// as the test below has them. Three passes that happen to be of the same of two equally frequent modes do not show the
/// other, though.
fn between_runs(median: f64, medians: Vec<f64>) -> f64 {
    let medians = sorted(&medians);
    let times = match medians.len() {
        ..=3 => 3.5,
        4 => 2.5,
        5 => 1.5,
        6..=8 => 1.0,
        _ => 1.2,
    };
    let (low, high) = interval(&medians);
    times * (median - low).max(high - median)
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

    /// Runs whose passes have levels of different shapes, of 15 samples each: the next run's median must be contained.
    #[test]
    fn the_interval_contains_the_median_of_the_next_run() {
        let mut random = fastrand::Rng::with_seed(3);
        let bell = |random: &mut fastrand::Rng| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        type Level = fn(&mut fastrand::Rng, f64) -> f64;
        let shapes: [(&str, Level); 4] = [
            ("bell", |_, bell| 100.0 + 5.0 * bell),
            ("heavy tail", |random, _| 100.0 - 10.0 * random.f64().max(1e-9).ln()),
            ("both tails", |random, bell| 100.0 + 2.0 * bell / (0.1 + random.f64())),
            ("a tenth in another mode", |random, bell| {
                5.0 * bell + if random.f64() < 0.1 { 250.0 } else { 100.0 }
            }),
        ];
        for (shape, level) in shapes {
            for passes in [3, 4, 5, 6, 9, 16] {
                let mut run = || {
                    let mut pass = || {
                        let bells = bell(&mut random);
                        let level = level(&mut random, bells);
                        (0..15).map(|_| level + 2.5 * bell(&mut random)).collect()
                    };
                    estimate(&(0..passes).map(|_| pass()).collect::<Vec<Vec<f64>>>()).unwrap()
                };
                let contains = |figure: Estimate, next: Estimate| {
                    assert!(figure.holds_for_next_run());
                    (figure.low..=figure.high).contains(&next.median)
                };
                let contained = (0..1000).filter(|_| contains(run(), run())).count();
                assert!(contained >= 930, "{shape}: {contained} of 1000 with {passes} passes");
            }
        }
    }

    #[test]
    fn one_or_two_passes_say_nothing_of_the_next_run() {
        let pass = |by: f64| (0..20).map(|i| by * (50.0 + f64::from(i) * 0.05)).collect::<Vec<_>>();
        for passes in [vec![pass(1.0)], vec![pass(1.0), pass(1.1)]] {
            let figure = estimate(&passes).unwrap();
            assert!(!figure.holds_for_next_run() && figure.passes == passes.len() as u64, "{figure:?}");
            assert!(figure.low >= figure.min);
        }
        let three = estimate(&[pass(1.0), pass(1.1), pass(1.2)]).unwrap();
        assert!(three.high > 1.3 * 50.0 && three.low < 50.0, "{three:?}");
        let of_passes = estimate_of_passes([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!((of_passes.passes, of_passes.n), (6, 6));
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
                    prop_assert!(0.0 < figure.low && figure.low <= figure.median && figure.median <= figure.high);
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
