//! What a tree of CPU groups says about a machine.

use super::{Flag, Group, Spec};
use crate::{Cache, CacheKind, CpuSet, Fact, Level, NumaNode, Pu, Source, Topology, Unit};

/// The topology that FreeBSD's scheduler believes in. Groups of threads are cores (a patched kernel also reports family
/// 15h's modules as such); a kernel's groups show neither packages nor the sizes of caches. What coho's own trees add
/// to them in flags is read as well.
pub fn to_topology(spec: &Spec) -> Topology {
    let cpus = &spec.root.cpus;
    let mut topology =
        Topology { pus: cpus.iter().map(|os| Pu { os, ..Pu::default() }).collect(), ..Topology::default() };
    collect(&spec.root, u8::MAX, &mut topology);
    let in_core: CpuSet = topology.cores.iter().flat_map(|core| core.cpus.iter()).collect();
    let single = |cpu| Unit { id: None, cpus: CpuSet::from_iter([cpu]) };
    topology.cores.extend(cpus.difference(&in_core).iter().map(single));

    let mut tell = |level, source, by: &str| topology.facts.push(Fact { level, source, by: by.to_owned() });
    tell(Level::Pu, Source::FreebsdSpec, "cpu");
    if topology.packages.is_empty() {
        tell(Level::Package, Source::Assumed, "one package: FreeBSD's groups do not show packages");
        topology.packages = vec![Unit { id: None, cpus: cpus.clone() }];
    } else {
        tell(Level::Package, Source::FreebsdSpec, "flag PACKAGE, which coho writes");
    }
    for (level, units) in [(Level::Die, topology.dies.len()), (Level::Module, topology.modules.len())] {
        if units > 0 {
            tell(level, Source::FreebsdSpec, "a flag that coho writes");
        }
    }
    tell(Level::Core, Source::FreebsdSpec, "flag THREAD; a core for each other CPU");
    for (number, level) in [(1, Level::L1), (2, Level::L2), (3, Level::L3), (4, Level::L4)] {
        if topology.caches.iter().any(|cache| cache.level == number) {
            tell(level, Source::FreebsdSpec, "cache-level: the outermost cache of a group alone");
        }
    }
    if topology.numa_nodes.is_empty() {
        tell(Level::Numa, Source::Assumed, "one node: no group has the flag NODE");
        topology.numa_nodes = vec![NumaNode { os: 0, cpus: cpus.clone(), ..NumaNode::default() }];
    } else {
        tell(Level::Numa, Source::FreebsdSpec, "flag NODE, numbered in order");
    }
    topology.finish();
    topology
}

/// `outer` is the level of the innermost enclosing cache; only a smaller level can be another cache.
fn collect(group: &Group, outer: u8, topology: &mut Topology) {
    let is_reported = group.cache_level > 0 && group.cache_level < outer;
    if is_reported {
        topology.caches.push(cache(group.cache_level, group.cpus.clone()));
    }
    for flag in &group.flags {
        let Flag::Object { level, each } = *flag else { continue };
        let sets = match each {
            false => vec![group.cpus.clone()],
            true => group.cpus.iter().map(|cpu| CpuSet::from_iter([cpu])).collect(),
        };
        let units = sets.iter().map(|cpus| Unit { id: None, cpus: cpus.clone() });
        match level {
            Level::Package => topology.packages.extend(units),
            Level::Die => topology.dies.extend(units),
            Level::Module => topology.modules.extend(units),
            Level::L1 => topology.caches.extend(sets.into_iter().map(|cpus| cache(1, cpus))),
            Level::L2 => topology.caches.extend(sets.into_iter().map(|cpus| cache(2, cpus))),
            Level::L3 => topology.caches.extend(sets.into_iter().map(|cpus| cache(3, cpus))),
            _ => topology.caches.extend(sets.into_iter().map(|cpus| cache(4, cpus))),
        }
    }
    if is_threads(group) && !group.children.iter().any(holds_threads) {
        topology.cores.push(Unit { id: None, cpus: group.cpus.clone() });
    }
    let in_node = topology.numa_nodes.last().is_some_and(|node| group.cpus.is_subset(&node.cpus));
    if group.flags.contains(&Flag::Node) && !in_node {
        let os = topology.numa_nodes.len() as u32;
        topology.numa_nodes.push(NumaNode { os, cpus: group.cpus.clone(), ..NumaNode::default() });
    }
    for child in &group.children {
        collect(child, if is_reported { group.cache_level } else { outer }, topology);
    }
}

/// A cache of which only the sharing is known.
fn cache(level: u8, cpus: CpuSet) -> Cache {
    Cache { level, kind: CacheKind::Unified, size_bytes: 0, line_bytes: None, ways: None, cpus }
}

fn is_threads(group: &Group) -> bool {
    [Flag::Thread, Flag::Smt, Flag::Htt].iter().any(|flag| group.flags.contains(flag))
}

fn holds_threads(group: &Group) -> bool {
    is_threads(group) || group.children.iter().any(holds_threads)
}
