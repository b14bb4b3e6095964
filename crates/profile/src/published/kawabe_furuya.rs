//! Paper 1: cache-coherence time between cores by atomic increments.

use std::collections::BTreeMap;

use coho_topology::{CpuSet, Pu, Topology, Unit};
use serde::Deserialize;

use super::{Paper, Publication};
use crate::{
    Coherence, CoherenceTime, Estimate, Home, Host, Method, Pair, PairMethod, Profile, Single,
    TopologySection,
};

/// Authors, title and year.
pub const PAPER: Paper = Paper {
    name: "kawabe-furuya",
    authors: "Kawabe & Furuya",
    all_authors: "S. Kawabe, E. Furuya",
    title: "Performance Measurement Method of Cache Coherency Effects on a large Intel Xeon Processor System",
    year: "about 2014",
    publication: || figures().publication(),
};

/// What the paper printed; times in ns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Figures {
    /// Authors and title.
    pub source: String,
    /// How it was measured.
    pub method: PaperMethod,
    /// The machines of tables 1 and 2.
    pub machine: Vec<Machine>,
    /// Fig. 7: on-die coherence time by processor, in ns.
    pub evolution_on_die: BTreeMap<String, f64>,
    /// Molka et al. (PACT 2009), line in state Exclusive, Nehalem 2.9 GHz: the paper compares its times with
    /// these.
    pub molka_2009: Molka,
}

/// The paper's parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PaperMethod {
    /// Increments per thread.
    pub repetitions: u64,
    /// The instruction.
    pub line_op: String,
    /// CPI without coherence events (Figs. 4 and 6).
    pub base_cpi: f64,
    /// Coherence events per 100 instructions: the x axis of Figs. 4 and 6.
    pub cpi_rates_percent: Vec<f64>,
}

/// One machine of the paper; pairs are written as the paper's CPU names, joined by a comma.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Machine {
    pub name: String,
    pub ghz: f64,
    pub sockets: u32,
    pub cores_per_socket: u32,
    pub locked_single: f64,
    pub unlocked_single: f64,
    pub smt_pair: f64,
    pub on_die: BTreeMap<String, f64>,
    pub on_die_mean: f64,
    pub hop1: BTreeMap<String, f64>,
    pub hop1_mean: f64,
    #[serde(default)]
    pub hop2: BTreeMap<String, f64>,
    pub hop2_mean: Option<f64>,
    pub coherence_on_die: f64,
    pub coherence_on_die_cycles: f64,
    pub coherence_hop1: f64,
    pub coherence_hop1_cycles: f64,
    pub coherence_hop2: Option<f64>,
    pub coherence_hop2_cycles: Option<f64>,
}

/// Molka et al.'s latencies, in ns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct Molka {
    pub on_die: f64,
    pub hop1: Vec<f64>,
}

/// The paper's figures.
///
/// # Panics
/// Never: the file is part of the program and read by a test.
pub fn figures() -> Figures {
    toml::from_str(include_str!("kawabe_furuya.toml")).expect("the built-in figures are well formed")
}

impl Figures {
    /// The figures as profiles, one per machine.
    pub fn publication(&self) -> Publication {
        let machines =
            self.machine.iter().map(|machine| (machine.short_name(), self.profile(machine))).collect();
        Publication { paper: PAPER, machines }
    }

    fn profile(&self, machine: &Machine) -> Profile {
        let coherence = Coherence {
            method: Method {
                description: format!("{}; {}", self.source, machine.name),
                parameters: BTreeMap::from([
                    ("repetitions".to_owned(), self.method.repetitions.into()),
                    ("operation".to_owned(), self.method.line_op.clone().into()),
                ]),
                ..Method::default()
            },
            cpus: machine.cpus().iter().collect(),
            singles: vec![Single {
                cpu: 0,
                name: machine.cpu_name(0),
                locked_ns: Estimate::exact(machine.locked_single),
                unlocked_ns: Estimate::exact(machine.unlocked_single),
            }],
            pairs: machine.pairs(),
            coherence_times: machine.coherence_times(),
            published: true,
            ..Coherence::default()
        };
        let host = Host { cpu: Some(machine.name.clone()), clock_ghz: Some(machine.ghz), ..Host::default() };
        Profile {
            host: Some(host),
            topology: Some(TopologySection::from(machine.topology())),
            coherence: Some(coherence),
            ..Profile::default()
        }
    }
}

impl Machine {
    /// `e5620` from `2 x Xeon E5620 (…)`.
    fn short_name(&self) -> String {
        let model = self
            .name
            .split_whitespace()
            .find(|word| word.len() > 2 && word.ends_with(|c: char| c.is_ascii_digit()));
        model.unwrap_or(&self.name).to_lowercase()
    }

    fn cores(&self) -> u32 {
        self.sockets * self.cores_per_socket
    }

    /// Two threads per core, the second ones numbered after all first ones, as on Linux.
    fn cpus(&self) -> CpuSet {
        CpuSet::up_to(2 * self.cores())
    }

    fn topology(&self) -> Topology {
        let core = |core: u32| [core, core + self.cores()];
        let package = |package: u32| {
            (0..self.cores_per_socket).flat_map(move |c| core(package * self.cores_per_socket + c))
        };
        let mut topology = Topology {
            pus: self.cpus().iter().map(|os| Pu { os, ..Pu::default() }).collect(),
            packages: (0..self.sockets)
                .map(|id| Unit { id: Some(id), cpus: package(id).collect() })
                .collect(),
            cores: (0..self.cores())
                .map(|id| Unit { id: Some(id), cpus: core(id).into_iter().collect() })
                .collect(),
            ..Topology::default()
        };
        topology.cpu.brand = Some(self.name.clone());
        topology.finish();
        topology
    }

    /// `P1.C2`, as the paper names CPUs; `C6` on the machine whose cores it numbers consecutively.
    fn cpu_name(&self, cpu: u32) -> String {
        if self.on_die.keys().any(|key| key.starts_with('P')) {
            format!("P{}.C{}", cpu / self.cores_per_socket, cpu % self.cores_per_socket)
        } else {
            format!("C{cpu}")
        }
    }

    fn cpu_number(&self, name: &str) -> Option<u32> {
        (0..self.cores()).find(|&cpu| self.cpu_name(cpu) == name)
    }

    fn pairs(&self) -> Vec<Pair> {
        let named = [("on-die", &self.on_die), ("1-hop", &self.hop1), ("2-hop", &self.hop2)];
        let pair = |a, b, ns, class: &str| Pair {
            a,
            b,
            method: PairMethod::FreeRunning,
            home: Home::Unknown,
            ns: Estimate::exact(ns),
            ownership_changes_per_op: None,
            lines: None,
            preempted_batches: 0,
            claimed: Some(class.to_owned()),
        };
        let mut pairs = vec![pair(0, self.cores(), self.smt_pair, "smt")];
        for (class, times) in named {
            for (names, &ns) in times {
                let cpus =
                    names.split_once(',').and_then(|(a, b)| Some((self.cpu_number(a)?, self.cpu_number(b)?)));
                let (a, b) = cpus.expect("the built-in figures name existing CPUs");
                pairs.push(pair(a, b, ns, class));
            }
        }
        pairs
    }

    fn coherence_times(&self) -> Vec<CoherenceTime> {
        let time = |class: &str, mean_ns, coherence_ns, coherence_cycles, pairs: usize| CoherenceTime {
            class: class.to_owned(),
            method: PairMethod::FreeRunning,
            mean_ns,
            baseline_ns: self.smt_pair,
            baseline: "smt pair".to_owned(),
            coherence_ns,
            interval_ns: None,
            coherence_cycles,
            pairs: pairs as u64,
        };
        let mut times = vec![
            time(
                "on-die",
                self.on_die_mean,
                self.coherence_on_die,
                Some(self.coherence_on_die_cycles),
                self.on_die.len(),
            ),
            time(
                "1-hop",
                self.hop1_mean,
                self.coherence_hop1,
                Some(self.coherence_hop1_cycles),
                self.hop1.len(),
            ),
        ];
        if let (Some(mean), Some(coherence)) = (self.hop2_mean, self.coherence_hop2) {
            times.push(time("2-hop", mean, coherence, self.coherence_hop2_cycles, self.hop2.len()));
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_means_follow_from_published_pairs() {
        for machine in figures().machine {
            let mean = |pairs: &BTreeMap<String, f64>| pairs.values().sum::<f64>() / pairs.len() as f64;
            assert!((mean(&machine.on_die) - machine.on_die_mean).abs() < 0.01, "{}", machine.name);
            assert!((machine.on_die_mean - machine.smt_pair - machine.coherence_on_die).abs() < 0.011);
            let cycles = machine.coherence_on_die * machine.ghz;
            assert!((cycles - machine.coherence_on_die_cycles).abs() < 0.02, "{}: {cycles}", machine.name);
        }
    }

    #[test]
    fn each_machine_is_a_profile_that_names_its_cpus() {
        let publication = figures().publication();
        let names: Vec<_> = publication.machines.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["e5620", "x7560"]);
        let counts = publication.machines[1].1.topology.as_ref().unwrap().counts;
        assert_eq!((counts.package, counts.core, counts.pu), (8, 64, 128));
        let coherence = publication.machines[1].1.coherence.as_ref().unwrap();
        assert!(coherence.pairs.iter().any(|pair| (pair.a, pair.b) == (0, 63) && pair.ns.median == 340.58));
    }
}
