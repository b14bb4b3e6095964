//! The groups that a kernel would form if it used everything that is known: packages, dies, NUMA nodes, modules, and
//! the sharing of every cache level.
//!
//! A kernel's group tells one cache level, nodes and threads. What else its CPUs form, together or each by itself,
//! stands in flags, so that [`to_topology`](super::to_topology) reads the same topology again.

use super::{Flag, Group, OBJECTS, Spec};
use crate::nest::{Nest, nest};
use crate::{CpuSet, Level, Topology};

/// The groups of a topology, by its own CPU numbers.
pub(super) fn spec(topology: &Topology) -> Spec {
    let nodes = topology.partition(Level::Numa);
    let mut parts = Vec::new();
    if nodes.iter().filter(|cpus| !cpus.is_empty()).count() > 1 {
        parts.extend(nodes.iter().map(|cpus| (Part::Node, (*cpus).clone())));
    }
    for (level, ..) in OBJECTS {
        let sets = topology.partition(level);
        // Without a flag, all CPUs are one package.
        let is_said = level != Level::Package || sets.len() > 1;
        parts.extend(sets.into_iter().filter(|_| is_said).map(|cpus| (Part::Object(level), cpus.clone())));
    }
    let cores = topology.partition(Level::Core).into_iter().filter(|cpus| cpus.len() > 1);
    parts.extend(cores.map(|cpus| (Part::Core, cpus.clone())));

    let (tree, _) = nest(Part::All, topology.cpus(), parts);
    Spec { root: group(&tree) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Node,
    Object(Level),
    /// Threads of a core.
    Core,
}

/// Makes one group of a part and the parts inside it that hold the same CPUs.
fn group(nest: &Nest<Part>) -> Group {
    let mut group = Group { cpus: nest.cpus.clone(), ..Group::default() };
    let (mut node, mut threads) = (false, false);
    let mut objects = Vec::new();
    let mut inner = nest;
    loop {
        match inner.item {
            Part::All => {}
            Part::Node => node = true,
            Part::Object(level) => objects.push(level),
            Part::Core => threads = true,
        }
        match inner.children.as_slice() {
            [only] if only.cpus == group.cpus => inner = only,
            _ => break,
        }
    }
    let outermost = objects.iter().copied().max_by_key(|level| cache_level(*level));
    group.cache_level = outermost.map_or(0, cache_level);
    if threads {
        group.flags.extend([Flag::Thread, Flag::Smt]);
    }
    if node {
        group.flags.push(Flag::Node);
    }
    objects.retain(|level| cache_level(*level) == 0 || Some(*level) != outermost);
    group.flags.extend(objects.into_iter().map(|level| Flag::Object { level, each: false }));

    let children: Vec<Group> = inner.children.iter().map(self::group).collect();
    match common(&children, &group.cpus) {
        Some(objects) => {
            group.flags.extend(objects.into_iter().map(|level| Flag::Object { level, each: true }))
        }
        None => group.children = children,
    }
    group
}

/// What each CPU is by itself, if the children are all CPUs, one each, and alike: such groups tell a scheduler nothing.
fn common(children: &[Group], cpus: &CpuSet) -> Option<Vec<Level>> {
    let [first, others @ ..] = children else { return Some(Vec::new()) };
    let alike = |child: &Group| (child.cache_level, &child.flags) == (first.cache_level, &first.flags);
    let single = children.len() == cpus.len() && first.children.is_empty();
    if !single || !others.iter().all(alike) || first.flags.contains(&Flag::Node) {
        return None;
    }
    let cache =
        OBJECTS.iter().map(|(level, ..)| *level).find(|level| cache_level(*level) == first.cache_level);
    let flagged = first.flags.iter().filter_map(|flag| match flag {
        Flag::Object { level, .. } => Some(*level),
        _ => None,
    });
    Some(cache.filter(|_| first.cache_level > 0).into_iter().chain(flagged).collect())
}

fn cache_level(level: Level) -> u8 {
    match level {
        Level::L1 => 1,
        Level::L2 => 2,
        Level::L3 => 3,
        Level::L4 => 4,
        _ => 0,
    }
}
