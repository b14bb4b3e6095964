//! The groups that a kernel would form if it used everything that is known: NUMA nodes, and the sharing of every cache
//! level.

use super::{Flag, Group, Spec};
use crate::nest::{Nest, nest};
use crate::{CpuSet, Level, Topology};

/// The groups of a topology, by its own CPU numbers. A cache that crosses NUMA nodes is divided by them, and family
/// 15h's modules share an L2 even if the firmware hides it.
pub(super) fn spec(topology: &Topology) -> Spec {
    let nodes = topology.partition(Level::Numa);
    let mut parts = Vec::new();
    if nodes.iter().filter(|cpus| !cpus.is_empty()).count() > 1 {
        parts.extend(nodes.iter().map(|cpus| (Part::Node, (*cpus).clone())));
    }
    for (number, level) in [(4, Level::L4), (3, Level::L3), (2, Level::L2)] {
        let sets = topology.partition(level);
        parts.extend(within(&sets, &nodes).map(|cpus| (Part::Cache(number), cpus)));
    }
    if topology.partition(Level::L2).iter().all(|cpus| cpus.len() == 1) {
        let modules = topology.partition(Level::Module);
        parts.extend(within(&modules, &nodes).map(|cpus| (Part::Cache(2), cpus)));
    }
    let l1 = topology.partition(Level::L1);
    parts.extend(within(&l1, &nodes).map(|cpus| (Part::Cache(1), cpus)));
    let cores = topology.partition(Level::Core);
    parts.extend(within(&cores, &nodes).filter(|cpus| cpus.len() > 1).map(|cpus| (Part::Core, cpus)));

    let (tree, _) = nest(Part::All, topology.cpus(), parts);
    Spec { root: group(&tree) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Node,
    Cache(u8),
    /// Threads of a core.
    Core,
}

/// The sets, divided at the borders of the nodes.
fn within<'a>(sets: &'a [&CpuSet], nodes: &'a [&CpuSet]) -> impl Iterator<Item = CpuSet> + 'a {
    sets.iter().flat_map(move |set| {
        let inside = nodes.iter().map(move |node| node.intersection(set));
        let outside = nodes.iter().fold((*set).clone(), |rest, node| rest.difference(node));
        inside.chain([outside]).filter(|cpus| !cpus.is_empty())
    })
}

/// Makes one group of a part and the parts inside it that hold the same CPUs.
fn group(nest: &Nest<Part>) -> Group {
    let mut group = Group { cpus: nest.cpus.clone(), ..Group::default() };
    let (mut node, mut threads) = (false, false);
    let mut inner = nest;
    loop {
        match inner.item {
            Part::All => {}
            Part::Node => node = true,
            Part::Cache(level) => group.cache_level = group.cache_level.max(level),
            Part::Core => threads = true,
        }
        match inner.children.as_slice() {
            [only] if only.cpus == group.cpus => inner = only,
            _ => break,
        }
    }
    if threads {
        group.flags.extend([Flag::Thread, Flag::Smt]);
    }
    if node {
        group.flags.push(Flag::Node);
    }
    // Groups of one CPU each tell the scheduler nothing.
    if inner.children.iter().any(|child| child.cpus.len() > 1) {
        group.children = inner.children.iter().map(self::group).collect();
    }
    group
}
