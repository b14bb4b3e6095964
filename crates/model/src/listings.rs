//! FreeBSD's listing of CPU groups, by its kernels' rules from the CPUID that a profile holds (Kimoto, Figs. 1 and 2).

use coho_profile::{CpuidAnswer, Profile};
use coho_topology::freebsd::{Group, Variant, predict};

/// What a kernel would list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The kernel, as `coho topology --freebsd` names it: `stock`, `patched` or `modern`.
    pub kernel: &'static str,
    /// The groups, each behind the one that it lies in, with its level: 1 for that of all CPUs.
    pub groups: Vec<(usize, Group)>,
}

impl Listing {
    /// All that the rules give; none without CPUID, or with an unusable one.
    pub fn all(profile: &Profile) -> Vec<Self> {
        let Some(section) = profile.topology.as_ref().filter(|section| !section.cpuid.is_empty()) else {
            return Vec::new();
        };
        let dump = CpuidAnswer::dump(&section.cpuid);
        let kernels = [("stock", Variant::Stock), ("patched", Variant::Patched), ("modern", Variant::Modern)];
        let listing = |(kernel, variant)| {
            let root = predict(variant, &section.topology, Some(&dump)).ok()?.root;
            let mut groups = Vec::new();
            flatten(1, root, &mut groups);
            Some(Self { kernel, groups })
        };
        kernels.into_iter().filter_map(listing).collect()
    }

    /// How many of its groups are those of an L3.
    pub fn l3(&self) -> usize {
        self.groups.iter().filter(|(_, group)| group.cache_level == 3).count()
    }
}

fn flatten(level: usize, mut group: Group, groups: &mut Vec<(usize, Group)>) {
    let children = std::mem::take(&mut group.children);
    groups.push((level, group));
    for child in children {
        flatten(level + 1, child, groups);
    }
}
