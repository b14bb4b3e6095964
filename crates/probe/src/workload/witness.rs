//! What else went on during a sample: stolen time, tasks that waited for a CPU.

use std::fs;
use std::time::Instant;

use coho_platform::stolen;
use coho_topology::CpuSet;

/// The state at a sample's beginning.
pub(super) struct Witness<'a> {
    cpus: &'a CpuSet,
    at: Instant,
    steal_s: Option<f64>,
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

impl<'a> Witness<'a> {
    pub(super) fn begin(cpus: &'a CpuSet) -> Self {
        Self { cpus, at: Instant::now(), steal_s: stolen::steal_s(cpus), waited_us: waited_us() }
    }

    pub(super) fn end(self) -> Seen {
        let elapsed_us = self.at.elapsed().as_secs_f64() * 1e6;
        let waited = waited_us().zip(self.waited_us).map(|(now, before)| now.saturating_sub(before));
        Seen {
            steal_s: stolen::steal_s(self.cpus).zip(self.steal_s).map(|(now, before)| now - before),
            waiting: waited.map(|us| (us as f64 / elapsed_us).min(1.0)),
        }
    }
}

/// Time in which some task waited for a CPU, since boot, in us; `None` if the kernel does not count it.
fn waited_us() -> Option<u64> {
    some_us(&fs::read_to_string("/proc/pressure/cpu").ok()?)
}

fn some_us(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_read_where_the_kernel_tells_it() {
        let text = "some avg10=49.40 avg60=68.91 avg300=60.17 total=12450962389\nfull avg10=0.00 total=7\n";
        assert_eq!(some_us(text), Some(12_450_962_389));
        assert_eq!(some_us("full total=7\n"), None);
        let cpus = CpuSet::up_to(1);
        let seen = Witness::begin(&cpus).end();
        assert!(seen.waiting.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
