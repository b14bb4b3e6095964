//! FreeBSD's `kern.sched.topology_spec`: the tree of CPU groups that its ULE scheduler works by.
//!
//! [`parse`] reads what `sysctl` prints (the writer is sys/kern/sched_ule.c), [`Spec::to_xml`] writes the same text,
//! and [`predict`] says what a kernel would print on a machine: FreeBSD r281991 ([`Variant::Stock`]), the same with the
//! patch of Kimoto's article of 2015 ([`Variant::Patched`]) or with a tunable that does half of what the patch does
//! ([`Variant::Control`]), the kernels of 2016 and later ([`Variant::Modern`]), or a tree that shows everything that is
//! known ([`Variant::Full`]).

mod apic;
mod full;
mod parse;
mod rules_2015;
mod rules_2016;
mod topology;
mod write;

use std::str::FromStr;

pub use parse::parse;
pub use topology::to_topology;

use crate::cpuid::Dump;
use crate::{CpuSet, Error, Level, Topology};

/// A tree of CPU groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The group of all CPUs.
    pub root: Group,
}

/// CPUs that share something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The level of the outermost cache that exactly these CPUs share; 0 for none.
    pub cache_level: u8,
    /// The CPUs, by FreeBSD's numbers.
    pub cpus: CpuSet,
    /// The group's flags, in the kernel's order.
    pub flags: Vec<Flag>,
    /// Groups inside.
    pub children: Vec<Group>,
}

/// A flag of a group (sys/sys/smp.h, `CG_FLAG_*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flag {
    /// `HTT`: HyperThreading before Nehalem.
    Htt,
    /// `THREAD`: the CPUs are threads of a core; printed with either of the next.
    Thread,
    /// `SMT`: simultaneous multithreading.
    Smt,
    /// `NODE`: a memory node.
    Node,
    /// No kernel's flag: coho's trees name by it what a kernel's cannot show.
    Object {
        /// What the CPUs form: a package, a die, a module or a cache.
        level: Level,
        /// Whether each CPU does by itself, rather than all together.
        each: bool,
    },
    /// A flag of a kernel that this version does not know, kept as it stands.
    Other {
        /// The flag's `name`.
        name: String,
        /// The text in the element.
        text: String,
    },
}

impl Flag {
    /// The `name` attribute.
    pub fn name(&self) -> &str {
        match self {
            Self::Htt => "HTT",
            Self::Thread => "THREAD",
            Self::Smt => "SMT",
            Self::Node => "NODE",
            Self::Object { level, each } => {
                object(*level).map_or("", |row| if *each { row.2 } else { row.1 })
            }
            Self::Other { name, .. } => name,
        }
    }

    /// The element's text.
    pub fn text(&self) -> &str {
        match self {
            Self::Htt => "HTT group",
            Self::Thread => "THREAD group",
            Self::Smt => "SMT group",
            Self::Node => "NUMA node",
            Self::Object { each: false, .. } => "all these CPUs",
            Self::Object { each: true, .. } => "each of these CPUs",
            Self::Other { text, .. } => text,
        }
    }

    /// The flag of this name and text.
    fn of(name: String, text: String) -> Self {
        let objects = OBJECTS.iter().flat_map(|(level, ..)| [false, true].map(|each| (*level, each)));
        let objects = objects.map(|(level, each)| Self::Object { level, each });
        let mut known = [Self::Htt, Self::Thread, Self::Smt, Self::Node].into_iter().chain(objects);
        known.find(|flag| flag.name() == name && flag.text() == text).unwrap_or(Self::Other { name, text })
    }
}

/// The levels that coho's own flags name, and these names: for all CPUs of a group, and for each.
const OBJECTS: [(Level, &str, &str); 7] = [
    (Level::Package, "PACKAGE", "EACH-PACKAGE"),
    (Level::Die, "DIE", "EACH-DIE"),
    (Level::Module, "MODULE", "EACH-MODULE"),
    (Level::L4, "L4", "EACH-L4"),
    (Level::L3, "L3", "EACH-L3"),
    (Level::L2, "L2", "EACH-L2"),
    (Level::L1, "L1", "EACH-L1"),
];

fn object(level: Level) -> Option<&'static (Level, &'static str, &'static str)> {
    OBJECTS.iter().find(|(known, ..)| *known == level)
}

/// Which kernel's tree to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// FreeBSD-CURRENT r281991 (2015), which the article started from.
    Stock,
    /// The same with the article's patch, which assumes that every AMD processor has modules of two cores.
    Patched,
    /// r281991 booted with the tunable `kern.smp.topology=5`: pairs of CPUs that share an L2, as the article's patch
    /// makes them, but not flagged as threads of a core.
    Control,
    /// FreeBSD of 2016 and later (sys/x86/x86/mp_x86.c).
    Modern,
    /// Not a kernel's tree: every package, die, NUMA node, module, cache and core of the topology. What a kernel's
    /// groups cannot show stands in flags of coho's own.
    Full,
}

impl FromStr for Variant {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "stock" => Ok(Self::Stock),
            "patched" => Ok(Self::Patched),
            "control" => Ok(Self::Control),
            "modern" => Ok(Self::Modern),
            "full" => Ok(Self::Full),
            _ => Err(Error::new(format!("'{text}' is none of stock, patched, control, modern, full"))),
        }
    }
}

/// What FreeBSD's `sysctl kern.sched.topology_spec` would print on a machine.
///
/// The kernels' own rules work from the raw CPUID answers, and number CPUs by APIC id, starting at the first CPU, as
/// the kernels would; [`Variant::Full`] keeps the topology's numbers. [`Variant::Control`] needs only the number of
/// CPUs.
///
/// # Errors
/// If a kernel's rules are wanted but there is no dump to apply them to, or it has no usable APIC ids; or if the
/// control is wanted for a machine that cannot be divided into its groups.
pub fn predict(variant: Variant, topology: &Topology, dump: Option<&Dump>) -> Result<Spec, Error> {
    let dump = || {
        dump.ok_or_else(|| {
            Error::new(
                "FreeBSD's own rules (stock, patched, modern) work from raw CPUID answers, which this source \
                 does not hold: give a CPUID dump, or take 'full'",
            )
        })
    };
    match variant {
        Variant::Stock => rules_2015::predict(dump()?, rules_2015::Kernel::Stock),
        Variant::Patched => rules_2015::predict(dump()?, rules_2015::Kernel::Patched),
        Variant::Control => rules_2015::control(topology.pus.len()),
        Variant::Modern => rules_2016::predict(dump()?),
        Variant::Full => Ok(full::spec(topology)),
    }
}
