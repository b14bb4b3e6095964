//! Intel's leaves, which Zhaoxin, VIA and all vendors unknown here use as well: topology leaves 0x1F and 0xB or, on
//! older processors, the counts of leaves 1 and 4. Caches come from leaf 4 or, on older processors, from leaf 2 (VIA:
//! 0x80000005 and 0x80000006).

use std::collections::BTreeSet;

use super::leaves::{TopologyLevels, cache_leaves};
use super::place::{CacheOf, Kind, Member, PackageCpus, Place, above};
use super::sizes::{PlainCache, plain_caches};
use super::view::{View, bits, id_bits};
use super::{descriptors, level_of};
use crate::Level;

/// The bit positions where an APIC id's fields end.
struct Fields {
    apic_id: u32,
    smt: u32,
    module: Option<u32>,
    die: Option<u32>,
    package: u32,
    package_cpus: PackageCpus,
    core_is_assumed: bool,
    told_by: &'static str,
}

impl Fields {
    fn read(view: &View<'_>) -> Self {
        match TopologyLevels::read_first(view, [0x1F, 0xB]) {
            Some(levels) => Self {
                apic_id: levels.apic_id,
                smt: levels.shift_of(TopologyLevels::SMT).unwrap_or(0),
                module: levels.shift_to(TopologyLevels::MODULE),
                die: levels.shift_to(TopologyLevels::DIE),
                package: levels.package_shift(),
                package_cpus: PackageCpus::Exactly(levels.package_cpus()),
                core_is_assumed: false,
                told_by: levels.told_by(),
            },
            None => Self::from_counts(view),
        }
    }

    /// By the numbers of logical processors (leaf 1) and cores (leaf 4) that a package's APIC ids have room for.
    fn from_counts(view: &View<'_>) -> Self {
        let leaf1 = view.get(1, 0);
        let several = leaf1.edx & 1 << 28 != 0;
        let logical = if several { bits(leaf1.ebx, 23, 16) } else { 1 };
        let cores = bits(view.get(4, 0).eax, 31, 26) + 1;
        let package = id_bits(logical);
        // Leaf 1 counts ids. Only on a Pentium 4, which had one core and no leaf 4, are these a core's threads.
        let has_counts = view.get(4, 0).eax & 0x1F != 0 || is_pentium_4(view);
        let core_is_assumed = several && logical > 1 && !has_counts;
        Self {
            apic_id: bits(leaf1.ebx, 31, 24),
            smt: if core_is_assumed { 0 } else { package.saturating_sub(id_bits(cores)) },
            module: None,
            die: None,
            package,
            package_cpus: PackageCpus::UpTo(logical),
            core_is_assumed,
            told_by: "CPUID 0x1 EBX[23:16] and 0x4 EAX[31:26]",
        }
    }

    fn package_key(&self) -> u64 {
        above(self.apic_id, self.package)
    }

    /// The unit at `shift` of the package; its id counts within the package.
    fn member(&self, shift: u32) -> Member {
        let within = self.apic_id & !u32::MAX.checked_shl(self.package).unwrap_or(0);
        let id = within.checked_shr(shift).unwrap_or(0);
        Member { key: [self.package_key(), above(self.apic_id, shift), 0, 0], id }
    }
}

pub(super) fn place(view: &View<'_>) -> Place {
    let fields = Fields::read(view);
    let package_id = fields.apic_id.checked_shr(fields.package).unwrap_or(0);
    let mut place = Place {
        os: view.os(),
        apic_id: Some(fields.apic_id),
        package: Member { key: [fields.package_key(), 0, 0, 0], id: package_id },
        die: fields.die.map(|shift| fields.member(shift)),
        node: None,
        module: fields.module.map(|shift| fields.member(shift)),
        core: fields.member(fields.smt),
        core_is_assumed: fields.core_is_assumed,
        unshared_l3: None,
        caches: Vec::new(),
        kind: kind(view),
        package_cpus: fields.package_cpus,
        told_by: BTreeSet::from([(Level::Package, fields.told_by), (Level::Core, fields.told_by)]),
    };
    if place.die.is_some() {
        place.told_by.insert((Level::Die, fields.told_by));
    }
    if place.module.is_some() {
        place.told_by.insert((Level::Module, fields.told_by));
    }
    if place.kind.is_some() {
        place.told_by.insert((Level::Kind, "CPUID 0x1A EAX[31:24]"));
    }
    add_caches(view, &fields, &mut place);
    place
}

fn add_caches(view: &View<'_>, fields: &Fields, place: &mut Place) {
    for cache in cache_leaves(view, 4) {
        let shift = id_bits(cache.shared_by);
        // Hypervisors pass on the host's sharing counts, but no cache extends beyond its package.
        let by = if shift > fields.package { "CPUID 0x4 EAX[25:14], cut at the package" } else { BY_LEAF_4 };
        place.told_by.insert((level_of(cache.level), by));
        let key = fields.member(shift).key;
        place.add_cache(cache.with_key(key));
    }
    if !place.caches.is_empty() {
        return;
    }
    let (named, by) = match descriptors::caches(view) {
        named if named.is_empty() => {
            (plain_caches(view), "CPUID 0x80000005 and 0x80000006; sharing by design")
        }
        named => (named, "CPUID 0x2; sharing by design"),
    };
    for PlainCache { level, kind, size_bytes, line_bytes, ways } in named {
        // On processors older than leaf 4, two cores share nothing but a level 3.
        let key = if level < 3 { place.core.key } else { place.package.key };
        place.told_by.insert((level_of(level), by));
        place.add_cache(CacheOf { level, kind, size_bytes, line_bytes, ways, key });
    }
}

const BY_LEAF_4: &str = "CPUID 0x4 EAX[25:14]";

/// Family 15 without leaf 4; its later models have the leaf.
fn is_pentium_4(view: &View<'_>) -> bool {
    &view.vendor() == b"GenuineIntel" && view.family() == 0xF && !view.has(4)
}

/// The core type, on processors that report themselves as hybrid.
fn kind(view: &View<'_>) -> Option<Kind> {
    let hybrid = view.get(7, 0).edx & 1 << 15 != 0;
    let core_type = bits(view.get(0x1A, 0).eax, 31, 24);
    (hybrid && core_type != 0).then_some(Kind::Intel(core_type))
}
