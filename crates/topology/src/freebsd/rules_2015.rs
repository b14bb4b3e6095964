//! The rules of FreeBSD-CURRENT r281991 (sys/amd64/amd64/mp_machdep.c), and the article's changes to them.
//!
//! The kernel counts the cores and threads of the booting CPU's package, assumes that all packages are alike, and forms
//! leaves of consecutive CPU numbers; it never looks at caches.

use super::apic::{CMP, Machine, Vendor, mask_width};
use super::{Flag, Group, Spec};
use crate::cpuid::Dump;
use crate::{CpuSet, Error};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Stock,
    Patched,
}

pub(super) fn predict(dump: &Dump, kernel: Kernel) -> Result<Spec, Error> {
    let machine = Machine::new(dump)?;
    let probe = Probe::of(&machine, kernel);
    Ok(Spec { root: probe.tree(machine.ids.len(), kernel) })
}

/// The tree of `kern.smp.topology=5`: two pairs to a group, whatever the machine is (subr_smp.c, `smp_topo`).
pub(super) fn control(cpus: usize) -> Result<Spec, Error> {
    if cpus == 0 || !cpus.is_multiple_of(4) {
        let message = format!(
            "kern.smp.topology=5 makes groups of four CPUs, into which {cpus} CPUs cannot be divided"
        );
        return Err(Error::new(message));
    }
    let shape = |cache_level, count, inner| Shape { cache_level, count, flags: vec![], inner };
    let groups = shape(0, 4, Some(Box::new(shape(2, 2, None))));
    Ok(Spec { root: group(0, 0..cpus, vec![], &[groups]) })
}

/// What the kernel knows about a package: cores in it, threads in a core.
#[derive(Clone, Copy)]
struct Probe {
    cores: usize,
    threads: usize,
    /// Leaf 4 marks the threads as HyperThreading; leaf 0xB marks them as SMT.
    hyper_threading: bool,
}

const UNKNOWN: Probe = Probe { cores: 1, threads: 1, hyper_threading: false };

impl Probe {
    fn of(machine: &Machine<'_>, kernel: Kernel) -> Self {
        let probe = match machine.vendor {
            _ if machine.ids.len() <= 1 => UNKNOWN,
            Vendor::Amd => Self::amd(machine, kernel),
            Vendor::Intel if machine.highest() >= 0xb => Self::intel_leaf_b(machine),
            Vendor::Intel => Self::intel_leaf_4(machine),
            Vendor::Hygon | Vendor::Other => UNKNOWN,
        };
        if probe.cores == 0 || probe.threads == 0 { UNKNOWN } else { probe }
    }

    fn amd(machine: &Machine<'_>, kernel: Kernel) -> Self {
        if machine.amd_features() & CMP == 0 {
            return UNKNOWN;
        }
        let size = machine.query(0x8000_0008, 0).ecx;
        let core_bits = size >> 12 & 0xf;
        if core_bits == 0 {
            return Self { cores: (size & 0xff) as usize + 1, ..UNKNOWN };
        }
        let cores = machine.beside_boot(core_bits);
        match kernel {
            Kernel::Stock => Self { cores, ..UNKNOWN },
            // The patch assumes modules of two on every such processor, which is wrong for Llano (1) and Jaguar (4).
            Kernel::Patched => Self { cores: cores / 2, threads: 2, hyper_threading: false },
        }
    }

    fn intel_leaf_4(machine: &Machine<'_>) -> Self {
        const HTT: u32 = 1 << 28;
        let leaf_1 = machine.query(1, 0);
        let max_threads = if leaf_1.edx & HTT != 0 { leaf_1.ebx >> 16 & 0xff } else { 1 };
        if max_threads <= 1 {
            return UNKNOWN;
        }
        let max_cores = if machine.highest() >= 4 { (machine.query(4, 0).eax >> 26) + 1 } else { 1 };
        let (Some(core_shift), Some(core_bits)) =
            (mask_width(max_threads / max_cores), mask_width(max_cores))
        else {
            return UNKNOWN;
        };
        let threads = machine.beside_boot(core_shift);
        let cores = machine.beside_boot(core_shift + core_bits) / threads;
        Self { cores, threads, hyper_threading: true }
    }

    fn intel_leaf_b(machine: &Machine<'_>) -> Self {
        let (mut threads, mut cpus) = (0, 0);
        for subleaf in 0..3 {
            let level = machine.query(0xb, subleaf);
            if subleaf == 0 && level.ebx == 0 {
                return Self::intel_leaf_4(machine);
            }
            let (shift, kind) = (level.eax & 0x1f, level.ecx >> 8 & 0xff);
            if kind == 0 || level.ebx & 0xffff == 0 {
                break;
            }
            match kind {
                1 => threads = machine.beside_boot(shift),
                2 => cpus = machine.beside_boot(shift),
                _ => {}
            }
        }
        let threads = threads.max(1);
        Self { cores: cpus / threads, threads, hyper_threading: false }
    }

    fn tree(self, cpus: usize, kernel: Kernel) -> Group {
        let Self { cores, threads, hyper_threading } = self;
        let flags = match (threads > 1, hyper_threading) {
            (false, _) => vec![],
            (true, true) => vec![Flag::Htt, Flag::Thread],
            (true, false) => vec![Flag::Thread, Flag::Smt],
        };
        let leaf = |cache_level, count, flags| Shape { cache_level, count, flags, inner: None };
        // The kernel gives up on a machine of unequal packages ("Non-uniform processors").
        if cores * threads == 1 || !cpus.is_multiple_of(cores * threads) {
            return group(0, 0..cpus, vec![], &[]);
        }
        let shape = match (threads > 1, cores > 1) {
            (true, false) => leaf(1, threads, flags),
            (false, _) => leaf(2, cores, flags),
            (true, true) => {
                let (outer, inner) = if kernel == Kernel::Stock || hyper_threading { (2, 1) } else { (0, 2) };
                let inner = Some(Box::new(leaf(inner, threads, flags)));
                Shape { cache_level: outer, count: cores * threads, flags: vec![], inner }
            }
        };
        group(0, 0..cpus, vec![], &[shape])
    }
}

/// Groups that a group is divided into: of `count` CPUs each.
struct Shape {
    cache_level: u8,
    count: usize,
    flags: Vec<Flag>,
    inner: Option<Box<Shape>>,
}

fn group(cache_level: u8, cpus: std::ops::Range<usize>, flags: Vec<Flag>, divided: &[Shape]) -> Group {
    let child = |shape: &Shape, first: usize| {
        let inner = shape.inner.as_deref().map(std::slice::from_ref).unwrap_or_default();
        group(shape.cache_level, first..first + shape.count, shape.flags.clone(), inner)
    };
    let children = divided
        .iter()
        .flat_map(|shape| cpus.clone().step_by(shape.count).map(move |first| child(shape, first)))
        .collect();
    Group { cache_level, cpus: cpus.map(|cpu| cpu as u32).collect::<CpuSet>(), flags, children }
}
