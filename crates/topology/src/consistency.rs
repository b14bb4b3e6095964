//! Levels that cannot all be true at once: a core in two packages, an L2 across two L3s.

use std::collections::{BTreeSet, HashMap};

use crate::disagreement::listed;
use crate::{CpuSet, Disagreement, Level, Topology};

/// Levels whose objects lie within one object of each level after them.
const INSIDE: [(Level, &[Level]); 7] = [
    (
        Level::Core,
        &[Level::L1, Level::Module, Level::L2, Level::L3, Level::L4, Level::Die, Level::Numa, Level::Package],
    ),
    (Level::L1, &[Level::L2, Level::L3, Level::L4, Level::Die, Level::Package]),
    (Level::Module, &[Level::Die, Level::Package]),
    (Level::L2, &[Level::L3, Level::L4, Level::Die, Level::Package]),
    (Level::L3, &[Level::L4, Level::Package]),
    (Level::L4, &[Level::Package]),
    (Level::Die, &[Level::Package]),
];

impl Topology {
    /// Records levels that contradict each other. Both are kept, as nothing tells which is wrong.
    pub(crate) fn check_levels(&mut self) {
        let pairs =
            INSIDE.into_iter().flat_map(|(inner, outer)| outer.iter().map(move |outer| (inner, *outer)));
        let mut found: Vec<Disagreement> = pairs
            .filter(|(inner, outer)| !self.assumes(*inner) && !self.assumes(*outer))
            .filter_map(|(inner, outer)| divided(self, inner, outer))
            .collect();
        if !self.assumes(Level::Package) && !self.assumes(Level::Numa) {
            found.extend(crossing(self, Level::Numa, Level::Package));
        }
        found.retain(|new| !self.disagrees_on(&new.what));
        self.disagreements.extend(found);
    }

    /// Whether a disagreement about this is recorded.
    pub(crate) fn disagrees_on(&self, what: &str) -> bool {
        self.disagreements.iter().any(|one| one.what == what)
    }
}

/// The first object of the inner level that has CPUs of several objects of the outer one.
fn divided(topology: &Topology, inner: Level, outer: Level) -> Option<Disagreement> {
    let outers = topology.partition(outer);
    if outers.len() < 2 {
        return None;
    }
    let object_of: HashMap<u32, usize> =
        outers.iter().enumerate().flat_map(|(at, set)| set.iter().map(move |cpu| (cpu, at))).collect();
    let objects =
        |set: &CpuSet| set.iter().filter_map(|cpu| object_of.get(&cpu)).copied().collect::<BTreeSet<_>>();
    let inners = topology.partition(inner);
    let (set, objects) =
        inners.into_iter().map(|set| (set, objects(set))).find(|(_, objects)| objects.len() > 1)?;
    Some(both(inner, set, outer, objects.into_iter().map(|at| outers[at])))
}

/// The first object of a level that overlaps one of the other without either holding the other.
fn crossing(topology: &Topology, a: Level, b: Level) -> Option<Disagreement> {
    let others = topology.partition(b);
    topology.partition(a).into_iter().find_map(|set| {
        let crossed: Vec<_> = others.iter().filter(|other| set.crosses(other)).copied().collect();
        (!crossed.is_empty()).then(|| both(a, set, b, crossed))
    })
}

fn both<'a>(
    inner: Level,
    set: &CpuSet,
    outer: Level,
    outers: impl IntoIterator<Item = &'a CpuSet>,
) -> Disagreement {
    let said = [format!("one {inner}: {set}"), format!("several {outer}: {}", listed(outers))];
    Disagreement::new(format!("{inner} and {outer}"), said, "both", "nothing tells which is wrong")
}
