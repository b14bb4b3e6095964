//! How each CPU has spent its time since boot, from `/proc/stat`.

use std::collections::BTreeMap;
use std::fs;

/// A CPU's time since boot, in the kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) all: u64,
    /// Idle, or waiting for a disk.
    pub(crate) idle: u64,
    /// Taken away by the hypervisor; `None` if the kernel does not say.
    pub(crate) steal: Option<u64>,
}

/// The ticks of each CPU; empty if the kernel does not say.
pub(crate) fn ticks() -> BTreeMap<u32, Ticks> {
    parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

pub(crate) fn parse(stat: &str) -> BTreeMap<u32, Ticks> {
    let line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        // user nice system idle iowait irq softirq steal; guests' time is in user and nice already.
        let times: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
        let idle = times.get(3)?.saturating_add(times.get(4).copied().unwrap_or(0));
        let all = times.iter().fold(0, |sum: u64, time| sum.saturating_add(*time));
        Some((cpu, Ticks { all, idle, steal: times.get(7).copied() }))
    };
    stat.lines().filter_map(line).collect()
}
