//! Which node a CPU belongs to, where several name it.

use crate::disagreement::listed;
use crate::{CpuSet, Disagreement, MAX_CPUS, NumaNode};

/// What was to decide.
pub(crate) struct Homes {
    /// Which nodes are taken as memory alone, though CPUs are named for them.
    pub(crate) note: Option<String>,
    /// A node that keeps only some of its CPUs.
    pub(crate) disagreement: Option<Disagreement>,
}

/// Gives each CPU to one node: the smallest that names it, of equal ones the lowest number. hwloc describes a node of
/// memory alone by the CPUs near it, which belong to other nodes, so a node that is left with no CPU is such a one.
pub(crate) fn assign_homes(nodes: &mut [NumaNode], source: &str) -> Homes {
    let all = |node: &NumaNode| node.cpus.union(&node.unseen);
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&at| (all(&nodes[at]).len(), nodes[at].os));
    let mut taken = CpuSet::new();
    let (mut divided, mut emptied) = (None, CpuSet::new());
    for at in order {
        let node = &mut nodes[at];
        let named = all(node);
        node.cpus = node.cpus.difference(&taken);
        node.unseen = node.unseen.difference(&taken);
        let kept = all(node);
        if kept != named && !kept.is_empty() {
            divided.get_or_insert((node.os, named.clone(), kept.clone()));
        }
        if kept.is_empty() && !named.is_empty() && node.os < MAX_CPUS {
            emptied.insert(node.os);
        }
        taken = taken.union(&kept);
    }
    let note = (!emptied.is_empty()).then(|| {
        format!("NUMA nodes {emptied} name only CPUs of other nodes: they are taken as memory alone, near these CPUs")
    });
    Homes { note, disagreement: divided.map(|divided| part_kept(nodes, source, divided)) }
}

fn part_kept(nodes: &[NumaNode], source: &str, (os, named, kept): (u32, CpuSet, CpuSet)) -> Disagreement {
    let all = |node: &NumaNode| node.cpus.union(&node.unseen);
    let elsewhere = named.difference(&kept);
    let others: Vec<CpuSet> = nodes.iter().map(all).filter(|node| node.intersects(&elsewhere)).collect();
    let said = [
        format!("{source} of node {os}: {named}"),
        format!("{source} of smaller nodes: {}", listed(&others)),
    ];
    let why = "a CPU is in one node, the smallest that names it";
    Disagreement::new("NUMA node", said, format!("node {os}: {kept}"), why)
}
