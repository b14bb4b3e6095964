//! Computes the spread over lines from rounds over all lines, and whether it comes from the lines or from noise.

use std::collections::BTreeMap;

use coho_profile::LineSpread;

use super::run::Sample;
use crate::statistics;

/// The fewest lines for which a tenth means anything.
const FEWEST: usize = 10;
/// Interquartile ranges beyond a line's quartiles at which a visit counts as disturbed.
const FENCE: f64 = 1.5;

/// Times of one round by line, relative to the round's median.
type Relative = BTreeMap<u32, f64>;

/// The spread over lines from all rounds; rounds of fewer than half the lines are left out. `None` without two rounds
/// of ten lines.
pub(crate) fn spread(rounds: &[Vec<Sample>]) -> Option<LineSpread> {
    let rounds: Vec<BTreeMap<u32, f64>> = rounds
        .iter()
        .map(|round| round.iter().map(|sample| (sample.line, f64::from(sample.value))).collect())
        .collect();
    let most = rounds.iter().map(BTreeMap::len).max()?;
    let levelled: Vec<(f64, Relative)> = rounds
        .into_iter()
        .filter(|round| round.len() >= FEWEST && 2 * round.len() >= most)
        .map(|round| {
            let level = median(round.values().copied());
            (level, round.into_iter().map(|(line, ns)| (line, ns / level)).collect())
        })
        .filter(|(level, _)| *level > 0.0)
        .collect();
    let (levels, relative): (Vec<f64>, Vec<Relative>) = levelled.into_iter().unzip();
    if relative.len() < 2 {
        return None;
    }
    let level = level(levels);
    let times = of_lines(&relative);
    let mut ns: Vec<f64> = times.values().map(|time| time * level).collect();
    ns.sort_by(f64::total_cmp);
    let (first, second) = relative.split_at(relative.len() / 2);
    Some(LineSpread {
        count: ns.len() as u64,
        p10: quantile(&ns, 0.1),
        p50: quantile(&ns, 0.5),
        p90: quantile(&ns, 0.9),
        split_half: correlation(&of_lines(first), &of_lines(second)),
        share: share(&relative),
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    statistics::median(&values)
}

/// The rounds' median; of two middle values the smaller, since between two modes the mean is a time that no round had.
fn level(mut levels: Vec<f64>) -> f64 {
    levels.sort_by(f64::total_cmp);
    levels[(levels.len() - 1) / 2]
}

/// The times of each line in all rounds.
fn by_line(rounds: &[Relative]) -> BTreeMap<u32, Vec<f64>> {
    let mut lines: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (&line, &time) in rounds.iter().flatten() {
        lines.entry(line).or_default().push(time);
    }
    lines
}

/// Each line's median.
fn of_lines(rounds: &[Relative]) -> Relative {
    by_line(rounds).into_iter().map(|(line, times)| (line, median(times.into_iter()))).collect()
}

/// Quantile of sorted values, between two of them in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// Pearson's, over the lines of both; `None` for fewer than three or if one side does not vary.
fn correlation(one: &Relative, other: &Relative) -> Option<f64> {
    let both: Vec<(f64, f64)> = one.iter().filter_map(|(line, &x)| Some((x, *other.get(line)?))).collect();
    if both.len() < 3 {
        return None;
    }
    let n = both.len() as f64;
    let (mean_x, mean_y) =
        (both.iter().map(|(x, _)| x).sum::<f64>() / n, both.iter().map(|(_, y)| y).sum::<f64>() / n);
    let sum = |of: fn(f64, f64) -> f64| both.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum::<f64>();
    let scale = (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt();
    // Rounding errors of equal times do not count as variation.
    (scale > 1e-12 * n).then(|| (sum(|x, y| x * y) / scale).clamp(-1.0, 1.0))
}

/// See [`LineSpread::share`].
fn share(rounds: &[Relative]) -> Option<f64> {
    let groups: Vec<Vec<f64>> = by_line(rounds).into_values().map(undisturbed).collect();
    let visits: usize = groups.iter().map(Vec::len).sum();
    let (lines, n) = (groups.len() as f64, visits as f64);
    if groups.len() < 2 || visits <= groups.len() {
        return None;
    }
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    let grand = groups.iter().flatten().sum::<f64>() / n;
    let between: f64 = groups.iter().map(|group| group.len() as f64 * (mean(group) - grand).powi(2)).sum();
    let within: f64 =
        groups.iter().map(|group| group.iter().map(|time| (time - mean(group)).powi(2)).sum::<f64>()).sum();
    let (between, within) = (between / (lines - 1.0), within / (n - lines));
    // The mean number of visits of a line, corrected for unequal numbers.
    let squares: f64 = groups.iter().map(|group| (group.len() as f64).powi(2)).sum();
    let k = (n - squares / n) / (lines - 1.0);
    let total = between + (k - 1.0) * within;
    (total > 1e-12).then(|| ((between - within) / total).clamp(0.0, 1.0))
}

/// A line's times without those far outside its quartiles.
fn undisturbed(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&times, 0.25), quantile(&times, 0.75));
    let reach = FENCE * (high - low);
    times.retain(|time| (low - reach..=high + reach).contains(time));
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: u32 = 64;

    /// Rounds of lines whose times are `28 + by_line` ns with evenly spread effects, and noise of `noise` ns to either
    /// side.
    fn rounds(count: usize, by_line: f64, noise: f64, level: impl Fn(usize) -> f64) -> Vec<Vec<Sample>> {
        let mut random = fastrand::Rng::with_seed(3);
        let effect = |line: u32| (f64::from(line * 29 % LINES) / f64::from(LINES - 1) - 0.5) * by_line;
        (0..count)
            .map(|round| {
                let mut lines: Vec<u32> = (0..LINES).collect();
                random.shuffle(&mut lines);
                let mut time =
                    |line| level(round) * (28.0 + effect(line) + (random.f64() - 0.5) * 2.0 * noise);
                lines.into_iter().map(|line| Sample { line, value: time(line) as f32 }).collect()
            })
            .collect()
    }

    #[test]
    fn lines_that_differ_are_told() {
        let spread = spread(&rounds(16, 10.0, 0.5, |_| 1.0)).unwrap();
        assert_eq!(spread.count, 64);
        // Evenly from 23 to 33.
        for (found, expected) in [(spread.p10, 24.0), (spread.p50, 28.0), (spread.p90, 32.0)] {
            assert!((found - expected).abs() < 0.3, "{spread:?}");
        }
        assert!(spread.split_half.unwrap() > 0.99 && spread.differ(0.95), "{spread:?}");
        // Variances of even spreads: 10²/12 between and 1²/12 within lines.
        assert!((spread.share.unwrap() - 100.0 / 101.0).abs() < 0.01, "{spread:?}");
    }

    #[test]
    fn the_share_is_the_lines_part_of_the_variance() {
        let spread = spread(&rounds(40, 10.0, 5.0, |_| 1.0)).unwrap();
        assert!((spread.share.unwrap() - 0.5).abs() < 0.06, "{spread:?}");
    }

    #[test]
    fn noise_is_no_spread_by_line() {
        let spread = spread(&rounds(16, 0.0, 4.0, |_| 1.0)).unwrap();
        assert!(spread.split_half.unwrap().abs() < 0.3 && !spread.differ(0.95), "{spread:?}");
        assert!(spread.share.unwrap() < 0.05, "{spread:?}");
        assert!(spread.p90 - spread.p10 > 1.0);
    }

    #[test]
    fn a_jump_between_modes_does_not_spread_the_lines() {
        let spread = spread(&rounds(16, 10.0, 0.5, |round| if round < 7 { 4.0 } else { 1.0 })).unwrap();
        assert!((spread.p10 - 24.0).abs() < 0.3 && (spread.p90 - 32.0).abs() < 0.3, "{spread:?}");
        assert!(spread.split_half.unwrap() > 0.99, "{spread:?}");
        let even = super::spread(&rounds(16, 10.0, 0.5, |round| if round < 8 { 4.0 } else { 1.0 })).unwrap();
        assert!((even.p50 - 28.0).abs() < 0.3, "a time of one of the modes: {even:?}");
    }

    #[test]
    fn a_disturbed_visit_moves_nothing() {
        let mut rounds = rounds(16, 10.0, 0.5, |_| 1.0);
        for (round, samples) in rounds.iter_mut().enumerate() {
            samples[3 * round].value *= 40.0;
        }
        // And a round that was broken off early.
        rounds.push(vec![Sample { line: 5, value: 900.0 }; 3]);
        let spread = spread(&rounds).unwrap();
        assert!(spread.share.unwrap() > 0.97 && spread.split_half.unwrap() > 0.98, "{spread:?}");
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&rounds(1, 10.0, 0.5, |_| 1.0)), None);
        let few = |line| Sample { line, value: 25.0 };
        assert_eq!(spread(&[(0..5).map(few).collect(), (0..5).map(few).collect()]), None);
        // All alike: there are quantiles, but neither a correlation nor a share.
        let alike = spread(&[(0..32).map(few).collect(), (0..32).map(few).collect()]).unwrap();
        assert_eq!((alike.p10, alike.p90, alike.split_half, alike.share), (25.0, 25.0, None, None));
        assert!(!alike.differ(0.95));
    }
}
