//! The place of one CPU: which objects of the machine hold it.

use std::collections::{BTreeMap, BTreeSet};

use super::sizes::PlainCache;
use crate::{Cache, CacheKind, CpuSet, Level, Unit};

/// Names one object of a level in the machine. CPUs with equal keys are in the same object, so every level is a
/// partition; a key that begins with the parent's makes it nest.
pub(super) type Key = [u64; 4];

/// The part of a key that an APIC id gives after a shift. It includes the shift, so that CPUs that disagree on the
/// width of a field are never taken for neighbours.
pub(super) fn above(apic_id: u32, shift: u32) -> u64 {
    u64::from(shift) << 32 | u64::from(apic_id.checked_shr(shift).unwrap_or(0))
}

/// An object that holds a CPU, and the number the source gives it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) key: Key,
    pub(super) id: u32,
}

/// A cache as one of its CPUs describes it.
#[derive(Debug, Clone)]
pub(super) struct CacheOf {
    pub(super) level: u8,
    pub(super) kind: CacheKind,
    pub(super) size_bytes: u64,
    pub(super) line_bytes: u32,
    /// 0: fully associative.
    pub(super) ways: Option<u32>,
    pub(super) key: Key,
}

/// The kinds of cores that CPUID distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Leaf 0x1A's core type.
    Intel(u32),
    /// Leaf 0x80000026's core type.
    Amd(u32),
}

/// How many CPUs a CPU's package has.
#[derive(Debug, Clone, Copy)]
pub(super) enum PackageCpus {
    /// This many, as a topology leaf says.
    Exactly(u32),
    /// At most this many: as many ids are reserved.
    UpTo(u32),
}

/// Everything that a CPU's answers say about its place.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) os: u32,
    /// `None` if the processor is too old to report one.
    pub(super) apic_id: Option<u32>,
    pub(super) package: Member,
    pub(super) die: Option<Member>,
    pub(super) node: Option<u32>,
    pub(super) module: Option<Member>,
    pub(super) core: Member,
    /// No leaf tells cores: each CPU is taken as one.
    pub(super) core_is_assumed: bool,
    /// The level 3 of which no leaf tells who shares it, and which is not among the caches.
    pub(super) unshared_l3: Option<PlainCache>,
    pub(super) caches: Vec<CacheOf>,
    pub(super) kind: Option<Kind>,
    pub(super) package_cpus: PackageCpus,
    /// Which leaf each level comes from.
    pub(super) told_by: BTreeSet<(Level, &'static str)>,
}

impl Place {
    /// Makes the CPU a package of one core.
    pub(super) fn alone(&mut self) {
        let key = [u64::MAX, u64::from(self.os), 0, 0];
        let member = Member { key, id: self.os };
        (self.apic_id, self.package, self.core) = (None, member, member);
        self.caches.iter_mut().for_each(|cache| cache.key = key);
    }

    /// Adds the level 3 of unknown sharing as the CPU's own.
    pub(super) fn add_unshared_l3(&mut self) {
        if let Some(PlainCache { level, kind, size_bytes, line_bytes, ways }) = self.unshared_l3 {
            self.told_by.insert((Level::L3, "CPUID 0x80000006 EDX: the package's sum"));
            self.add_cache(CacheOf { level, kind, size_bytes, line_bytes, ways, key: self.core.key });
        }
    }

    /// Adds a cache, unless the CPU has named one of the level for the same accesses: a CPU that lists two (no real one
    /// does) would make the sharing sets overlap.
    pub(super) fn add_cache(&mut self, cache: CacheOf) {
        let holds_data = |kind| kind != CacheKind::Instruction;
        let same =
            |other: &CacheOf| other.level == cache.level && holds_data(other.kind) == holds_data(cache.kind);
        if cache.level > 0 && !self.caches.iter().any(same) {
            self.caches.push(cache);
        }
    }
}

/// The objects of one level.
pub(super) fn units(places: &[Place], member: impl Fn(&Place) -> Option<Member>) -> Vec<Unit> {
    let mut units = BTreeMap::<Key, Unit>::new();
    for place in places {
        if let Some(Member { key, id }) = member(place) {
            let unit = units.entry(key).or_insert_with(|| Unit { id: Some(id), cpus: CpuSet::new() });
            unit.cpus.insert(place.os);
        }
    }
    units.into_values().collect()
}

/// The caches of all levels.
pub(super) fn caches(places: &[Place]) -> Vec<Cache> {
    let mut caches = BTreeMap::<(u8, CacheKind, Key), Cache>::new();
    for place in places {
        for of in &place.caches {
            let cache = caches.entry((of.level, of.kind, of.key)).or_insert_with(|| Cache {
                level: of.level,
                kind: of.kind,
                size_bytes: of.size_bytes,
                line_bytes: (of.line_bytes > 0).then_some(of.line_bytes),
                ways: of.ways,
                cpus: CpuSet::new(),
            });
            cache.cpus.insert(place.os);
        }
    }
    caches.into_values().collect()
}
