//! What runs of all methods have in common: batches, and when there are enough of them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::patience::Patience;
use crate::clock::Ticks;
use crate::statistics;

/// The time of a batch: long compared with the clock's step, short compared with a time slice.
pub(crate) const BATCH: Duration = Duration::from_micros(12);

/// The figure of a batch on one of the lines: ns per step or increment, or ownership changes per increment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Which of the lines or groups of lines.
    pub(crate) line: u32,
    /// Single precision, as a large machine has a hundred million of them.
    pub(crate) value: f32,
}

/// The samples as if each line had the mean line's level: what remains is what changes with time.
///
/// A line's address decides which cache slice holds it, and that changes its time. This is not instability, as a pass
/// keeps its lines.
pub(crate) fn level(pass: &[Sample]) -> Vec<f64> {
    let mut by_line: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in pass {
        by_line.entry(sample.line).or_default().push(f64::from(sample.value));
    }
    let levels: BTreeMap<u32, f64> = by_line
        .into_iter()
        .map(|(line, mut values)| {
            values.sort_by(f64::total_cmp);
            (line, statistics::median(&values))
        })
        .collect();
    let mean = levels.values().sum::<f64>() / levels.len() as f64;
    let one = |sample: &Sample| {
        let level = levels[&sample.line];
        f64::from(sample.value) * if level > 0.0 { mean / level } else { 1.0 }
    };
    pass.iter().map(one).collect()
}

/// A batch of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Batch {
    /// Its number within the run, counted from 0; batches that only calibrate count too.
    pub(crate) number: usize,
    /// Its figure.
    pub(crate) sample: Sample,
    /// Whether a CPU was away during it.
    pub(crate) preempted: bool,
}

/// The result of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Run {
    /// Its batches, without those that calibrated.
    pub(crate) batches: Vec<Batch>,
    /// Whether it ended because a CPU was away; that batch is lost.
    pub(crate) broken: bool,
}

/// How much to measure in a visit to a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) patience: Patience,
    /// Time of a batch.
    pub(crate) batch: Ticks,
    /// Fewest batches.
    pub(crate) fewest: usize,
    /// Most batches.
    pub(crate) most: usize,
    /// Half-width of the median's interval, relative, at which to stop.
    pub(crate) half_width: f64,
}

impl Effort {
    pub(crate) fn new(fewest: usize, most: usize, half_width: f64) -> Self {
        let patience = Patience::new();
        Self { patience, batch: patience.clock.ticks(BATCH), fewest, most, half_width }
    }

    /// Whether these batches suffice; asked after each, answered after each tour of the lines so that all lines
    /// count alike.
    pub(crate) fn is_enough(&self, batches: &[Batch], lines: usize) -> bool {
        let n = batches.len();
        if n >= self.most {
            return true;
        }
        if n < self.fewest || !n.is_multiple_of(lines) {
            return false;
        }
        let samples: Vec<Sample> =
            batches.iter().filter(|batch| !batch.preempted).map(|batch| batch.sample).collect();
        let mut times = level(&samples);
        times.sort_by(f64::total_cmp);
        let (low, high) = statistics::interval(&times);
        times.len() >= self.fewest && (high - low) / 2.0 <= self.half_width * statistics::median(&times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(levels: [f32; 2], by: f32) -> Vec<Sample> {
        (0..40u32)
            .map(|i| Sample { line: i % 2, value: levels[i as usize % 2] * (by + (i / 2) as f32 * 1e-3) })
            .collect()
    }

    #[test]
    fn lines_differ_without_being_unstable_and_times_that_jump_still_do() {
        let steady = statistics::estimate(
            &[pass([72.0, 95.0], 1.0), pass([72.0, 95.0], 1.0)].map(|pass| level(&pass)),
        )
        .unwrap();
        assert!(steady.stable == Some(true) && (steady.median - 84.3).abs() < 0.5, "{steady:?}");
        let jumping = statistics::estimate(
            &[pass([72.0, 95.0], 1.0), pass([72.0, 95.0], 4.0)].map(|pass| level(&pass)),
        )
        .unwrap();
        assert!(jumping.stable == Some(false) && jumping.modes.len() == 2, "{jumping:?}");
        assert_eq!(level(&[]), Vec::<f64>::new());
    }
}
