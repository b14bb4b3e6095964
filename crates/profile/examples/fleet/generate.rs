//! Profiles of fleets that do not exist: machines of a few kinds that scatter by per cents, and some with planted faults.

use coho_profile::{
    BarrierTime, Call, Calls, Coherence, Estimate, Home, Host, Memory, MemoryLatency, MemoryRate, Method,
    Operation, Pair, PairMethod, Profile, Single, Sync,
};
use coho_topology::{Cache, CacheKind, CpuSet, NumaNode, Pu, Topology, Unit};

/// What machines of one kind are.
struct Kind {
    cpu: &'static str,
    kernel: &'static str,
    packages: u32,
    cores: u32,
    /// Cores that share an L3.
    per_l3: u32,
    clock_ghz: f64,
    /// A step between CPUs that share an L3, a package, and nothing.
    steps_ns: [f64; 3],
}

const SMALL: [Kind; 3] = [
    Kind {
        cpu: "Example 8",
        kernel: "Linux 6.12.41",
        packages: 1,
        cores: 8,
        per_l3: 8,
        clock_ghz: 3.2,
        steps_ns: [24.0, 60.0, 110.0],
    },
    Kind {
        cpu: "Example 8",
        kernel: "Linux 6.1.148",
        packages: 1,
        cores: 8,
        per_l3: 8,
        clock_ghz: 3.2,
        steps_ns: [24.0, 60.0, 110.0],
    },
    Kind {
        cpu: "Example 2x4",
        kernel: "Linux 6.12.41",
        packages: 2,
        cores: 8,
        per_l3: 4,
        clock_ghz: 2.6,
        steps_ns: [31.0, 70.0, 140.0],
    },
];
const LARGE: Kind = Kind {
    cpu: "Example 2x96",
    kernel: "Linux 6.12.41",
    packages: 2,
    cores: 192,
    per_l3: 8,
    clock_ghz: 2.4,
    steps_ns: [26.0, 90.0, 190.0],
};

/// By how much healthy machines scatter, one standard deviation.
const SCATTER: f64 = 0.02;
/// One machine in so many has a fault.
const ONE_IN: u64 = 25;

/// What is wrong with a machine, and the figure or fact in which it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Bandwidth,
    Latency,
    Slightly,
    Clock,
    Link,
    Calls,
    Microcode,
}

impl Fault {
    const ALL: [Self; 7] = [
        Self::Bandwidth,
        Self::Latency,
        Self::Slightly,
        Self::Clock,
        Self::Link,
        Self::Calls,
        Self::Microcode,
    ];

    /// How the figure or fact begins that a report has to name.
    pub fn shows_in(self) -> &'static str {
        match self {
            Self::Bandwidth => "memory.rate",
            Self::Latency | Self::Slightly => "memory.latency",
            Self::Clock => "host.clock",
            Self::Link => "coherence.turn",
            Self::Calls => "calls.time",
            Self::Microcode => "microcode",
        }
    }
}

/// A machine of a fleet.
pub struct Machine {
    pub name: String,
    pub profile: Profile,
    pub fault: Option<Fault>,
}

/// The machine of this number in the fleet of a seed, small or large.
pub fn machine(seed: u64, number: u64, large: bool) -> Machine {
    let mut random =
        fastrand::Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(large));
    let kind = if large { &LARGE } else { &SMALL[random.usize(..SMALL.len())] };
    let is_faulty = number % ONE_IN == ONE_IN / 2;
    let fault = is_faulty.then(|| Fault::ALL[(number / ONE_IN) as usize % Fault::ALL.len()]);
    let name = format!("{}{number:05}", if large { "large" } else { "node" });
    Machine { name, profile: Made { kind, fault, random }.profile(), fault }
}

struct Made<'a> {
    kind: &'a Kind,
    fault: Option<Fault>,
    random: fastrand::Rng,
}

impl Made<'_> {
    /// By what a fault multiplies a figure.
    fn by(&self, fault: Fault, factor: f64) -> f64 {
        if self.fault == Some(fault) { factor } else { 1.0 }
    }

    /// A figure that scatters.
    fn near(&mut self, value: f64) -> Estimate {
        let normal: f64 = (0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0;
        let median = value * (1.0 + SCATTER * normal);
        let [low, high, min] = [0.99, 1.01, 0.97].map(|by| median * by);
        Estimate { low, high, min, n: 40, passes: 5, stable: Some(true), ..Estimate::exact(median) }
    }

    fn profile(mut self) -> Profile {
        Profile {
            host: Some(self.host()),
            topology: Some(self.topology().into()),
            coherence: Some(self.coherence()),
            calls: Some(self.calls()),
            sync: Some(self.sync()),
            memory: Some(self.memory()),
            ..Profile::default()
        }
    }

    fn host(&mut self) -> Host {
        let (second, minute) = (self.random.u32(..60), self.random.u32(..60));
        let mitigations = [
            ("meltdown", "Not affected"),
            ("spectre_v2", "Mitigation: Enhanced IBRS"),
            ("mds", "Not affected"),
        ];
        let microcode = if self.fault == Some(Fault::Microcode) { "0x2b" } else { "0x2c" };
        Host {
            cpu: Some(self.kind.cpu.into()),
            architecture: Some("x86_64".into()),
            kernel: Some(format!("{} #1 SMP", self.kind.kernel)),
            microcode: Some(microcode.into()),
            clock_ghz: Some(self.kind.clock_ghz * self.by(Fault::Clock, 0.8)),
            mitigations: mitigations.map(|(name, state)| (name.into(), state.into())).into(),
            allowed_cpus: (0..self.kind.cores).collect(),
            date: Some(format!("2026-11-24T10:{minute:02}:{second:02}Z")),
            coho_version: Some("0.1.0".into()),
            ..Host::default()
        }
    }

    fn topology(&self) -> Topology {
        let Kind { packages, cores, per_l3, .. } = *self.kind;
        let runs = |of: u32| (0..cores / of).map(move |i| (i, (i * of..(i + 1) * of).collect::<CpuSet>()));
        let unit = |(id, cpus)| Unit { id: Some(id), cpus };
        let cache = |level, kind, size_bytes, of| {
            runs(of).map(move |(_, cpus)| Cache {
                level,
                kind,
                size_bytes,
                line_bytes: Some(64),
                ways: Some(8),
                cpus,
            })
        };
        let nodes = runs(cores / packages).map(|(os, cpus)| NumaNode {
            os,
            cpus,
            unseen: CpuSet::new(),
            memory_bytes: Some(64 << 30),
            distances: (0..packages).map(|other| if other == os { 10 } else { 21 }).collect(),
        });
        let first = cache(1, CacheKind::Data, 32 << 10, 1).chain(cache(2, CacheKind::Unified, 1 << 20, 1));
        Topology {
            pus: (0..cores).map(|os| Pu { os, apic_id: Some(os), name: format!("C{os}") }).collect(),
            packages: runs(cores / packages).map(unit).collect(),
            cores: runs(1).map(unit).collect(),
            caches: first.chain(cache(3, CacheKind::Unified, 32 << 20, per_l3)).collect(),
            numa_nodes: nodes.collect(),
            ..Topology::default()
        }
    }

    fn method(&self) -> Method {
        Method { description: "Made, not measured.".into(), passes: 5, duration_s: 1.0, ..Method::default() }
    }

    fn coherence(&mut self) -> Coherence {
        let Kind { packages, cores, per_l3, steps_ns, .. } = *self.kind;
        let bad = (self.random.u32(..cores / 2), cores / 2 + self.random.u32(..cores / 2));
        let mut pairs = Vec::new();
        for a in 0..cores {
            for b in a + 1..cores {
                let shared = |of: u32| a / of == b / of;
                let (level, claimed) = match () {
                    () if shared(per_l3) => (0, "L3"),
                    () if shared(cores / packages) => (1, "package"),
                    () => (2, "system"),
                };
                let slow = if (a, b) == bad { self.by(Fault::Link, 2.5) } else { 1.0 };
                let ns = self.near(steps_ns[level] * slow);
                pairs.push(Pair {
                    claimed: Some(claimed.into()),
                    ..Pair::new(a, b, PairMethod::Turn, Home::A, ns)
                });
            }
        }
        let single = |cpu| {
            let (locked_ns, unlocked_ns) = (self.near(5.6), self.near(1.2));
            Single { cpu, name: String::new(), locked_ns, unlocked_ns }
        };
        let singles = (0..cores).map(single).collect();
        Coherence {
            method: self.method(),
            cpus: (0..cores).collect(),
            singles,
            pairs,
            ..Coherence::default()
        }
    }

    fn memory(&mut self) -> Memory {
        let slow = self.by(Fault::Bandwidth, 0.5);
        let mut rates = Vec::new();
        for (op, rate) in [(Operation::Write, 20e9), (Operation::Read, 28e9), (Operation::Copy, 16e9)] {
            for (shift, by) in [(14, 3.0), (18, 2.0), (22, 1.4), (26, 1.0)] {
                let bytes_per_s = Some(self.near(rate * by * slow));
                rates.push(MemoryRate {
                    op,
                    instruction: "avx2".into(),
                    bytes: 1 << shift,
                    threads: 1,
                    bytes_per_s,
                    ..MemoryRate::default()
                });
            }
        }
        let (by, slightly) = (self.by(Fault::Latency, 1.6), self.by(Fault::Slightly, 1.2));
        let latency = [(14, 1.3), (18, 4.0), (24, 14.0), (28, 95.0)].into_iter().map(|(shift, ns)| {
            let slightly = if shift == 28 { slightly } else { 1.0 };
            MemoryLatency {
                bytes: 1 << shift,
                ns: Some(self.near(ns * by * slightly)),
                ..MemoryLatency::default()
            }
        });
        let latency = latency.collect();
        Memory { method: self.method(), rates, latency, ..Memory::default() }
    }

    fn calls(&mut self) -> Calls {
        let by = self.by(Fault::Calls, 1.5);
        let calls = [
            ("getpid", 60.0),
            ("gettimeofday", 22.0),
            ("read(4096)", 310.0),
            ("write(4096)", 350.0),
            ("futex wake", 90.0),
        ];
        let call = |(name, ns): (&str, f64)| Call {
            name: name.into(),
            set: "syscalls".into(),
            ns: Some(self.near(ns * by)),
            ..Call::default()
        };
        let calls = calls.map(call).into();
        Calls { conditions: self.method(), calls, ..Calls::default() }
    }

    fn sync(&mut self) -> Sync {
        let threads = self.kind.cores;
        let barriers =
            [("fbs", 1.0), ("dissemination", 1.3), ("central", 2.4), ("lock", 6.0)].map(|(algorithm, by)| {
                let ns = self.near(self.kind.steps_ns[2] * by * f64::from(threads.ilog2() + 1));
                BarrierTime {
                    algorithm: algorithm.into(),
                    threads,
                    mapping: "sequential".into(),
                    ns: Some(ns),
                    ..BarrierTime::default()
                }
            });
        Sync { method: self.method(), barriers: barriers.into(), ..Sync::default() }
    }
}
