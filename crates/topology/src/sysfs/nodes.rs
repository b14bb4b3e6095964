//! Memory nodes, from `node/nodeN`.

use super::Reading;
use super::files::Dir;
use crate::{CpuSet, Error, Level, MAX_CPUS, NumaNode};

/// Reads the nodes; a kernel without NUMA support has no `node` directory, and so one node.
pub(super) fn read(reading: &mut Reading, dir: &Dir, online: &CpuSet) -> Result<(), Error> {
    let numbers: Vec<u32> = match dir.cpu_list("online")? {
        Some(list) => list.iter().collect(),
        None if dir.path("").is_dir() => dir.numbered("node", MAX_CPUS)?,
        None => Vec::new(),
    };
    let mut nodes = Vec::new();
    let mut taken = CpuSet::new();
    for &os in &numbers {
        let dir = dir.sub(&format!("node{os}"));
        let cpus = dir.cpu_list("cpulist")?.unwrap_or_default();
        if cpus.intersects(&taken) {
            let message = format!("CPU {} is in two nodes", cpus.intersection(&taken));
            return Err(Error::new(message).in_file(&dir.path("cpulist")));
        }
        taken = taken.union(&cpus);
        let cpus = cpus.intersection(online);
        reading.budget.charge(&cpus)?;
        nodes.push(NumaNode {
            os,
            cpus,
            memory_bytes: memory(&dir)?,
            distances: distances(&dir, numbers.len())?,
        });
    }
    if nodes.is_empty() {
        nodes.push(NumaNode { os: 0, cpus: online.clone(), ..NumaNode::default() });
        reading.assume(Level::Numa, "one node: the kernel tells none");
    } else {
        reading.tell(Level::Numa, "node/node*/cpulist");
    }
    reading.topology.numa_nodes = nodes;
    Ok(())
}

/// `MemTotal` of the node's own meminfo, in bytes.
fn memory(dir: &Dir) -> Result<Option<u64>, Error> {
    let Some(text) = dir.text("meminfo")? else { return Ok(None) };
    let total = text.lines().find_map(|line| line.split_once("MemTotal:"));
    let Some((_, total)) = total else { return Ok(None) };
    total
        .split_whitespace()
        .next()
        .and_then(|kib| kib.parse::<u64>().ok()?.checked_mul(1024))
        .map(Some)
        .ok_or_else(|| Error::new("MemTotal is no size in kB").in_file(&dir.path("meminfo")))
}

fn distances(dir: &Dir, nodes: usize) -> Result<Vec<u32>, Error> {
    let Some(text) = dir.text("distance")? else { return Ok(Vec::new()) };
    let failed = |message: String| Error::new(message).in_file(&dir.path("distance"));
    let distances: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
    let distances = distances.map_err(|_| failed("a distance is no number".to_owned()))?;
    if distances.len() != nodes {
        return Err(failed(format!("tells {} distances, but {nodes} nodes are online", distances.len())));
    }
    Ok(distances)
}
