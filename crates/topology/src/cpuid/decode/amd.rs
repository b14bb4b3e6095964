//! AMD's and Hygon's leaves: 0x80000026 or 0xB if the CPU has them, otherwise 0x8000001E with the APIC id size of
//! 0x80000008. Caches come from 0x8000001D, otherwise from 0x80000005 and 0x80000006, and are then shared as in the
//! family's design.
//!
//! Sources: AMD64 Architecture Programmer's Manual volume 3, appendix E; BIOS and Kernel Developer's Guides of
//! families 10h and 15h; CPUID Specification (publication 25481).

use std::collections::BTreeSet;

use super::leaves::{CacheLeaf, TopologyLevels, cache_leaves};
use super::level_of;
use super::place::{CacheOf, Kind, Member, PackageCpus, Place, above};
use super::sizes::{PlainCache, plain_caches};
use super::view::{View, bits, id_bits};
use crate::{CacheKind, Level};

/// The leaf of Zen 4 and later that describes complexes and dies.
const EXTENDED_TOPOLOGY: u32 = 0x8000_0026;

/// The level type of leaf 0x80000026 for core complex dies. Unlike Intel's types, AMD's name the unit whose id the
/// shift gives.
const CCD: u32 = 3;

/// Package type of socket G34, whose processors are two nodes each (80000001 EBX[31:28]).
const G34: u32 = 3;

/// Leaf 0x8000001E: compute unit (families 15h, 16h) or core, and node.
struct Unit {
    apic_id: u32,
    id: u32,
    /// Cores of the compute unit, threads of the core.
    size: u32,
    node: u32,
    told_by_clear_topoext: bool,
}

impl Unit {
    fn read(view: &View<'_>, topology_extensions: bool) -> Option<Self> {
        let answer = view.get(0x8000_001E, 0);
        // Firmware may clear TopologyExtensions on family 15h, but the leaf still answers; a leaf that is truly absent
        // reads as zero.
        let answers = [answer.eax, answer.ebx, answer.ecx].iter().any(|&register| register != 0);
        (view.has(0x8000_001E) && (topology_extensions || answers)).then(|| Self {
            apic_id: answer.eax,
            id: bits(answer.ebx, 7, 0),
            size: bits(answer.ebx, 15, 8) + 1,
            node: bits(answer.ecx, 7, 0),
            told_by_clear_topoext: !topology_extensions,
        })
    }
}

/// The data that decides the place of a CPU.
struct Cpu<'a> {
    view: &'a View<'a>,
    family: u32,
    topology_extensions: bool,
    unit: Option<Unit>,
    levels: Option<TopologyLevels>,
    apic_id: u32,
    package_shift: u32,
    smt_shift: u32,
}

impl<'a> Cpu<'a> {
    fn read(view: &'a View<'a>, family: u32) -> Self {
        let features = view.features().get_extended_processor_and_feature_identifiers();
        let topology_extensions = features.is_some_and(|features| features.has_topology_extensions());
        let unit = Unit::read(view, topology_extensions);
        let levels = TopologyLevels::read_first(view, [EXTENDED_TOPOLOGY, 0xB]);
        let legacy_apic_id = bits(view.get(1, 0).ebx, 31, 24);
        let smt_shift = match (&levels, &unit) {
            // The first level of both leaves counts a core's threads.
            (Some(levels), _) => levels.shift_of(TopologyLevels::SMT).unwrap_or(0),
            (None, Some(unit)) if family >= 0x17 => id_bits(unit.size),
            _ => 0,
        };
        Self {
            view,
            family,
            topology_extensions,
            apic_id: match (&levels, &unit) {
                (Some(levels), _) => levels.apic_id,
                (None, Some(unit)) => unit.apic_id,
                (None, None) => legacy_apic_id,
            },
            package_shift: levels.as_ref().map_or_else(|| package_bits(view), TopologyLevels::package_shift),
            smt_shift,
            unit,
            levels,
        }
    }

    fn package_key(&self) -> u64 {
        above(self.apic_id, self.package_shift)
    }

    /// The APIC id's part below the package's.
    fn within_package(&self) -> u32 {
        self.apic_id & !u32::MAX.checked_shl(self.package_shift).unwrap_or(0)
    }

    fn member(&self, shift: u32) -> Member {
        let id = self.within_package().checked_shr(shift).unwrap_or(0);
        Member { key: [self.package_key(), above(self.apic_id, shift), 0, 0], id }
    }

    fn module(&self) -> Option<Member> {
        let unit = self.unit.as_ref().filter(|_| self.family == 0x15)?;
        let key = [self.package_key(), u64::from(unit.node), u64::from(unit.id), 0];
        Some(Member { key, id: unit.id })
    }

    /// The node within the package: as leaf 0x8000001E says or, on family 10h's processors of two nodes, by the half of
    /// the APIC ids that the CPU is in (otherwise only an MSR tells).
    fn node_key(&self) -> u64 {
        match &self.unit {
            Some(unit) => u64::from(unit.node),
            None if self.is_two_nodes_of_family_10h() => {
                u64::from(self.within_package() / (cores_of_package(self.view) / 2).max(1))
            }
            None => 0,
        }
    }

    fn is_two_nodes_of_family_10h(&self) -> bool {
        self.family == 0x10
            && bits(self.view.get(0x8000_0001, 0).ebx, 31, 28) == G34
            && cores_of_package(self.view).is_multiple_of(2)
    }

    /// Which CPUs share a cache of 0x8000001D.
    fn sharers(&self, cache: &CacheLeaf) -> [u64; 4] {
        let (package, node) = (self.package_key(), self.node_key());
        // Up to family 16h a node has one level 3, whatever gaps its APIC ids leave (6 cores at 0x26 to 0x2B).
        if cache.level == 3 && self.family < 0x17 {
            return [package, node, 0, 0];
        }
        [package, node, above(self.apic_id, id_bits(cache.shared_by)), 0]
    }
}

/// The number of low APIC id bits within a package: ApicIdSize or, on CPUs without it, as many as the core count needs.
fn package_bits(view: &View<'_>) -> u32 {
    match bits(view.get(0x8000_0008, 0).ecx, 15, 12) {
        0 => id_bits(cores_of_package(view)),
        size => size,
    }
}

/// NC of leaf 0x80000008 or, if only leaf 1 has a count (under some hypervisors), its number of logical processors.
fn cores_of_package(view: &View<'_>) -> u32 {
    let leaf1 = view.get(1, 0);
    let several = leaf1.edx & 1 << 28 != 0;
    match bits(view.get(0x8000_0008, 0).ecx, 7, 0) {
        0 if several => bits(leaf1.ebx, 23, 16).max(1),
        last => last + 1,
    }
}

pub(super) fn place(view: &View<'_>, family: u32) -> Place {
    let cpu = Cpu::read(view, family);
    let mut told_by = BTreeSet::new();
    let levels = cpu.levels.as_ref();
    let sizes = "CPUID 0x80000008 ECX[15:12]";
    told_by.insert((Level::Package, levels.map_or(sizes, TopologyLevels::told_by)));
    told_by.insert((
        Level::Core,
        match (levels, &cpu.unit) {
            (Some(levels), _) => levels.told_by(),
            (None, Some(_)) if family >= 0x17 => "CPUID 0x8000001E EBX[15:8]",
            _ => "a core per APIC id",
        },
    ));
    let extended = levels.filter(|levels| levels.leaf == EXTENDED_TOPOLOGY);
    let die = extended.and_then(|levels| levels.shift_of(CCD));
    if let (Some(levels), Some(_)) = (extended, die) {
        told_by.insert((Level::Die, levels.told_by()));
    }
    if let Some(unit) = &cpu.unit {
        told_by.insert((Level::Numa, "CPUID 0x8000001E ECX[7:0]"));
        if family == 0x15 {
            let by = match unit.told_by_clear_topoext {
                false => "CPUID 0x8000001E EBX[7:0]",
                true => "CPUID 0x8000001E EBX[7:0], which answers though TopologyExtensions is clear",
            };
            told_by.insert((Level::Module, by));
        }
    }
    let kind = extended.map(|_| Kind::Amd(bits(view.get(EXTENDED_TOPOLOGY, 0).ebx, 31, 28)));
    if kind.is_some() {
        told_by.insert((Level::Kind, "CPUID 0x80000026 EBX[31:28]"));
    }
    let package_id = cpu.apic_id.checked_shr(cpu.package_shift).unwrap_or(0);
    let mut place = Place {
        os: view.os(),
        apic_id: Some(cpu.apic_id),
        package: Member { key: [cpu.package_key(), 0, 0, 0], id: package_id },
        die: die.map(|shift| cpu.member(shift)),
        node: cpu.unit.as_ref().map(|unit| unit.node),
        module: cpu.module(),
        core: cpu.member(cpu.smt_shift),
        // Before Zen, a core has one thread.
        core_is_assumed: family >= 0x17 && levels.is_none() && cpu.unit.is_none(),
        unshared_l3: None,
        caches: Vec::new(),
        kind,
        package_cpus: match levels {
            Some(levels) => PackageCpus::Exactly(levels.package_cpus()),
            None => PackageCpus::UpTo(cores_of_package(view)),
        },
        told_by,
    };
    add_caches(&cpu, &mut place);
    place
}

fn add_caches(cpu: &Cpu<'_>, place: &mut Place) {
    if cpu.topology_extensions {
        for cache in cache_leaves(cpu.view, 0x8000_001D) {
            place.told_by.insert((level_of(cache.level), "CPUID 0x8000001D EAX[25:14]"));
            let key = cpu.sharers(&cache);
            place.add_cache(cache.with_key(key));
        }
    }
    // Some dumps have only sub-leaf 0, but every processor with the leaf has a level 2.
    let lacks_outer = !place.caches.iter().any(|cache| cache.level > 1);
    let lacks_l3 = !place.caches.iter().any(|cache| cache.level == 3);
    for mut cache in plain_caches(cpu.view) {
        // The leaf gives the package's sum. From Zen on, a package may have several, one for each complex.
        if cache.level == 3 && cpu.family >= 0x17 {
            place.unshared_l3 = lacks_l3.then_some(cache);
            continue;
        }
        if !lacks_outer {
            continue;
        }
        // The leaf counts the level 3 of both nodes.
        if cache.level == 3 && cpu.is_two_nodes_of_family_10h() {
            cache.size_bytes /= 2;
            cache.ways = cache.ways.map(|ways| ways / 2);
        }
        let key = sharers_by_design(cpu, place, &cache);
        let by = "CPUID 0x80000005 and 0x80000006; sharing by design";
        place.told_by.insert((level_of(cache.level), by));
        let PlainCache { level, kind, size_bytes, line_bytes, ways } = cache;
        place.add_cache(CacheOf { level, kind, size_bytes, line_bytes, ways, key });
    }
}

/// Which CPUs share a cache if CPUID gives only its size: a node shares its level 3, a compute unit its level 2 and
/// level 1 instruction cache; the others belong to a core.
fn sharers_by_design(cpu: &Cpu<'_>, place: &Place, cache: &PlainCache) -> [u64; 4] {
    match (&place.module, cache.level, cache.kind) {
        (_, 3.., _) => [cpu.package_key(), cpu.node_key(), 0, 0],
        (Some(module), 2, _) | (Some(module), 1, CacheKind::Instruction) => module.key,
        _ => place.core.key,
    }
}
