//! Paper 5: UnixBench and a kernel build on AMD's modules, with FreeBSD's original topology and the corrected one.

use std::collections::BTreeMap;

use coho_topology::cpuid::{self, Dump};
use serde::Deserialize;

use super::{Paper, Publication};
use crate::{Estimate, Host, Method, Profile, Score, TopologySection, WorkloadResult, Workloads};

/// Authors, title and year.
pub const PAPER: Paper = Paper {
    name: "kimoto-bulldozer",
    authors: "Kimoto",
    all_authors: "M. Kimoto",
    title: "続・HyperThreadingとAMD Bulldozerとカーネルスケジューリング (HyperThreading, AMD Bulldozer and kernel \
            scheduling, part 2)",
    year: "2015",
    publication: || figures().publication(),
};

/// What the article printed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figures {
    /// Author and title.
    pub source: String,
    /// The machine.
    pub machine: Machine,
    /// How it was measured.
    pub method: PaperMethod,
    /// UnixBench's baselines, in the units of [`TESTS`].
    pub baseline: BTreeMap<String, f64>,
    /// With the firmware's Core C6 State enabled.
    pub c6_on: Pair,
    /// With it disabled.
    pub c6_off: Pair,
}

/// The machine of the article.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Machine {
    pub cpu: String,
    pub os: String,
    pub nominal_ghz: f64,
    /// The clock of a module that looks idle while C6 is enabled.
    pub low_clock_ghz_in_c6: f64,
    /// Cores that share an L2, by family; the patch assumes 2 for all.
    pub modules_need: BTreeMap<String, u32>,
}

/// The article's commands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct PaperMethod {
    pub benchmark: String,
    pub kernel_build: String,
}

/// Before and after the correction of the topology.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Pair {
    pub stock: Table,
    pub patched: Table,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Table {
    /// Results by test, in the units of [`TESTS`].
    pub results: BTreeMap<String, f64>,
    /// The geometric mean of their indices.
    pub score: f64,
    /// Time of the kernel build, in seconds.
    pub kernel_build_s: f64,
}

/// UnixBench's tests in the order of its tables, with the units of their results: loops per second or minute, MWIPS,
/// KB per second.
pub const TESTS: [(&str, &str); 12] = [
    ("dhrystone2", "lps"),
    ("whetstone_double", "MWIPS"),
    ("execl", "lps"),
    ("file_copy_1024", "KBps"),
    ("file_copy_256", "KBps"),
    ("file_copy_4096", "KBps"),
    ("pipe_throughput", "lps"),
    ("pipe_context_switching", "lps"),
    ("process_creation", "lps"),
    ("shell_1", "lpm"),
    ("shell_8", "lpm"),
    ("syscall_overhead", "lps"),
];

/// The name of the kernel build among the tests.
pub const KERNEL_BUILD: &str = "kernel_build";

/// The article's figures.
///
/// ```
/// let paper = coho_profile::published::kimoto_bulldozer::figures();
/// assert_eq!(paper.c6_off.stock.results["pipe_context_switching"], 192_096.2);
/// ```
///
/// # Panics
/// Never: the file is part of the program and read by a test.
pub fn figures() -> Figures {
    toml::from_str(include_str!("kimoto_bulldozer.toml")).expect("the built-in figures are well formed")
}

/// What CPUID answers on the article's processor. FreeBSD's rules turn it into the article's two listings.
///
/// # Panics
/// Never: as [`figures`].
pub fn dump() -> Dump {
    cpuid::parse(include_str!("kimoto_bulldozer.cpuid")).expect("the built-in dump is well formed")
}

impl Figures {
    /// The figures as profiles, one per table: the machine under each kernel and firmware setting.
    pub fn publication(&self) -> Publication {
        let machines =
            self.tables().map(|(name, table)| (name.to_owned(), self.profile(name, table))).to_vec();
        Publication { paper: PAPER, machines }
    }

    /// The four tables in the article's order, by the names of their profiles.
    pub fn tables(&self) -> [(&'static str, &Table); 4] {
        [
            ("c6-on-stock", &self.c6_on.stock),
            ("c6-on-patched", &self.c6_on.patched),
            ("c6-off-stock", &self.c6_off.stock),
            ("c6-off-patched", &self.c6_off.patched),
        ]
    }

    fn profile(&self, name: &str, table: &Table) -> Profile {
        let host = Host {
            cpu: Some(self.machine.cpu.clone()),
            architecture: Some("x86_64".into()),
            os: Some(format!("{}, {}", self.machine.os, name.rsplit('-').next().unwrap_or_default())),
            ..Host::default()
        };
        let topology = cpuid::decode(&dump()).expect("the built-in dump is decoded");
        Profile {
            host: Some(host),
            topology: Some(TopologySection::from(topology)),
            workloads: Some(self.workloads(name, table)),
            ..Profile::default()
        }
    }

    fn workloads(&self, name: &str, table: &Table) -> Workloads {
        let result = |test: &str, unit: &str, value: f64, index| WorkloadResult {
            test: test.to_owned(),
            placement: "none".into(),
            copies: 1,
            value: Some(Estimate::exact(value)),
            unit: unit.to_owned(),
            index,
            ..WorkloadResult::default()
        };
        let unixbench = TESTS.iter().filter_map(|&(test, unit)| {
            let value = *table.results.get(test)?;
            Some(result(test, unit, value, Some(10.0 * value / self.baseline.get(test)?)))
        });
        let build = result(KERNEL_BUILD, "s", table.kernel_build_s, None);
        Workloads {
            method: Method {
                description: format!("{}; {name}; the scheduler placed the processes", self.source),
                parameters: BTreeMap::from([
                    ("benchmark".to_owned(), self.method.benchmark.clone().into()),
                    ("kernel_build".to_owned(), self.method.kernel_build.clone().into()),
                ]),
                ..Method::default()
            },
            results: unixbench.chain([build]).collect(),
            scores: vec![Score { placement: "none".into(), copies: 1, index: table.score, tests: 12 }],
            ..Workloads::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use coho_topology::freebsd::{self, Variant};

    use super::*;

    #[test]
    fn every_table_has_every_test_and_becomes_a_profile() {
        let paper = figures();
        assert!(TESTS.iter().all(|(test, _)| paper.baseline.contains_key(*test)));
        let publication = paper.publication();
        let names: Vec<_> = publication.machines.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["c6-on-stock", "c6-on-patched", "c6-off-stock", "c6-off-patched"]);
        for ((_, table), (_, profile)) in paper.tables().iter().zip(&publication.machines) {
            assert_eq!(table.results.len(), 12);
            let workloads = profile.workloads.as_ref().unwrap();
            assert_eq!(workloads.results.len(), 13);
            let index = workloads.results[8].index.unwrap();
            assert_eq!(workloads.results[8].test, "process_creation");
            assert!((index - 10.0 * table.results["process_creation"] / 126.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_machine_has_two_modules_and_the_stock_kernel_sees_one_cache() {
        let dump = dump();
        let topology = cpuid::decode(&dump).unwrap();
        assert_eq!((topology.counts().module, topology.counts().l2, topology.counts().core), (2, 2, 4));
        let shape = |variant| freebsd::predict(variant, &topology, Some(&dump)).unwrap().root.shape();
        assert_eq!(shape(Variant::Stock), "L0/4{1x L2/4}");
        assert_eq!(shape(Variant::Patched), "L0/4{1x L0/4{2x L2/2+SMT}}");
    }
}
