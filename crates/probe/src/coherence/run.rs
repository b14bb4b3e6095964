//! What runs of all methods have in common: their batches and when there are enough.

use std::time::Duration;

use super::patience::Patience;
use crate::clock::Ticks;
use crate::statistics;

/// The time of a batch: long against the clock's step, short against a time slice.
pub(crate) const BATCH: Duration = Duration::from_micros(12);

/// A batch of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Batch {
    /// Its number within the run, counted from 0; batches that only calibrate count too.
    pub(crate) number: usize,
    /// Time per step or increment, in ns.
    pub(crate) ns: f64,
    /// Whether a CPU was away during it.
    pub(crate) preempted: bool,
}

/// What one run gave.
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
        let mut times: Vec<_> =
            batches.iter().filter(|batch| !batch.preempted).map(|batch| batch.ns).collect();
        times.sort_by(f64::total_cmp);
        let (low, high) = statistics::interval(&times);
        times.len() >= self.fewest && (high - low) / 2.0 <= self.half_width * statistics::median(&times)
    }
}
