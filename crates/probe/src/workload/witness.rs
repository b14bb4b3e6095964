//! What else went on during a sample: stolen time, tasks that waited for a CPU.

use std::time::Instant;

use coho_platform::CpuSet;
use coho_platform::stolen::{Steal, waited_us};

/// The state at a sample's beginning.
pub(super) struct Witness {
    at: Instant,
    steal: Steal,
    waited_us: Option<u64>,
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
        Self { at: Instant::now(), steal: Steal::from_now(cpus.clone()), waited_us: waited_us() }
    }

    pub(super) fn end(self) -> Seen {
        let elapsed_us = self.at.elapsed().as_secs_f64() * 1e6;
        let waited = waited_us().zip(self.waited_us).map(|(now, before)| now.saturating_sub(before));
        Seen { steal_s: self.steal.seconds(), waiting: waited.map(|us| (us as f64 / elapsed_us).min(1.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_a_share_of_the_time() {
        let seen = Witness::begin(&CpuSet::up_to(1)).end();
        assert!(seen.waiting.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
