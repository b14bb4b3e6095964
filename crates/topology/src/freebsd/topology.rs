//! What a tree of CPU groups says about a machine.

use super::{Flag, Group, Spec};
use crate::{Cache, CacheKind, CpuSet, Fact, Level, NumaNode, Pu, Source, Topology, Unit};

/// The topology that FreeBSD's scheduler believes in. Groups of threads are cores (a patched kernel also reports family
/// 15h's modules as such); packages and the sizes of caches are not reported.
pub fn to_topology(spec: &Spec) -> Topology {
    let cpus = &spec.root.cpus;
    let mut topology = Topology {
        pus: cpus.iter().map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: vec![Unit { id: None, cpus: cpus.clone() }],
        ..Topology::default()
    };
    collect(&spec.root, u8::MAX, &mut topology);
    let in_core: CpuSet = topology.cores.iter().flat_map(|core| core.cpus.iter()).collect();
    let single = |cpu| Unit { id: None, cpus: CpuSet::from_iter([cpu]) };
    topology.cores.extend(cpus.difference(&in_core).iter().map(single));

    let mut tell = |level, source, by: &str| topology.facts.push(Fact { level, source, by: by.to_owned() });
    tell(Level::Pu, Source::FreebsdSpec, "cpu");
    tell(Level::Package, Source::Assumed, "one package: FreeBSD's groups do not show packages");
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
        topology.caches.push(Cache {
            level: group.cache_level,
            kind: CacheKind::Unified,
            size_bytes: 0,
            line_bytes: None,
            ways: None,
            cpus: group.cpus.clone(),
        });
    }
    let threads = [Flag::Thread, Flag::Smt, Flag::Htt].iter().any(|flag| group.flags.contains(flag));
    if threads && group.children.is_empty() {
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
