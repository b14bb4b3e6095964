//! Memory nodes, from `node/nodeN`.

use super::Reading;
use super::files::{Cpus, Dir};
use crate::{CpuSet, Error, Level, MAX_CPUS, NumaNode};

/// Reads the nodes; a kernel without NUMA support has no `node` directory, which means one node.
pub(super) fn read(reading: &mut Reading, dir: &Dir<'_>, online: &CpuSet) -> Result<(), Error> {
    let numbers: Vec<u32> = match dir.cpus(&[Cpus::List("online")]).filter(|list| !list.is_empty()) {
        Some(list) => list.iter().collect(),
        None => dir.numbered("node", MAX_CPUS),
    };
    let mut nodes = Vec::new();
    // The positions of the kept nodes in the kernel's order, which the distances follow.
    let mut kept = Vec::new();
    let mut taken = CpuSet::new();
    for (position, &os) in numbers.iter().enumerate() {
        let dir = dir.sub(&format!("node{os}"));
        let Some(cpus) = dir.cpus(&[Cpus::List("cpulist"), Cpus::Map("cpumap")]) else {
            dir.note("cpulist", "does not list the node's CPUs: left out");
            continue;
        };
        if cpus.intersects(&taken) {
            let twice = cpus.intersection(&taken);
            dir.note("cpulist", format!("CPUs {twice} are in another node already: left out"));
            continue;
        }
        taken = taken.union(&cpus);
        let cpus = cpus.intersection(online);
        reading.budget.charge(&cpus)?;
        let distances = distances(&dir, numbers.len());
        nodes.push(NumaNode { os, cpus, memory_bytes: memory(&dir), distances });
        kept.push(position);
    }
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
