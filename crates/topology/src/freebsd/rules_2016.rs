//! The rules of FreeBSD of 2016 and later (sys/x86/x86/mp_x86.c, read at freebsd-src 00bc7bb).
//!
//! CPUID of the booting CPU gives, for packages, nodes, caches and cores, how many low bits of an APIC id distinguish
//! their members. The kernel grows a tree from the ids, and makes scheduling groups of its caches and nodes. What it
//! learns from an MSR (the nodes of a package on CPUs without leaf 0x8000001E) cannot be in a dump; one node is
//! assumed.

use super::apic::{CMP, Machine, TOPOLOGY_EXTENSIONS, Vendor, mask_width, shifted};
use super::{Flag, Group, Spec};
use crate::cpuid::Dump;
use crate::{CpuSet, Error};

pub(super) fn predict(dump: &Dump) -> Result<Spec, Error> {
    let machine = Machine::new(dump)?;
    // `cpu_topo` returns `smp_topo_none` before it looks at any cache.
    if let [_] = machine.ids[..] {
        return Ok(Spec { root: Group { cpus: CpuSet::up_to(1), ..Group::default() } });
    }
    let shifts = Shifts::probe(&machine);
    // The booting CPU's branch comes first at every layer; CPUs are numbered in the order of the tree.
    let layers = shifts.layers();
    let mut ids = machine.ids.clone();
    ids.sort_by_key(|&id| {
        let at_layer = |&(_, shift): &(Kind, u32)| {
            let branch = shifted(id, shift);
            (branch != shifted(machine.boot, shift), branch)
        };
        layers.iter().map(at_layer).collect::<Vec<_>>()
    });
    let system = tree(Kind::System, 0, &ids, &layers);
    Ok(Spec { root: sched_group(&system) })
}

/// How many bits of an APIC id lie below each kind of unit.
#[derive(Default)]
struct Shifts {
    package: u32,
    /// 0 if packages are not divided.
    node: u32,
    core: u32,
    /// L1 to L3, if present.
    caches: [Option<u32>; 3],
}

/// CPUID 0x80000001 ECX, family, leaf and type numbers as in AMD's and Intel's manuals.
impl Shifts {
    fn probe(machine: &Machine<'_>) -> Self {
        let mut shifts = Self::default();
        match machine.vendor {
            Vendor::Amd | Vendor::Hygon => shifts.amd(machine),
            Vendor::Intel => {
                match machine.highest() {
                    0xb.. => shifts.intel_leaf_b(machine),
                    _ => shifts.intel_leaf_4(machine),
                }
                if machine.highest() >= 4 {
                    shifts.deterministic_caches(machine, 4);
                }
            }
            Vendor::Other => {}
        }
        shifts
    }

    fn amd(&mut self, machine: &Machine<'_>) {
        let features = machine.amd_features();
        if features & CMP == 0 {
            return;
        }
        let size = machine.query(0x8000_0008, 0).ecx;
        self.package = match size >> 12 & 0xf {
            0 => mask_width((size & 0xff) + 1).unwrap_or(0),
            bits => bits,
        };
        if features & TOPOLOGY_EXTENSIONS == 0 {
            self.amd_legacy_caches(machine);
            return;
        }
        // Before family 16h the field means cores of a compute unit, which the kernel ignores.
        if machine.family() >= 0x16 {
            let unit = machine.query(0x8000_001e, 0);
            self.core = mask_width((unit.ebx >> 8 & 0xff) + 1).unwrap_or(0);
            let node_bits = mask_width((unit.ecx >> 8 & 7) + 1).unwrap_or(0);
            self.node = self.package.saturating_sub(node_bits);
        }
        self.deterministic_caches(machine, 0x8000_001d);
    }

    /// Assumes that L1 and L2 are private and that an L3 belongs to the package.
    fn amd_legacy_caches(&mut self, machine: &Machine<'_>) {
        let (l1, l2_l3) = (machine.query(0x8000_0005, 0), machine.query(0x8000_0006, 0));
        self.caches[0] = (l1.ecx >> 24 != 0).then_some(0);
        self.caches[1] = (l2_l3.ecx >> 16 != 0).then_some(0);
        self.caches[2] = (l2_l3.edx >> 18 != 0).then_some(self.package);
    }

    fn intel_leaf_4(&mut self, machine: &Machine<'_>) {
        const HTT: u32 = 1 << 28;
        let leaf_1 = machine.query(1, 0);
        let max_threads = if leaf_1.edx & HTT != 0 { leaf_1.ebx >> 16 & 0xff } else { 1 };
        if max_threads <= 1 {
            return;
        }
        let max_cores = if machine.highest() >= 4 { (machine.query(4, 0).eax >> 26) + 1 } else { 1 };
        self.core = mask_width(max_threads / max_cores).unwrap_or(0);
        self.package = self.core + mask_width(max_cores).unwrap_or(0);
    }

    fn intel_leaf_b(&mut self, machine: &Machine<'_>) {
        if machine.query(0xb, 0).ebx == 0 {
            return self.intel_leaf_4(machine);
        }
        for subleaf in 0..8 {
            let level = machine.query(0xb, subleaf);
            match level.ecx >> 8 & 0xff {
                0 => break,
                1 => self.core = level.eax & 0x1f,
                2 => self.package = level.eax & 0x1f,
                _ => {}
            }
        }
        self.core = self.core.min(self.package);
    }

    /// Leaf 4 or AMD's equivalent.
    fn deterministic_caches(&mut self, machine: &Machine<'_>, leaf: u32) {
        for subleaf in 0..16 {
            let eax = machine.query(leaf, subleaf).eax;
            let (kind, level) = (eax & 0x1f, (eax >> 5 & 7) as usize);
            match kind {
                0 => break,
                1 | 3 if (1..=3).contains(&level) => {
                    let shift = mask_width((eax >> 14 & 0xfff) + 1).unwrap_or(0);
                    self.caches[level - 1] = Some(shift.min(self.package).max(self.core));
                }
                // Instruction caches, and values that the kernel warns about.
                _ => {}
            }
        }
    }

    /// From the package inwards.
    fn layers(&self) -> Vec<(Kind, u32)> {
        let mut layers = vec![(Kind::Other, self.package)];
        if self.node != 0 && self.node < self.package {
            layers.push((Kind::Node, self.node));
        }
        for (level, shift) in [3, 2, 1].into_iter().zip(self.caches.iter().rev()) {
            layers.extend(shift.map(|shift| (Kind::Cache(level), shift)));
        }
        if self.package > self.core {
            layers.push((Kind::Core, self.core));
        }
        layers.push((Kind::Other, 0));
        layers
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    System,
    Node,
    Cache(u8),
    Core,
    /// Packages and CPUs, of which no groups are made.
    Other,
}

struct Unit {
    kind: Kind,
    cpus: CpuSet,
    children: Vec<Unit>,
}

/// Grows the tree of `ids`, in which the members of a unit are adjacent; the first has CPU number `first`.
fn tree(kind: Kind, first: usize, ids: &[u32], layers: &[(Kind, u32)]) -> Unit {
    let cpus = (first..first + ids.len()).map(|cpu| cpu as u32).collect();
    let mut children = Vec::new();
    if let [(inner, shift), layers @ ..] = layers {
        let mut next = first;
        for members in ids.chunk_by(|&a, &b| shifted(a, *shift) == shifted(b, *shift)) {
            children.push(tree(*inner, next, members, layers));
            next += members.len();
        }
    }
    Unit { kind, cpus, children }
}

fn sched_group(unit: &Unit) -> Group {
    let own_level = match unit.kind {
        Kind::Cache(level) => level,
        _ => 0,
    };
    let mut flags = Vec::new();
    // Several CPUs at a cache, but not several cores: threads.
    if own_level != 0 && unit.cpus.len() > 1 && cores(unit) < 2 {
        flags = vec![Flag::Thread, Flag::Smt];
    }
    let mut inside = Inside { level: own_level, tops: Vec::new() };
    inside.search(unit, &unit.cpus);
    let Inside { level, tops } = inside;
    let alone = tops.len() == unit.cpus.len();
    let children = if alone { Vec::new() } else { tops.into_iter().map(sched_group).collect() };
    Group { cache_level: level, cpus: unit.cpus.clone(), flags, children }
}

fn cores(unit: &Unit) -> usize {
    match unit.kind {
        Kind::Core => 1,
        _ => unit.children.iter().map(cores).sum(),
    }
}

/// The contents of a group's unit.
struct Inside<'a> {
    /// The level of the outermost cache of the same CPUs.
    level: u8,
    /// The outermost nodes and caches of fewer CPUs.
    tops: Vec<&'a Unit>,
}

impl<'a> Inside<'a> {
    fn search(&mut self, unit: &'a Unit, cpus: &CpuSet) {
        for child in &unit.children {
            match child.kind {
                Kind::Cache(level) if child.cpus == *cpus => {
                    self.level = self.level.max(level);
                    self.search(child, cpus);
                }
                Kind::Cache(_) | Kind::Node if child.cpus != *cpus => self.tops.push(child),
                _ => self.search(child, cpus),
            }
        }
    }
}
