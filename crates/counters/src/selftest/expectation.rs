//! Bounds on what a piece of work must count, from the work itself and the sizes of the caches.

use std::fmt;

use super::Caches;
use super::work::{Kind, Reach, Work};
use crate::Column;

/// The least and the most that a correct event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub low: u64,
    /// The most; less than twice the true count, so that an event that counts double is found.
    pub high: u64,
}

impl Bounds {
    fn at_most(high: f64) -> Self {
        Self { low: 0, high: high as u64 }
    }

    fn between(low: f64, high: f64) -> Self {
        Self { low: low as u64, high: high as u64 }
    }

    /// Whether a count lies within.
    pub fn contain(&self, count: u64) -> bool {
        (self.low..=self.high).contains(&count)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.low {
            0 => write!(f, "at most {}", self.high),
            low => write!(f, "{low} to {}", self.high),
        }
    }
}

/// What a window counts in addition to its work: the harness's own code, and misses after a kernel entry.
const WINDOW: f64 = 1500.0;

/// How many events of `column` the `work` must count in user mode; `None` if that is not known.
///
/// `cycles` are the core cycles that the work took by the clock, if known.
///
/// The bounds are wide enough for replacement that is not LRU, for prefetchers and for a disturbed cache, and narrow
/// enough that neither a dead event nor one that counts double, nor one of another level, passes.
pub fn expectation(column: Column, work: &Work, caches: &Caches, cycles: Option<f64>) -> Option<Bounds> {
    let n = work.operations as f64;
    // The share of the lines that a smaller cache cannot hold, however it replaces them.
    let beyond = |cache: Option<usize>| 1.0 - (cache.unwrap_or(0) as f64 / work.bytes as f64).min(1.0);
    let nothing = Some(Bounds::at_most(WINDOW));
    let little = |share: f64| Some(Bounds::at_most(share * n + WINDOW));
    let each_missed = |share: f64| Some(Bounds::between(0.85 * share * n, 1.3 * n));
    match (column, work.kind) {
        (Column::L1dReferences, Kind::Chase(Reach::L1) | Kind::Stores) => {
            Some(Bounds::between(0.98 * n, 1.25 * n + WINDOW))
        }
        (Column::L1dReferences, Kind::Additions | Kind::Nops) => little(0.05),

        (Column::L1dMisses, Kind::Chase(Reach::L1) | Kind::Stores) => little(0.05),
        (Column::L1dMisses, Kind::Chase(Reach::L2)) => each_missed(beyond(caches.l1d_bytes)),
        (Column::L1dMisses, Kind::Chase(Reach::Memory)) => each_missed(1.0),
        (Column::L1dMisses, Kind::Additions | Kind::Nops) => nothing,

        // A cache with random replacement keeps some of a sled twice its size.
        (Column::L1iMisses, Kind::Nops) => Some(Bounds::between(0.7 * n, 1.35 * n)),
        (Column::L1iMisses, Kind::Chase(Reach::L1) | Kind::Additions | Kind::Stores) => nothing,

        (Column::L2Misses, Kind::Chase(Reach::L1) | Kind::Stores) => little(0.02),
        // Pages that are not contiguous collide in an L2, and a neighbour may share it.
        (Column::L2Misses, Kind::Chase(Reach::L2)) => little(0.3),
        (Column::L2Misses, Kind::Chase(Reach::L3)) => each_missed(beyond(caches.l2_bytes)),
        (Column::L2Misses, Kind::Chase(Reach::Memory)) => each_missed(1.0),
        (Column::L2Misses, Kind::Additions) => nothing,

        (Column::L3Misses, Kind::Chase(Reach::L1) | Kind::Stores) => little(0.02),
        (Column::L3Misses, Kind::Chase(Reach::L2)) => little(0.1),
        (Column::L3Misses, Kind::Chase(Reach::L3)) => little(0.5),
        (Column::L3Misses, Kind::Chase(Reach::Memory)) => each_missed(1.0),
        (Column::L3Misses, Kind::Additions) => nothing,

        (Column::Instructions, _) => {
            let instructions = work.instructions() as f64;
            Some(Bounds::between(0.999 * instructions, 1.02 * instructions + 2.0 * WINDOW))
        }

        // An access to memory takes 50 cycles and more. Without the clock's figure there is no upper bound.
        (Column::Inactive, Kind::Chase(Reach::Memory)) => {
            let (low, high) = cycles.map_or((0.0, f64::MAX), |cycles| (0.5 * cycles, 1.2 * cycles));
            Some(Bounds::between(low.max(50.0 * n), high))
        }
        (Column::Inactive, Kind::Additions) => little(0.3),

        (Column::Cycles, Kind::Additions) => Some(Bounds::between(0.98 * n, 1.5 * n + 5.0 * WINDOW)),
        (Column::Cycles, Kind::Chase(Reach::Memory)) => {
            cycles.map(|cycles| Bounds::between(0.65 * cycles, 1.25 * cycles))
        }
        _ => None,
    }
}
