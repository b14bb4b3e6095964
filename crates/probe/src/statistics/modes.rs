//! The values between which a figure jumps.

use std::ops::Range;

use coho_profile::Mode;

use super::median;

/// Modes closer than this ratio are merged: lines differ by as much, depending on their cache slice.
const RATIO: f64 = 1.25;
/// A mode holds at least this share of the samples,
const SHARE: f64 = 0.05;
/// and at least this many of them.
const FEWEST: usize = FEWEST_TOLD / 2;
/// The fewest samples in which two modes could be distinguished.
pub const FEWEST_TOLD: usize = coho_profile::Timeline::FEWEST_TOLD;
/// Between two modes the samples are at most this dense, relative to the thinner of them.
const VALLEY: f64 = 0.25;
/// The distance between two modes is at least this many times the wider one's interquartile range (on a logarithmic
/// scale).
const APART: f64 = 3.0;

/// The modes of sorted positive samples, most frequent first. Every sample belongs to one of them.
///
/// Two modes are distinguished only by a real gap: their values differ by a quarter or more, the samples thin out
/// between them, and the gap is wider than one step of quantised data.
pub fn modes(sorted: &[f64]) -> Vec<Mode> {
    let mut groups = Vec::new();
    split(sorted, 0, step(sorted), &mut groups);
    merge(sorted, &mut groups);
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let total = sorted.len() as f64;
    let mode =
        |group: Range<usize>| Mode { share: group.len() as f64 / total, value: median(&sorted[group]) };
    groups.into_iter().map(mode).collect()
}

/// The step of quantised samples: the smallest difference between neighbours that differ.
fn step(sorted: &[f64]) -> f64 {
    let differ = |pair: &&[f64]| pair[1] - pair[0] > pair[1].abs() * 1e-6;
    sorted.windows(2).filter(differ).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
}

/// Splits at every valley.
fn split(samples: &[f64], offset: usize, step: f64, groups: &mut Vec<Range<usize>>) {
    match valley(samples, step) {
        Some(at) => {
            split(&samples[..at], offset, step, groups);
            split(&samples[at..], offset + at, step, groups);
        }
        None if samples.is_empty() => {}
        None => groups.push(offset..offset + samples.len()),
    }
}

/// Merges neighbours that are too close for their width, the closest first.
fn merge(sorted: &[f64], groups: &mut Vec<Range<usize>>) {
    let apart = |pair: &[Range<usize>]| {
        let (low, high) = (&sorted[pair[0].clone()], &sorted[pair[1].clone()]);
        (median(high) / median(low)).ln() / spread(low).max(spread(high))
    };
    while let Some((at, distance)) =
        groups.windows(2).map(apart).enumerate().min_by(|one, other| one.1.total_cmp(&other.1))
        && distance < APART
    {
        let high = groups.remove(at + 1);
        groups[at].end = high.end;
    }
}

/// Where samples split in two modes: the widest relative gap between windows of neighbours that passes every test.
fn valley(sorted: &[f64], step: f64) -> Option<usize> {
    let n = sorted.len();
    let fewest = FEWEST.max((n as f64 * SHARE).ceil() as usize);
    if n < 2 * fewest || sorted[0] <= 0.0 {
        return None;
    }
    // Stragglers between two modes must not hide the gap: a few samples may lie within it.
    let stragglers = fewest / 4;
    let mut best: Option<(f64, usize)> = None;
    for start in fewest - 1..n - fewest - stragglers {
        let end = start + 1 + stragglers;
        let (low, high) = (sorted[start], sorted[end]);
        let gap = high / low;
        if gap > best.map_or(1.0, |(widest, _)| widest) && is_valley(sorted, start, end, step) {
            let cut =
                (start..end).max_by(|&a, &b| ratio(sorted, a).total_cmp(&ratio(sorted, b))).unwrap_or(start);
            best = Some((gap, cut + 1));
        }
    }
    best.map(|(_, cut)| cut)
}

fn ratio(sorted: &[f64], index: usize) -> f64 {
    sorted[index + 1] / sorted[index]
}

fn is_valley(sorted: &[f64], start: usize, end: usize, step: f64) -> bool {
    let (low, high) = (&sorted[..=start], &sorted[end..]);
    let apart = median(high) / median(low) >= RATIO;
    let gap = sorted[end] - sorted[start];
    let beyond_step = gap > 1.5 * step;
    // Samples per unit of log time, in the gap and in the middle half of each side.
    let log_gap = (sorted[end] / sorted[start]).ln();
    let inside = (end - start) as f64 / log_gap;
    let thin = [low, high].into_iter().all(|side| inside * spread(side) <= VALLEY * middle(side) as f64);
    apart && beyond_step && thin
}

/// The middle half of a side on a logarithmic scale: how wide it is,
fn spread(side: &[f64]) -> f64 {
    let quarter = side.len() / 4;
    (side[side.len() - 1 - quarter] / side[quarter]).ln()
}

/// and how many steps between samples it holds.
fn middle(side: &[f64]) -> usize {
    side.len() - 1 - 2 * (side.len() / 4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn noisy(random: &mut fastrand::Rng, value: f64, spread: f64, n: usize) -> Vec<f64> {
        // Sum of three uniforms: a bell of the given relative half-width.
        (0..n)
            .map(|_| value * (1.0 + spread * (random.f64() + random.f64() + random.f64() - 1.5) / 1.5))
            .collect()
    }

    fn modes_of(mut samples: Vec<f64>) -> Vec<Mode> {
        samples.sort_by(f64::total_cmp);
        modes(&samples)
    }

    #[test]
    fn finds_two_planted_modes_also_with_stragglers_between() {
        let mut random = fastrand::Rng::with_seed(3);
        for stragglers in [0, 3] {
            let mut samples = noisy(&mut random, 25.0, 0.1, 140);
            samples.extend(noisy(&mut random, 100.0, 0.1, 60));
            samples.extend((0..stragglers).map(|i| 40.0 + 15.0 * f64::from(i)));
            let found = modes_of(samples);
            assert_eq!(found.len(), 2, "{found:?}");
            assert!((found[0].value - 25.0).abs() < 1.0 && (found[1].value - 100.0).abs() < 4.0, "{found:?}");
            assert!((found[0].share - 0.7).abs() < 0.02);
        }
    }

    #[test]
    fn finds_three_planted_modes() {
        let mut random = fastrand::Rng::with_seed(4);
        let samples = [9.0, 35.0, 110.0].map(|value| noisy(&mut random, value, 0.08, 50)).concat();
        assert_eq!(modes_of(samples).len(), 3);
    }

    #[test]
    fn one_wide_or_tailed_distribution_is_one_mode() {
        let mut random = fastrand::Rng::with_seed(5);
        for trial in 0..200 {
            let n = 16 + trial;
            assert_eq!(modes_of(noisy(&mut random, 50.0, 0.4, n)).len(), 1, "bell, n = {n}");
            let tailed = (0..n).map(|_| 30.0 - 4.0 * (1.0 - random.f64()).ln()).collect();
            assert_eq!(modes_of(tailed).len(), 1, "tail, n = {n}");
        }
    }

    #[test]
    fn a_few_preempted_batches_are_no_mode() {
        let mut samples = vec![25.0; 60];
        samples.extend([900.0, 30_000.0]);
        assert_eq!(modes_of(samples).len(), 1);
    }

    #[test]
    fn quantised_data_is_one_mode_unless_it_jumps_over_steps() {
        // 100 ns ticks over 19 round trips: steps of 5.26 ns, as in published matrices.
        let quantum = 100.0 / 19.0;
        let ticks = |counts: [usize; 4]| -> Vec<f64> {
            (0..4).flat_map(|i| vec![quantum * (i + 1) as f64; counts[i]]).collect()
        };
        assert_eq!(modes_of(ticks([30, 40, 20, 10])).len(), 1);
        let mut jumped = ticks([30, 40, 0, 0]);
        jumped.extend(vec![quantum * 20.0; 30]);
        assert_eq!(modes_of(jumped).len(), 2);
    }

    proptest! {
        #[test]
        fn every_sample_belongs_to_a_mode(samples in prop::collection::vec(0.5f64..1e5, 1..200)) {
            let found = modes_of(samples);
            prop_assert!((found.iter().map(|mode| mode.share).sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(found.is_sorted_by(|a, b| a.share >= b.share));
        }
    }

    proptest! {
        // The same cases each time, so that the test's outcome does not depend on chance.
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(9), ..ProptestConfig::default() })]

        #[test]
        fn planted_modes_are_found(seed: u64, ratio in 1.6f64..6.0, share in 0.2f64..0.8) {
            let mut random = fastrand::Rng::with_seed(seed);
            let near = (200.0 * share) as usize;
            let mut samples = noisy(&mut random, 30.0, 0.08, near);
            samples.extend(noisy(&mut random, 30.0 * ratio, 0.08, 200 - near));
            prop_assert_eq!(modes_of(samples).len(), 2);
        }
    }
}
