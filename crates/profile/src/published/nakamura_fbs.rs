//! Paper 3: Fast Barrier Synchronization (FBS), compared with a lock variable, and by where threads run.

use std::collections::BTreeMap;

use coho_topology::{Cache, CacheKind, CpuSet, Pu, Topology, Unit};
use serde::Deserialize;

use super::{Paper, Publication};
use crate::{Estimate, ForkJoinTime, Host, Inexact, Method, Profile, Sync, SyncPeer, TopologySection};

/// Authors, title and year.
pub const PAPER: Paper = Paper {
    name: "nakamura-fbs",
    authors: "Nakamura et al.",
    all_authors: "T. Nakamura, K. Takayama, H. Aoki, A. Matsui, N. Sukegawa",
    title: "Fast Barrier Synchronization Mechanism of SR11000 model H1",
    year: "2003",
    publication: || figures().publication(),
};

/// What the paper printed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figures {
    /// Authors and title.
    pub source: String,
    /// The machine.
    pub machine: Machine,
    /// Barriers, fork and join (Figs. 4-1 to 4-3).
    pub barrier: Barriers,
    /// A(i) = B(i) + s C(i) by loop length (Fig. 4-5): FBS against the lock variable.
    pub daxpy: Daxpy,
    /// Programs under both barriers and mappings (Figs. 4-6 and 4-7, Table 4-1).
    pub applications: Applications,
    /// The model of a loop's time (Fig. 3-3).
    pub model: Model,
    /// How the paper words the ratios that it does not give exactly, by the names in [`ratio`].
    pub inexact: BTreeMap<String, Inexact>,
}

/// The paper's node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Machine {
    pub name: String,
    pub cpu: String,
    pub peak_gflops_per_node: f64,
}

/// Fork and join by layout and lock; times are in us, the rest relative to FBS on separate lines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Barriers {
    pub flag_bytes: u64,
    pub flag_states: u64,
    pub line_bytes: u64,
    pub fork_plus_join_us: ForkPlusJoin,
    /// From the smallest to the largest, for 8 CPUs of the previous model with dedicated hardware.
    pub hardware_barrier_sr8000_us: [f64; 2],
    pub lock_over_separate_16: f64,
    pub same_line_over_separate_16: f64,
    pub mapping_speedup_sequential_over_binary_tree_8: f64,
}

/// Fork and join by FBS, in us.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct ForkPlusJoin {
    pub fbs_separate_lines: ByCpus,
}

/// A figure by number of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct ByCpus {
    #[serde(rename = "8")]
    pub of_8: f64,
    #[serde(rename = "16")]
    pub of_16: f64,
}

/// Speed-up of FBS over the lock variable, data in cache, 16 CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Daxpy {
    pub speedup_short_loops: f64,
    pub speedup_at_peak: f64,
}

/// SPEC's galgel and a weather model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Applications {
    pub galgel_runtime_fbs_over_lock: f64,
    /// From the smallest to the largest.
    pub weather_runtime_reduction: [f64; 2],
    pub weather_sync_share: ByCpus,
    pub mapping_table: MappingTable,
}

/// Table 4-1: 8 CPUs under FBS, in percent of the binary tree's total.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct MappingTable {
    pub galgel: Mappings,
    pub weather: Mappings,
}

/// A program of Table 4-1.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Mappings {
    pub binary_tree: Parts,
    pub sequential: Parts,
}

/// A row of Table 4-1.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Parts {
    pub compute: f64,
    pub sync: f64,
    pub total: f64,
}

/// Times of a loop on one CPU and on n.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Model {
    pub t_1: String,
    pub t_n: String,
}

/// Names of ratios in [`Sync::ratios`]. They cover all of a node's CPUs or half of them, since no two papers'
/// machines have equally many.
pub mod ratio {
    /// Fork and join by FBS on one line, over that on separate lines; all CPUs.
    pub const ONE_LINE: &str = "fork-join.one-line-over-separate-lines.all";
    /// Fork and join by a lock variable, over that by FBS; all CPUs.
    pub const LOCK: &str = "fork-join.lock-over-fbs.all";
    /// Fork and join by FBS in binary-tree mapping, over that in sequential mapping; half the CPUs.
    pub const MAPPING: &str = "fork-join.binary-tree-over-sequential.half";
    /// Speed-up of the shortest loops with FBS over the lock; all CPUs.
    pub const SHORT_LOOPS: &str = "daxpy.fbs-speed-up.short-loops";
    /// Quickest loop with FBS over the quickest with the lock; all CPUs.
    pub const PEAK: &str = "daxpy.fbs-speed-up.peak";
    /// Run time of the untuned program with FBS over that with the lock; all CPUs.
    pub const UNTUNED: &str = "galerkin.fbs-over-lock.all";
    /// Run time of the tuned program with FBS over that with the lock; all CPUs.
    pub const TUNED: &str = "weather.fbs-over-lock.all";
    /// Share of the tuned program's time that threads wait under FBS; half the CPUs.
    pub const WAITING_HALF: &str = "weather.sync-share.half";
    /// The same; all CPUs.
    pub const WAITING_ALL: &str = "weather.sync-share.all";
}

/// The paper's figures.
///
/// ```
/// let paper = coho_profile::published::nakamura_fbs::figures();
/// assert_eq!(paper.barrier.fork_plus_join_us.fbs_separate_lines.of_16, 4.8);
/// ```
///
/// # Panics
/// Never: the file is part of the program and read by a test.
pub fn figures() -> Figures {
    toml::from_str(include_str!("nakamura_fbs.toml")).expect("the built-in figures are well formed")
}

/// CPUs of a node; the next two are those of a module and of a chip.
const NODE: u32 = 16;
const MODULE: u32 = 8;
const CHIP: u32 = 2;

impl Figures {
    /// The figures as a profile of the paper's one machine.
    pub fn publication(&self) -> Publication {
        let host = Host {
            cpu: Some(format!("{}: {}", self.machine.name, self.machine.cpu)),
            clock_ghz: self.clock_ghz(),
            ..Host::default()
        };
        let profile = Profile {
            host: Some(host),
            topology: Some(TopologySection::from(self.topology())),
            sync: Some(self.sync()),
            ..Profile::default()
        };
        Publication { paper: PAPER, machines: vec![("sr11000".into(), profile)] }
    }

    /// `1.7` from `POWER4+ 1.7 GHz, …`.
    fn clock_ghz(&self) -> Option<f64> {
        self.machine.cpu.split(" GHz").next()?.split_whitespace().next_back()?.parse().ok()
    }

    /// Two modules, each a package of four dies with two cores each.
    fn topology(&self) -> Topology {
        let units = |size: u32| (0..NODE / size).map(move |id| (id, (id * size..(id + 1) * size).collect()));
        let all = |size| units(size).map(|(id, cpus)| Unit { id: Some(id), cpus }).collect();
        let l2 = |(_, cpus): (u32, CpuSet)| Cache {
            level: 2,
            kind: CacheKind::Unified,
            size_bytes: 0,
            line_bytes: u32::try_from(self.barrier.line_bytes).ok(),
            ways: None,
            cpus,
        };
        let mut topology = Topology {
            pus: (0..NODE).map(|os| Pu { os, ..Pu::default() }).collect(),
            packages: all(MODULE),
            dies: all(CHIP),
            cores: all(1),
            caches: units(CHIP).map(l2).collect(),
            ..Topology::default()
        };
        topology.cpu.brand = Some(self.machine.cpu.clone());
        topology.finish();
        topology
    }

    fn sync(&self) -> Sync {
        let barrier = &self.barrier;
        let fbs = barrier.fork_plus_join_us.fbs_separate_lines;
        let fork_join = |algorithm: &str, threads, us: f64| ForkJoinTime {
            algorithm: algorithm.into(),
            by: "barrier".into(),
            threads,
            total_ns: Some(Estimate::exact(1000.0 * us)),
            ..ForkJoinTime::default()
        };
        let [least, most] = barrier.hardware_barrier_sr8000_us.map(|us| 1000.0 * us);
        Sync {
            method: Method {
                description: format!(
                    "{}; fork and join of {} CPUs by a lock and by flags on one line: from their printed ratios",
                    self.source, NODE
                ),
                parameters: BTreeMap::from([
                    ("flag_bytes".to_owned(), barrier.flag_bytes.into()),
                    ("line_bytes".to_owned(), barrier.line_bytes.into()),
                ]),
                ..Method::default()
            },
            fork_join: vec![
                fork_join("fbs", MODULE, fbs.of_8),
                fork_join("fbs", NODE, fbs.of_16),
                fork_join("fbs-one-line", NODE, fbs.of_16 * barrier.same_line_over_separate_16),
                fork_join("lock", NODE, fbs.of_16 * barrier.lock_over_separate_16),
            ],
            peers: vec![SyncPeer {
                name: "hardware barrier of the SR8000".into(),
                operation: "barrier".into(),
                threads: 8,
                ns: Some(range(least, most)),
                ..SyncPeer::default()
            }],
            ratios: self.ratios(),
            inexact: self.inexact.iter().map(|(name, wording)| (name.clone(), *wording)).collect(),
            ..Sync::default()
        }
    }

    fn ratios(&self) -> BTreeMap<String, Estimate> {
        let applications = &self.applications;
        let [least, most] = applications.weather_runtime_reduction;
        let waiting = applications.weather_sync_share;
        let exact = Estimate::exact;
        [
            (ratio::MAPPING, exact(self.barrier.mapping_speedup_sequential_over_binary_tree_8)),
            (ratio::SHORT_LOOPS, exact(self.daxpy.speedup_short_loops)),
            (ratio::PEAK, exact(self.daxpy.speedup_at_peak)),
            (ratio::UNTUNED, exact(applications.galgel_runtime_fbs_over_lock)),
            (ratio::TUNED, range(1.0 - most, 1.0 - least)),
            (ratio::WAITING_HALF, exact(waiting.of_8)),
            (ratio::WAITING_ALL, exact(waiting.of_16)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// A figure given as a range.
fn range(low: f64, high: f64) -> Estimate {
    Estimate { low, high, min: low, ..Estimate::exact(f64::midpoint(low, high)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sr11000() -> Profile {
        figures().publication().machines.remove(0).1
    }

    #[test]
    fn the_node_is_two_modules_of_four_chips() {
        let profile = sr11000();
        let topology = profile.topology.unwrap();
        let counts = topology.counts;
        assert_eq!((counts.package, counts.die, counts.core, counts.pu), (2, 8, 16, 16));
        assert_eq!(topology.topology.caches.len(), 8);
        assert_eq!(profile.host.unwrap().clock_ghz, Some(1.7));
    }

    #[test]
    fn times_and_ratios_are_those_of_the_figures() {
        let sync = sr11000().sync.unwrap();
        let ns = |algorithm: &str, threads| {
            let row = sync.fork_join.iter().find(|row| row.algorithm == algorithm && row.threads == threads);
            row.unwrap().total_ns.as_ref().unwrap().median
        };
        assert_eq!((ns("fbs", 8), ns("fbs", 16)), (2400.0, 4800.0));
        assert!((ns("lock", 16) / ns("fbs", 16) - 5.8).abs() < 1e-9);
        assert!((ns("fbs-one-line", 16) / ns("fbs", 16) - 2.8).abs() < 1e-9);
        assert_eq!(sync.ratios[ratio::SHORT_LOOPS].median, 4.0);
        assert!(sync.inexact.keys().all(|name| sync.ratios.contains_key(name)));
        assert_eq!(sync.inexact[ratio::WAITING_ALL], Inexact::Below);
        assert_eq!(sync.inexact.get(ratio::PEAK), None);
        let tuned = &sync.ratios[ratio::TUNED];
        assert!((tuned.low - 0.7).abs() < 1e-9 && (tuned.high - 0.8).abs() < 1e-9, "{tuned:?}");
        assert_eq!(sync.peers[0].ns.as_ref().unwrap().median, 3500.0);
    }

    #[test]
    fn computing_and_waiting_add_up_in_the_papers_table() {
        let table = figures().applications.mapping_table;
        for program in [table.galgel, table.weather] {
            for Parts { compute, sync, total } in [program.binary_tree, program.sequential] {
                assert!((compute + sync - total).abs() < 0.051, "{compute} + {sync} = {total}");
            }
        }
    }
}
