//! All kinds of traffic and pauses, for each pair of a reader's node and a memory node.

use coho_platform::pages::Paging;
use coho_profile::{Loaded, LoadedRow, Traffic};
use coho_topology::{NumaNode, Topology};

use super::super::latency::linked;
use super::super::rates::largest_cache;
use super::super::region::Region;
use super::Options;
use super::traffic::Mover;
use super::visit::Places;
use crate::frame::Frame;
use crate::workers::Job;
use crate::{Around, Error, statistics};

/// Pauses, in ns; the first is none.
const PAUSES_NS: [f64; 6] = [0.0, 50.0, 200.0, 500.0, 1000.0, 5000.0];
const PAUSES_QUICK_NS: [f64; 3] = [0.0, 200.0, 1000.0];
/// One byte in this many of the available memory may be used for each of the ring and what the others move.
const MEMORY_SHARE: usize = 8;

/// A smaller ring or region would stay in the caches.
const LEAST_RING: usize = 1 << 20;
const LEAST_REGION: usize = 4 << 20;

/// A kind of traffic and a pause, with what was seen under it, by pass.
struct Cell {
    traffic: Traffic,
    mover: Option<Mover>,
    pause_ns: f64,
    latencies: Vec<Vec<f64>>,
    rates: Vec<Vec<f64>>,
}

pub(super) fn run(options: &Options, around: &mut Around<'_>) -> Result<Loaded, Error> {
    let topology = around.topology;
    let mut frame = Frame::on(&options.course, around.progress)?;
    let mut loaded = Loaded::default();
    let mut dropped = 0;
    for (index, (reader, node)) in pairs(&frame.cpus, topology).into_iter().enumerate() {
        // How memory takes a mix of reads and writes is asked where it is nearest.
        let traffic = if index == 0 { &options.traffic[..] } else { &[Traffic::Read] };
        let rows = measure(&mut frame, topology, options.quick, (reader, node), traffic, &mut dropped)?;
        loaded.rows.extend(rows);
    }
    frame.parameter("visits_dropped", dropped);
    loaded.method = frame.finish(DESCRIPTION);
    Ok(loaded)
}

const DESCRIPTION: &str = "Loads that wait for each other, in windows of 512, while the other CPUs move blocks of 1 KiB \
    with pauses between them, each in its own memory, all kinds and pauses in turn in passes of random order; windows in \
    which the reader was interrupted and visits in which another was are dropped. The rate is what reaches memory if no \
    cache holds it: lines read, written, and read because they are stored to.";

/// The first CPU of each node with each node that has memory, its own first; one pair without a node where there are not
/// several.
fn pairs(cpus: &[u32], topology: &Topology) -> Vec<(u32, Option<u32>)> {
    let has_memory = |node: &&NumaNode| node.memory_bytes != Some(0);
    let nodes: Vec<&NumaNode> = topology.numa_nodes.iter().filter(has_memory).collect();
    if nodes.len() < 2 {
        return cpus.first().map(|&cpu| (cpu, None)).into_iter().collect();
    }
    let mut pairs = Vec::new();
    for own in &topology.numa_nodes {
        let Some(&reader) = cpus.iter().find(|&&cpu| own.cpus.contains(cpu)) else { continue };
        let mut targets = nodes.clone();
        targets.sort_by_key(|node| node.os != own.os);
        pairs.extend(targets.into_iter().map(|node| (reader, Some(node.os))));
    }
    pairs
}

/// The rows of one reader and memory node.
fn measure(
    frame: &mut Frame<'_>,
    topology: &Topology,
    quick: bool,
    (reader, node): (u32, Option<u32>),
    traffic: &[Traffic],
    dropped: &mut u64,
) -> Result<Vec<LoadedRow>, Error> {
    let others: Vec<u32> = frame.cpus.iter().copied().filter(|&cpu| cpu != reader).collect();
    let place = node.map_or_else(String::new, |node| format!(", CPU {reader}, memory of node {node}"));
    if others.is_empty() {
        frame.lacks("latency under load", "it takes a second CPU");
    }
    let (cache, room) = (largest_cache(topology), coho_platform::memory::room() as usize / MEMORY_SHARE);
    let bytes = (cache * 3 / 2).min(room / 2);
    let each =
        (2 * cache / others.len().max(1)).clamp(LEAST_REGION, (room / others.len().max(1)).max(LEAST_REGION));
    if bytes < LEAST_RING || room < LEAST_REGION {
        let why = format!("{room} bytes, an eighth of the memory that is left, are too few");
        frame.lacks(format!("latency under load{place}"), why);
        return Ok(Vec::new());
    }
    let mut random = frame.random.fork();
    let memory = frame
        .run(reader, move || linked(bytes as u64, Paging::Huge, node, &mut random))?
        .and_then(|ring| Ok((ring, regions(frame, &others, each, node)?)));
    let (ring, regions) = match memory {
        Ok(memory) => memory,
        // A container may refuse to bind memory to a node: the others are measured nevertheless.
        Err(error) if node.is_some() => {
            frame.lacks(format!("latency under load{place}"), error.to_string());
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let others: Vec<(u32, Region)> = others.into_iter().zip(regions).collect();
    let mut cells = cells(frame, traffic, quick, !others.is_empty());
    let places = Places { reader, ring: &ring, others: &others };
    let mut at = 0;
    frame.visit_all("latency under load", if quick { 3 } else { 6 }, &mut cells, |frame, cell, _| {
        match places.visit(frame, &mut at, cell.mover, cell.pause_ns)? {
            Some(visited) => {
                cell.latencies.push(visited.latencies);
                cell.rates.push(vec![visited.bytes_per_s]);
            }
            None => *dropped += 1,
        }
        Ok::<_, Error>(())
    })?;
    let row = |cell: Cell| LoadedRow {
        reader,
        node,
        bytes: bytes as u64,
        traffic: cell.traffic,
        threads: if cell.mover.is_some() { others.len() as u32 } else { 0 },
        instruction: cell.mover.map_or_else(String::new, |mover| mover.instruction()),
        pause_ns: cell.pause_ns,
        bytes_per_s: cell.mover.and_then(|_| statistics::estimate(&cell.rates)),
        latency_ns: statistics::estimate(&cell.latencies),
    };
    Ok(cells.into_iter().map(row).collect())
}

/// What the others move, each on its own memory.
fn regions(
    frame: &mut Frame<'_>,
    others: &[u32],
    bytes: usize,
    node: Option<u32>,
) -> Result<Vec<Region>, Error> {
    let map = |&cpu: &u32| {
        let job: Job<'_, Result<Region, Error>> =
            Box::new(move || Region::write_back_on(bytes, Paging::Huge, node));
        (cpu, job)
    };
    frame.workers.run(others.iter().map(map).collect()).into_iter().map(|done| done?.value).collect()
}

/// Nothing, and each kind of traffic with each pause.
fn cells(frame: &mut Frame<'_>, traffic: &[Traffic], quick: bool, has_others: bool) -> Vec<Cell> {
    let cell = |traffic, mover, pause_ns| Cell {
        traffic,
        mover,
        pause_ns,
        latencies: Vec::new(),
        rates: Vec::new(),
    };
    let mut cells = vec![cell(Traffic::None, None, 0.0)];
    let pauses: &[f64] = if quick { &PAUSES_QUICK_NS } else { &PAUSES_NS };
    for &kind in traffic.iter().filter(|kind| **kind != Traffic::None && has_others) {
        match Mover::of(kind) {
            Some(mover) => cells.extend(pauses.iter().map(|&pause_ns| cell(kind, Some(mover), pause_ns))),
            None => {
                frame.lacks(format!("latency under {}", kind.label()), "this CPU has no such instruction")
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use coho_topology::CpuSet;

    use super::*;

    fn node(os: u32, cpus: &[u32], memory_bytes: u64) -> NumaNode {
        let cpus: CpuSet = cpus.iter().copied().collect();
        NumaNode { os, cpus, memory_bytes: Some(memory_bytes), ..NumaNode::default() }
    }

    #[test]
    fn every_node_s_first_cpu_reads_from_every_node_with_memory() {
        // Node 1 has CPUs alone, node 2 memory alone (CXL, HBM).
        let numa_nodes = vec![node(0, &[0, 1], 1), node(1, &[2, 3], 0), node(2, &[], 1)];
        let topology = Topology { numa_nodes, ..Topology::default() };
        let all = [(0, Some(0)), (0, Some(2)), (2, Some(0)), (2, Some(2))];
        assert_eq!(pairs(&[0, 1, 2, 3], &topology), all);
        assert_eq!(pairs(&[3], &topology), [(3, Some(0)), (3, Some(2))]);
        assert_eq!(pairs(&[5, 7], &Topology::default()), [(5, None)]);
    }
}
