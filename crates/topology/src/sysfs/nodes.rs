//! Memory nodes, from `node/nodeN`.

use super::Reading;
use super::files::Dir;
use crate::numa::assign_homes;
use crate::{CpuSet, Disagreement, Error, Level, MAX_CPUS, NumaNode};

/// Reads the nodes; a kernel without NUMA support has no `node` directory, which means one node.
pub(super) fn read(reading: &mut Reading, dir: &Dir<'_>, online: &CpuSet) -> Result<(), Error> {
    let numbers: Vec<u32> = match dir.cpus(&["online"], &[]).filter(|list| !list.is_empty()) {
        Some(list) => list.iter().collect(),
        None => dir.numbered("node", MAX_CPUS),
    };
    let mut nodes = Vec::new();
    // The positions of the kept nodes in the kernel's order, which the distances follow.
    let mut kept = Vec::new();
    for (position, &os) in numbers.iter().enumerate() {
        let dir = dir.sub(&format!("node{os}"));
        let Some(all) = cpus(reading, &dir, online) else {
            dir.note("cpulist", "does not list the node's CPUs: left out");
            continue;
        };
        let cpus = all.intersection(online);
        reading.budget.charge(&all)?;
        let unseen = all.difference(online);
        let distances = distances(&dir, numbers.len());
        nodes.push(NumaNode { os, cpus, unseen, memory_bytes: memory(&dir), distances });
        kept.push(position);
    }
    reading.contradict(leave_out_repeated(&mut nodes, &mut kept));
    let homes = assign_homes(&mut nodes, "cpulist");
    reading.topology.notes.extend(homes.note);
    reading.contradict(homes.disagreement);
    for node in nodes.iter_mut().filter(|node| !node.distances.is_empty()) {
        node.distances = kept.iter().map(|&position| node.distances[position]).collect();
    }
    if nodes.is_empty() {
        nodes.push(NumaNode { os: 0, cpus: online.clone(), ..NumaNode::default() });
        reading.assume(Level::Numa, "one node: the kernel reports none");
    } else {
        reading.tell(Level::Numa, "node/node*/cpulist");
    }
    reading.topology.numa_nodes = nodes;
    Ok(())
}

/// Leaves out nodes that repeat another's CPUs: a kernel's node of memory alone has none.
fn leave_out_repeated(nodes: &mut Vec<NumaNode>, kept: &mut Vec<usize>) -> Option<Disagreement> {
    let mut found = None;
    let mut at = 0;
    while at < nodes.len() {
        let node = &nodes[at];
        let same = nodes[..at].iter().find(|other| other.cpus == node.cpus && !node.cpus.is_empty());
        let Some(first) = same else {
            at += 1;
            continue;
        };
        let said = [first, node].map(|node| format!("cpulist of node {}: {}", node.os, node.cpus));
        let taken = format!("node {} alone", first.os);
        found = found.or(Some(Disagreement::new("NUMA nodes", said, taken, "a CPU is in one node")));
        nodes.remove(at);
        kept.remove(at);
    }
    found
}

/// The node's CPUs, by the list rather than the mask.
fn cpus(reading: &mut Reading, dir: &Dir<'_>, online: &CpuSet) -> Option<CpuSet> {
    let told = dir.told(&["cpulist"], &["cpumap"]);
    if let (Some(list), Some(map)) = (&told.list, &told.map)
        && list.intersection(online) != map.intersection(online)
    {
        let said = [format!("cpulist: {list}"), format!("cpumap: {map}")];
        let why = "nothing tells which is right, and lists come first";
        reading.contradict(Some(Disagreement::new("NUMA node", said, "cpulist", why)));
    }
    told.list.or(told.map)
}

/// `MemTotal` of the node's own meminfo, in bytes.
fn memory(dir: &Dir<'_>) -> Option<u64> {
    let text = dir.text("meminfo")?;
    let (_, total) = text.lines().find_map(|line| line.split_once("MemTotal:"))?;
    let kib = total.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
    let bytes = kib.and_then(|kib| kib.checked_mul(1024));
    if bytes.is_none() {
        dir.note("meminfo", "MemTotal is not a size in kB");
    }
    bytes
}

/// The node's distances to all nodes; empty if they cannot be read.
fn distances(dir: &Dir<'_>, nodes: usize) -> Vec<u32> {
    let Some(text) = dir.text("distance") else { return Vec::new() };
    let distances: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
    match distances {
        Ok(distances) if distances.len() == nodes => return distances,
        Ok(distances) => {
            dir.note("distance", format!("{} distances, but {nodes} nodes are online", distances.len()))
        }
        Err(_) => dir.note("distance", "a distance is not a number"),
    }
    Vec::new()
}
