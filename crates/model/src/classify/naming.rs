//! Names classes after the claimed levels that they coincide with.

use std::collections::BTreeSet;

use coho_topology::{Level as Claimed, Topology};

use super::Classification;

/// The claimed levels by the name that a class gets, innermost first.
const NAMES: [(Claimed, &str); 7] = [
    (Claimed::Core, "core"),
    (Claimed::Module, "module"),
    (Claimed::L2, "L2"),
    (Claimed::L3, "L3"),
    (Claimed::Die, "die"),
    (Claimed::Numa, "NUMA node"),
    (Claimed::Package, "package"),
];

impl Classification {
    /// Names a class after the claimed level whose groups of CPUs equal the measured ones, the innermost if there
    /// are several. Names the class of the pairs beyond all levels after the innermost claimed unit that holds
    /// all CPUs (`package`), or `system` if there is none. Classes that coincide with no claim keep their
    /// numbers.
    pub fn name_by(&mut self, topology: &Topology) {
        let measured: BTreeSet<u32> = self.cpus.iter().copied().collect();
        let claimed = |level: Claimed| -> BTreeSet<BTreeSet<u32>> {
            let units = topology.partition(level).into_iter();
            units.map(|cpus| cpus.iter().filter(|cpu| measured.contains(cpu)).collect()).collect()
        };
        for (level, class) in self.levels.iter().zip(&mut self.classes) {
            let groups: BTreeSet<BTreeSet<u32>> =
                level.groups.iter().map(|group| group.iter().copied().collect()).collect();
            // Claims need not mention CPUs that are alone.
            let same = |claim: BTreeSet<BTreeSet<u32>>| {
                let several = |sets: &BTreeSet<BTreeSet<u32>>| {
                    sets.iter().filter(|set| set.len() > 1).cloned().collect::<Vec<_>>()
                };
                several(&claim) == several(&groups)
            };
            if let Some((_, name)) = NAMES.iter().find(|(level, _)| same(claimed(*level))) {
                class.name = (*name).to_owned();
            }
        }
        if self.classes.len() == self.levels.len() + 1
            && let Some(rest) = self.classes.last_mut()
        {
            let whole = |level: Claimed| {
                topology.partition(level).iter().any(|cpus| measured.iter().all(|&cpu| cpus.contains(cpu)))
            };
            let level = NAMES.iter().find(|(level, _)| whole(*level));
            rest.name = level.map_or("system", |(_, name)| name).to_owned();
        }
    }
}
