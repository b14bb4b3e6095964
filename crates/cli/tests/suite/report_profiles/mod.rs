//! Profiles made up by code, for tests of what shows profiles.

pub mod acts;
pub mod calls;
pub mod sync;

use std::collections::BTreeMap;

use coho_profile::{
    Coherence, CoherenceTime, Estimate, Home, Host, LineState, Method, Mode, Pair, PairMethod, Profile,
    Single, StateRead, Timeline, TimelineSample, TopologySection,
};
use coho_topology::{Cache, CacheKind, CpuSet, NumaNode, Pu, Topology, Unit};

/// Text that tries to end a script, open a tag, close an attribute, load from elsewhere and steer a terminal.
pub const HOSTILE: &str = "</script><script>document.title='owned'</script><img src=http://example.invalid/x \
                           onerror=alert(1)>\"'><a href=\"http://example.invalid\">&amp;\u{1b}[31m";

/// A machine of equal packages, L3 groups, cores and threads, numbered as Linux does: second threads behind all first.
pub struct Shape {
    pub packages: u32,
    pub l3s: u32,
    pub cores: u32,
    pub threads: u32,
}

impl Shape {
    fn all_cores(&self) -> u32 {
        self.packages * self.l3s * self.cores
    }

    pub fn cpus(&self) -> u32 {
        self.all_cores() * self.threads
    }

    /// Core, L3 and package of a CPU.
    fn place(&self, cpu: u32) -> (u32, u32, u32) {
        let core = cpu % self.all_cores();
        (core, core / self.cores, core / (self.cores * self.l3s))
    }

    fn sets(&self, of: impl Fn(u32) -> u32) -> Vec<CpuSet> {
        let count = (0..self.cpus()).map(&of).max().map_or(0, |last| last + 1);
        (0..count).map(|group| (0..self.cpus()).filter(|&cpu| of(cpu) == group).collect()).collect()
    }

    fn topology(&self) -> Topology {
        let units = |sets: Vec<CpuSet>| -> Vec<Unit> {
            sets.into_iter().enumerate().map(|(id, cpus)| Unit { id: Some(id as u32), cpus }).collect()
        };
        let l3 = |cpus| Cache {
            level: 3,
            kind: CacheKind::Unified,
            size_bytes: 32 << 20,
            line_bytes: Some(64),
            ways: Some(16),
            cpus,
        };
        let node = |(os, cpus): (usize, CpuSet)| NumaNode { os: os as u32, cpus, ..NumaNode::default() };
        let mut topology = Topology {
            pus: (0..self.cpus()).map(|os| Pu { os, ..Pu::default() }).collect(),
            packages: units(self.sets(|cpu| self.place(cpu).2)),
            cores: units(self.sets(|cpu| self.place(cpu).0)),
            caches: self.sets(|cpu| self.place(cpu).1).into_iter().map(l3).collect(),
            numa_nodes: self.sets(|cpu| self.place(cpu).2).into_iter().enumerate().map(node).collect(),
            ..Topology::default()
        };
        topology.finish();
        topology
    }

    /// The claimed level that two CPUs share and its time in ns, by `turn`.
    fn claimed(&self, a: u32, b: u32) -> (&'static str, f64) {
        let (a, b) = (self.place(a), self.place(b));
        match () {
            () if a.0 == b.0 => ("core", 8.0),
            () if a.1 == b.1 => ("L3", 24.0),
            () if a.2 == b.2 => ("package", 96.0),
            () => ("system", 205.0),
        }
    }
}

/// A value with a little noise that is the same in every run.
fn noisy(value: f64, a: u32, b: u32) -> f64 {
    let mixed = (u64::from(a) * 0x9E37_79B9 + u64::from(b) * 0x85EB_CA6B).wrapping_mul(0xC2B2_AE35) >> 11;
    value * (0.96 + (mixed % 1000) as f64 / 1000.0 * 0.08)
}

fn estimate(median: f64) -> Estimate {
    let modes = vec![Mode { value: median, share: 1.0 }];
    Estimate {
        median,
        low: median * 0.99,
        high: median * 1.01,
        min: median * 0.97,
        n: 44,
        modes,
        stable: Some(true),
        ..Estimate::exact(median)
    }
}

/// The profile of a machine of a shape, measured by these methods.
pub fn profile(shape: &Shape, kinds: &[(PairMethod, Home)]) -> Profile {
    profile_of(shape, kinds, |_, _| true)
}

/// The same with the pairs that `measured` chooses.
fn profile_of(shape: &Shape, kinds: &[(PairMethod, Home)], measured: impl Fn(u32, u32) -> bool) -> Profile {
    let mut pairs = Vec::new();
    for &(method, home) in kinds {
        let scale = match method {
            PairMethod::Flags => 1.9,
            PairMethod::FreeRunning => 0.35,
            PairMethod::Turn | PairMethod::Unknown => 1.0,
        };
        for a in 0..shape.cpus() {
            for b in (a + 1..shape.cpus()).filter(|&b| measured(a, b)) {
                let (claimed, ns) = shape.claimed(a, b);
                pairs.push(Pair {
                    claimed: Some(claimed.to_owned()),
                    ..Pair::new(a, b, method, home, estimate(noisy(ns * scale, a, b)))
                });
            }
        }
    }
    let topology = shape.topology();
    let name = |cpu: u32| topology.pu(cpu).map_or_else(String::new, |pu| pu.name.clone());
    let single = |cpu| Single {
        cpu,
        name: name(cpu),
        locked_ns: estimate(noisy(5.3, cpu, 0)),
        unlocked_ns: estimate(noisy(1.3, cpu, 1)),
    };
    let coherence = Coherence {
        method: method(),
        cpus: (0..shape.cpus()).collect(),
        singles: (0..shape.cpus().min(4)).map(single).collect(),
        reads: reads(shape),
        coherence_times: coherence_times(shape, &pairs, kinds),
        pairs,
        ..Coherence::default()
    };
    Profile {
        host: Some(host(shape)),
        topology: Some(TopologySection::from(topology)),
        coherence: Some(coherence),
        ..Profile::default()
    }
}

fn method() -> Method {
    Method {
        description: "Made up by a test; no machine was measured.".into(),
        parameters: BTreeMap::from([("seed".to_owned(), 7.into()), ("batch_us".to_owned(), 20.into())]),
        passes: 3,
        duration_s: 2.5,
        ..Method::default()
    }
}

fn host(shape: &Shape) -> Host {
    Host {
        cpu: Some("Made-up CPU".into()),
        architecture: Some("x86_64".into()),
        kernel: Some("Linux 6.1.0".into()),
        hypervisor: Some("KVM".into()),
        clock_ghz: Some(3.0),
        allowed_cpus: (0..shape.cpus()).collect(),
        date: Some("2025-01-01T00:00:00Z".into()),
        mitigations: BTreeMap::from([("retbleed".to_owned(), "Not affected".to_owned())]),
        not_available: BTreeMap::from([("governor".to_owned(), "no cpufreq in this machine".to_owned())]),
        ..Host::default()
    }
}

fn reads(shape: &Shape) -> Vec<StateRead> {
    let owners: Vec<u32> =
        [0, 1, shape.cores, shape.cores * shape.l3s].into_iter().filter(|&cpu| cpu < shape.cpus()).collect();
    let mut reads = Vec::new();
    for &owner in &owners {
        for state in [LineState::Modified, LineState::Exclusive, LineState::Shared] {
            for power in (14..=24).step_by(2) {
                let far = if owner == 0 { 0.0 } else { shape.claimed(0, owner).1 };
                let ns = 1.4 + far + f64::from(power - 14) * 3.0;
                reads.push(StateRead {
                    reader: 0,
                    owner,
                    state,
                    bytes: 1 << power,
                    home: Home::A,
                    ns: estimate(ns),
                });
            }
        }
    }
    reads
}

fn coherence_times(shape: &Shape, pairs: &[Pair], kinds: &[(PairMethod, Home)]) -> Vec<CoherenceTime> {
    let mut times = Vec::new();
    for &(method, _) in kinds {
        let mean = |claimed: &str| {
            let mine: Vec<f64> = pairs
                .iter()
                .filter(|pair| pair.method == method && pair.claimed.as_deref() == Some(claimed))
                .map(|pair| pair.ns.median)
                .collect();
            (!mine.is_empty()).then(|| (mine.iter().sum::<f64>() / mine.len() as f64, mine.len() as u64))
        };
        let baseline = if shape.threads > 1 { mean("core").map_or(5.3, |(ns, _)| ns) } else { 5.3 };
        for (claimed, class) in [("L3", "on-die"), ("package", "package"), ("system", "1-hop")] {
            let Some((mean_ns, pairs)) = mean(claimed) else { continue };
            let coherence_ns = (mean_ns - baseline).max(0.0);
            times.push(CoherenceTime {
                class: class.to_owned(),
                method,
                mean_ns,
                baseline_ns: baseline,
                baseline: if shape.threads > 1 { "smt pair" } else { "locked single CPU" }.to_owned(),
                coherence_ns,
                interval_ns: None,
                coherence_cycles: Some(coherence_ns * 3.0),
                pairs,
            });
        }
    }
    times
}

/// The 2 CPUs of a small virtual machine.
pub fn two_cpus() -> Profile {
    let shape = Shape { packages: 1, l3s: 1, cores: 2, threads: 1 };
    profile(&shape, &[(PairMethod::Turn, Home::Unknown), (PairMethod::FreeRunning, Home::Unknown)])
}

/// The same, jumping between two values and contradicting a claim.
pub fn two_modes() -> Profile {
    let mut profile = two_cpus();
    let coherence = profile.coherence.as_mut().expect("a section");
    let modes = vec![Mode { value: 24.0, share: 0.7 }, Mode { value: 113.0, share: 0.3 }];
    let sample = |i: u32| TimelineSample {
        at_s: f64::from(i) * 0.05,
        ns: noisy(if (100..160).contains(&i) { 113.0 } else { 24.0 }, i, 3),
    };
    coherence.timeline = Some(Timeline {
        a: 0,
        b: 1,
        method: PairMethod::Turn,
        samples: (0..200).map(sample).collect(),
        change_points_s: vec![5.0, 8.0],
        modes: modes.clone(),
    });
    coherence.pairs[0].ns.modes = modes;
    coherence.pairs[0].ns.stable = Some(false);
    profile
}

/// The 512 CPUs of a large server, in two packages: all pairs by one method, those of the first CPU by two more.
pub fn many_cpus() -> Profile {
    let shape = Shape { packages: 2, l3s: 16, cores: 8, threads: 2 };
    let others = [(PairMethod::Turn, Home::B), (PairMethod::FreeRunning, Home::Unknown)];
    let mut all = profile(&shape, &[(PairMethod::Turn, Home::A)]);
    let more = profile_of(&shape, &others, |a, _| a == 0);
    let (all_coherence, more) =
        (all.coherence.as_mut().expect("a section"), more.coherence.expect("a section"));
    all_coherence.pairs.extend(more.pairs);
    all_coherence.coherence_times.extend(more.coherence_times);
    all
}

/// The same by three methods, but only pairs of the first CPU: as wide a matrix in a small file.
pub fn many_cpus_sparse() -> Profile {
    let shape = Shape { packages: 2, l3s: 16, cores: 8, threads: 2 };
    let kinds =
        [(PairMethod::Turn, Home::A), (PairMethod::Turn, Home::B), (PairMethod::FreeRunning, Home::Unknown)];
    profile_of(&shape, &kinds, |a, _| a == 0)
}

/// 16 CPUs whose every text tries to do harm.
pub fn hostile() -> Profile {
    let shape = Shape { packages: 2, l3s: 1, cores: 4, threads: 2 };
    let mut profile = profile(&shape, &[(PairMethod::Turn, Home::Unknown)]);
    let text = || HOSTILE.to_owned();
    let host = profile.host.as_mut().expect("a section");
    (host.cpu, host.kernel, host.date) = (Some(text()), Some(text()), Some(text()));
    host.not_available.insert(text(), text());
    host.mitigations.insert(text(), text());
    host.limits.insert(text(), text());
    let topology = &mut profile.topology.as_mut().expect("a section").topology;
    for pu in &mut topology.pus {
        pu.name = format!("{}{}", pu.os, HOSTILE);
    }
    let coherence = profile.coherence.as_mut().expect("a section");
    coherence.method.description = text();
    coherence.method.parameters.insert(text(), HOSTILE.into());
    coherence.method.not_available.insert(text(), text());
    coherence.notes.push(text());
    coherence.coherence_times[0].class = text();
    for pair in coherence.pairs.iter_mut().take(9) {
        pair.claimed = Some(text());
        pair.ns.modes.push(Mode { value: f64::MAX, share: -1.0 });
    }
    coherence.pairs[20].ns.median = f64::MAX;
    coherence.pairs[21].ns.median = -1.0;
    acts::hostile(&mut profile, HOSTILE);
    calls::hostile(&mut profile, HOSTILE);
    sync::hostile(&mut profile, HOSTILE);
    profile
}
