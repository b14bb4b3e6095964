//! What else went on during a sample: stolen time, tasks that waited for a CPU.

use coho_platform::CpuSet;
use coho_platform::stolen::{Steal, Waiting};

/// The state at a sample's beginning.
pub(super) struct Witness {
    steal: Steal,
    waiting: Waiting,
}

/// What was seen until its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    /// Time that the hypervisor took away, in seconds.
    pub(super) steal_s: Option<f64>,
    /// Share of the time in which some task waited for a CPU, 0 to 1.
    pub(super) waiting: Option<f64>,
}

impl Witness {
    pub(super) fn begin(cpus: &CpuSet) -> Self {
        Self { steal: Steal::from_now(cpus.clone()), waiting: Waiting::from_now() }
    }

    pub(super) fn end(self) -> Seen {
        Seen { steal_s: self.steal.seconds(), waiting: self.waiting.share() }
    }
}
