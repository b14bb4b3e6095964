//! When a figure changed for good.

use super::{median, sorted};

/// Fewest samples between two changes.
const SHORTEST: usize = 6;
/// A change moves the median by at least this ratio.
const RATIO: f64 = 1.15;
/// How much a change must explain: this many times the logarithm of the number of samples, in variances.
const PENALTY: f64 = 4.0;
/// Longer series are searched in blocks of samples, by their medians.
const LONGEST: usize = 3000;

/// The indices at which a series takes another level, each the first sample of the new one.
///
/// They come from the partition of the series whose segments' mean ranks explain most, minus a penalty for each change
/// (optimal partitioning, Jackson et al., IEEE Signal Processing Letters 12, 2005; by ranks, so that outliers weigh
/// little). A jump back and forth that lasts only a few samples is not a change but a second mode.
pub fn change_points(series: &[f64]) -> Vec<usize> {
    let block = series.len().div_ceil(LONGEST).max(1);
    let blocks: Vec<f64> = series.chunks(block).map(|block| median(&sorted(block))).collect();
    let mut points: Vec<usize> = partition(&blocks).into_iter().map(|at| at * block).collect();
    keep_real(series, &mut points);
    refine(series, &mut points);
    points
}

/// Moves each change to where the samples before and after fall best on either side of the middle of both levels:
/// ranks within a level are random, and may put it a few samples off.
fn refine(series: &[f64], points: &mut [usize]) {
    for index in 0..points.len() {
        let from = if index == 0 { 0 } else { points[index - 1] };
        let to = points.get(index + 1).copied().unwrap_or(series.len());
        let level = |from: usize, to: usize| median(&sorted(&series[from..to]));
        let (before, after) = (level(from, points[index]), level(points[index], to));
        let middle = f64::midpoint(before, after);
        let belongs_before = |sample: f64| (sample < middle) == (before < after);
        let mut balance = 0i64;
        let mut best = (i64::MIN, points[index]);
        for (at, &sample) in (from + 1..to).zip(&series[from..]) {
            balance += if belongs_before(sample) { 1 } else { -1 };
            best = best.max((balance, at));
        }
        points[index] = best.1;
    }
}

fn partition(series: &[f64]) -> Vec<usize> {
    let n = series.len();
    if n < 2 * SHORTEST {
        return Vec::new();
    }
    let mut sums = vec![0.0];
    for rank in ranks(series) {
        sums.push(sums[sums.len() - 1] + rank);
    }
    // The squared deviations that a segment explains by its mean; the ranks' own squares are the same in every partition.
    let explained = |from: usize, to: usize| (sums[to] - sums[from]).powi(2) / (to - from) as f64;
    let variance = (n * n) as f64 / 12.0;
    let penalty = PENALTY * (n as f64).ln() * variance;
    // best[t]: the most that the first t samples explain, and where their last segment begins.
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0); n + 1];
    for to in SHORTEST..=n {
        best[to] = (explained(0, to), 0);
        for from in SHORTEST..=to - SHORTEST.min(to) {
            let gain = best[from].0 + explained(from, to) - penalty;
            if gain > best[to].0 {
                best[to] = (gain, from);
            }
        }
    }
    let mut points = Vec::new();
    let mut at = best[n].1;
    while at > 0 {
        points.push(at);
        at = best[at].1;
    }
    points.reverse();
    points
}

/// Drops changes between segments that are too much alike.
fn keep_real(series: &[f64], points: &mut Vec<usize>) {
    let level = |from: usize, to: usize| median(&sorted(&series[from..to]));
    let mut index = 0;
    while index < points.len() {
        let from = if index == 0 { 0 } else { points[index - 1] };
        let to = points.get(index + 1).copied().unwrap_or(series.len());
        let (before, after) = (level(from, points[index]), level(points[index], to));
        if (before / after).max(after / before) >= RATIO {
            index += 1;
        } else {
            points.remove(index);
        }
    }
}

/// Ranks from 1; equal values share their mean rank.
fn ranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|&a, &b| series[a].total_cmp(&series[b]));
    let mut ranks = vec![0.0; series.len()];
    let mut first = 0;
    for tied in order.chunk_by(|&a, &b| series[a] == series[b]) {
        let rank = first as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|&i| ranks[i] = rank);
        first += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn level(random: &mut fastrand::Rng, value: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| value * (0.95 + 0.1 * random.f64())).collect()
    }

    #[test]
    fn finds_a_host_that_moved_the_cpus_and_moved_them_back() {
        let mut random = fastrand::Rng::with_seed(6);
        let series =
            [(25.0, 72), (100.0, 60), (25.0, 52)].map(|(value, n)| level(&mut random, value, n)).concat();
        let found = change_points(&series);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].abs_diff(72) <= 2 && found[1].abs_diff(132) <= 2, "{found:?}");
    }

    #[test]
    fn outliers_and_flicker_are_no_change() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut series = level(&mut random, 25.0, 200);
        for i in (0..200).step_by(20) {
            series[i] = 5000.0;
        }
        assert!(change_points(&series).is_empty());
        let flicker: Vec<f64> = (0..400).map(|_| if random.bool() { 25.0 } else { 100.0 }).collect();
        assert!(change_points(&flicker).is_empty());
        assert!(change_points(&[30.0; 50]).is_empty());
    }

    proptest! {
        // The same cases each time, so that the test's outcome does not depend on chance.
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(8), ..ProptestConfig::default() })]

        #[test]
        fn a_planted_change_is_found(seed: u64, at in 20usize..180, ratio in 1.4f64..5.0) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut series = level(&mut random, 25.0, at);
            series.extend(level(&mut random, 25.0 * ratio, 200 - at));
            let found = change_points(&series);
            prop_assert!(found.iter().any(|point| point.abs_diff(at) <= 3), "{found:?} for {at}");
        }

        #[test]
        fn points_are_inside_and_ascending(series in prop::collection::vec(1.0f64..100.0, 0..150)) {
            let found = change_points(&series);
            prop_assert!(found.is_sorted());
            prop_assert!(found.iter().all(|&point| point > 0 && point < series.len()));
        }
    }
}
