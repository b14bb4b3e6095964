//! The one description of a machine that every source is decoded into.

use std::fmt;

use crate::disagreement::Disagreement;
use crate::{CpuSet, plain, sharing};

/// What a machine says it is: its units, caches, NUMA nodes and CPU kinds, and which source said so.
///
/// Every list is ordered by the first CPU of its members. A level that the sources do not report, or that coincides
/// with the packages (one die in each), is an empty list, never an invented one; only `numa_nodes` and `packages`
/// always hold at least one entry, as in hwloc.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Topology {
    /// The processor's identity.
    pub cpu: CpuIdentity,
    /// The processing units (hardware threads) that are online, by operating-system number.
    pub pus: Vec<Pu>,
    /// CPUs that exist but are offline.
    pub offline: CpuSet,
    /// Sockets.
    pub packages: Vec<Unit>,
    /// Dies (CPUID type "die", AMD core complex dies) if a package has several.
    pub dies: Vec<Unit>,
    /// Compute units: AMD family 15h's modules of two cores, Intel's modules (CPUID leaf 0x1F).
    pub modules: Vec<Unit>,
    /// Cores; family 15h's count one for each integer cluster, as AMD counts them.
    pub cores: Vec<Unit>,
    /// Every cache, level by level.
    pub caches: Vec<Cache>,
    /// Memory nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// Kinds of cores on a hybrid processor; empty if all are alike.
    pub kinds: Vec<CoreKind>,
    /// Which source each fact came from.
    pub facts: Vec<Fact>,
    /// Where two sources contradict each other.
    pub disagreements: Vec<Disagreement>,
    /// What could not be read from the source, or shows only part of the machine; one sentence each.
    pub notes: Vec<String>,
}

/// Vendor, brand and the numbers that name a processor model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct CpuIdentity {
    /// CPUID's vendor string (`AuthenticAMD`), or an ARM implementer's name.
    pub vendor: Option<String>,
    /// The brand string, blanks trimmed.
    pub brand: Option<String>,
    /// Family, extended family added.
    pub family: Option<u32>,
    /// Model, extended model added.
    pub model: Option<u32>,
    /// Stepping.
    pub stepping: Option<u32>,
    /// The hypervisor's CPUID signature, if one announces itself.
    pub hypervisor: Option<String>,
}

/// A processing unit: what the operating system calls a CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pu {
    /// The operating system's number.
    pub os: u32,
    /// The (x2)APIC id, if known.
    pub apic_id: Option<u32>,
    /// The name used in the papers: `C0` on a machine with one package, otherwise `P0.C0`; `.T1` is added if a core has
    /// several threads. Packages and cores are counted in the order of their first CPUs, cores within their package.
    pub name: String,
}

/// A set of CPUs that form a package, die, module or core.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unit {
    /// The number that the source gives it (a physical id), unique only within its parent.
    pub id: Option<u32>,
    /// Its online CPUs.
    pub cpus: CpuSet,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// A cache and the CPUs that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 for L1.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Capacity in bytes; 0 if the source does not give it.
    pub size_bytes: u64,
    /// Line size in bytes, if known.
    pub line_bytes: Option<u32>,
    /// Associativity in ways, if known; 0 means fully associative.
    pub ways: Option<u32>,
    /// The online CPUs that share it.
    pub cpus: CpuSet,
}

/// A NUMA node and the CPUs near it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NumaNode {
    /// The operating system's (or AMD's) node number.
    pub os: u32,
    /// Its online CPUs; empty for a node with memory only, and for one whose CPUs are all unseen.
    pub cpus: CpuSet,
    /// CPUs that belong to the node but are offline, or hidden from whoever recorded it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "CpuSet::is_empty"))]
    pub unseen: CpuSet,
    /// Memory in bytes, if known.
    pub memory_bytes: Option<u64>,
    /// Distances (ACPI SLIT, 10 is local) to every node in the order of [`Topology::numa_nodes`]; empty if not known.
    pub distances: Vec<u32>,
}

/// A kind of core on a hybrid processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreKind {
    /// `IntelAtom`, `IntelCore`, `AmdPerformance`, `AmdEfficiency`, or the source's own name.
    pub name: String,
    /// Its online CPUs.
    pub cpus: CpuSet,
}

/// Where a fact was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Source {
    /// The CPUID instruction, live or from a dump.
    Cpuid,
    /// Linux's /sys/devices/system, live or a copied tree.
    Sysfs,
    /// An hwloc XML file.
    HwlocXml,
    /// FreeBSD's `kern.sched.topology_spec`.
    FreebsdSpec,
    /// Times between CPUs, in place of what another source claims.
    Measured,
    /// No source says; the least that is always true was assumed.
    Assumed,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpuid => "CPUID",
            Self::Sysfs => "sysfs",
            Self::HwlocXml => "hwloc XML",
            Self::FreebsdSpec => "FreeBSD topology_spec",
            Self::Measured => "measured",
            Self::Assumed => "assumed",
        })
    }
}

/// One level of the topology, as sources report it and disagree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Level {
    /// Single CPUs (hardware threads), which share nothing.
    Pu,
    /// The hyper-threads of a core.
    Core,
    /// Compute units of several cores.
    Module,
    /// CPUs with one L1 data cache.
    L1,
    /// CPUs with one L2 cache.
    L2,
    /// CPUs with one L3 cache.
    L3,
    /// CPUs with one L4 cache.
    L4,
    /// The CPUs of a NUMA node.
    Numa,
    /// The CPUs of a die, in packages of several.
    Die,
    /// The CPUs of a socket.
    Package,
    /// CPUs of one kind on a hybrid processor, whatever they share.
    Kind,
}

impl Level {
    /// The levels that bring CPUs nearer to each other, from the inside outwards: the one order of levels.
    pub const OUTWARD: [Self; 7] =
        [Self::Core, Self::Module, Self::L2, Self::L3, Self::Die, Self::Numa, Self::Package];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pu => "PU",
            Self::Core => "core",
            Self::Module => "module",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::Numa => "NUMA node",
            Self::Die => "die",
            Self::Package => "package",
            Self::Kind => "core kind",
        })
    }
}

/// Which source a level came from, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// The level.
    pub level: Level,
    /// The source.
    pub source: Source,
    /// The leaf, file or element, and any caveat: `CPUID 0x8000001E EBX[15:8]`.
    pub by: String,
}

/// How many objects of each level there are. A level that is not known counts 0, and so do dies if each package has
/// only one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Sockets.
    pub package: usize,
    /// Dies.
    pub die: usize,
    /// NUMA nodes, those without CPUs included.
    pub numa: usize,
    /// L3 caches.
    pub l3: usize,
    /// L2 caches for data, or for both data and instructions.
    pub l2: usize,
    /// Compute units of several cores.
    pub module: usize,
    /// Cores.
    pub core: usize,
    /// Online CPUs (hardware threads).
    pub pu: usize,
}

impl Topology {
    /// Whether a level is there only because something had to be assumed.
    pub(crate) fn assumes(&self, level: Level) -> bool {
        self.facts.iter().any(|fact| fact.level == level && fact.source == Source::Assumed)
    }

    /// The online CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.pus.iter().map(|pu| pu.os).collect()
    }

    /// The processing unit with this operating-system number.
    pub fn pu(&self, os: u32) -> Option<&Pu> {
        self.pus.iter().find(|pu| pu.os == os)
    }

    /// The number of objects of each kind.
    pub fn counts(&self) -> Counts {
        Counts {
            package: self.packages.len(),
            die: self.dies.len(),
            numa: self.numa_nodes.len(),
            l3: self.partition(Level::L3).len(),
            l2: self.partition(Level::L2).len(),
            module: self.modules.len(),
            core: self.cores.len(),
            pu: self.pus.len(),
        }
    }

    /// The sets of CPUs that form the objects of a level, ordered by first CPU. L1 means the data caches; cache
    /// levels above mean the data or unified ones.
    pub fn partition(&self, level: Level) -> Vec<&CpuSet> {
        fn sets(units: &[Unit]) -> Vec<&CpuSet> {
            units.iter().map(|unit| &unit.cpus).collect()
        }
        match level {
            Level::Pu => Vec::new(),
            Level::Package => sets(&self.packages),
            Level::Die => sets(&self.dies),
            Level::Module => sets(&self.modules),
            Level::Core => sets(&self.cores),
            Level::L1 => self.cache_sets(1),
            Level::L2 => self.cache_sets(2),
            Level::L3 => self.cache_sets(3),
            Level::L4 => self.cache_sets(4),
            Level::Numa => self.numa_nodes.iter().map(|node| &node.cpus).collect(),
            Level::Kind => self.kinds.iter().map(|kind| &kind.cpus).collect(),
        }
    }

    fn cache_sets(&self, level: u8) -> Vec<&CpuSet> {
        let data = |cache: &&Cache| cache.level == level && cache.kind != CacheKind::Instruction;
        self.caches.iter().filter(data).map(|cache| &cache.cpus).collect()
    }

    /// The smallest level whose object holds both CPUs: core for SMT siblings, then module, L2, L3, die, NUMA node and
    /// package; `None` if no object holds both (different packages). [`Sharing`](crate::Sharing) answers it for many
    /// pairs.
    pub fn closest_shared(&self, a: u32, b: u32) -> Option<Level> {
        let both = |set: &&CpuSet| set.contains(a) && set.contains(b);
        Level::OUTWARD.into_iter().find(|&level| self.partition(level).iter().any(both))
    }

    /// What the topology claims that both CPUs share: `core`, `L3`, `package`, …; `system` if no object holds both.
    pub fn claimed(&self, a: u32, b: u32) -> String {
        sharing::claimed(self.closest_shared(a, b))
    }

    /// Names every PU as in the papers, puts every list in the order of first CPUs and drops control characters from
    /// every text, so that none controls a terminal. Each decoder ends with this call.
    pub fn finish(&mut self) {
        plain::topology(self);
        self.pus.sort_by_key(|pu| pu.os);
        for units in [&mut self.packages, &mut self.dies, &mut self.modules, &mut self.cores] {
            units.sort_by(|a, b| a.cpus.cmp(&b.cpus));
        }
        self.caches.sort_by(|a, b| (a.level, a.kind, &a.cpus).cmp(&(b.level, b.kind, &b.cpus)));
        self.kinds.sort_by(|a, b| a.cpus.cmp(&b.cpus));
        self.name_pus();
    }

    fn name_pus(&mut self) {
        let mut core_in_package = vec![0; self.packages.len()];
        let mut names = std::collections::HashMap::new();
        for core in &self.cores {
            let first = core.cpus.first();
            let package = self.packages.iter().position(|p| first.is_some_and(|cpu| p.cpus.contains(cpu)));
            let index = package.map_or(0, |package| {
                core_in_package[package] += 1;
                core_in_package[package] - 1
            });
            let prefix = match package {
                Some(package) if self.packages.len() > 1 => format!("P{package}.C{index}"),
                _ => format!("C{index}"),
            };
            let threads = core.cpus.len();
            for (thread, cpu) in core.cpus.iter().enumerate() {
                let name = if threads > 1 { format!("{prefix}.T{thread}") } else { prefix.clone() };
                names.insert(cpu, name);
            }
        }
        for pu in &mut self.pus {
            pu.name = names.remove(&pu.os).unwrap_or_else(|| format!("CPU{}", pu.os));
        }
    }
}
