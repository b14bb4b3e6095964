//! Every barrier, team and peer in turn, in passes of random order, each pass with the limit that it is compared with.

use coho_platform::scratch::{Folder, Wish};
use coho_profile::{Sync, SyncPeer};
use coho_sync::{Algorithm, Barrier, Latencies, Mapping};
use coho_topology::{CpuSet, Topology};

use super::burst::Bursts;
use super::cell::{Cell, INSTANCES, Subject};
use super::fork_join::ForkJoin;
use super::limit::{self, Ways};
use super::own_lines::best_line;
use super::peers::{Local, OpenMp, Runtime};
use super::settle::settle;
use super::{Options, barrier_name, extra_line, same_places, team_sizes};
use crate::coherence::Distance;
use crate::coherence::arena::{Arena, LINES};
use crate::coherence::line::Two;
use crate::frame::Frame;
use crate::{Around, Error, statistics};

/// Fork and join by the team itself, and by the barriers of the paper.
const FORK_JOIN: [Algorithm; 4] = [Algorithm::Auto, Algorithm::Fbs, Algorithm::FbsOneLine, Algorithm::Lock];
/// With more CPUs than this, measuring all pairs takes too long for every pass.
pub(super) const MANY: usize = 64;
/// Passes if there are other libraries: with fewer, no ratio to one of them is told from 1 beyond chance among some thirty.
const PASSES_WITH_PEERS: usize = 12;
/// The most threads that all teams of one kind and size together may have, if there is more than one team.
const TEAM_THREADS: usize = 256;

pub(super) fn run(options: &Options, around: &mut Around<'_>) -> Result<Sync, Error> {
    let mut sync = Sync::default();
    // This comes before any thread is pinned: a runtime counts the CPUs that the loading thread may use.
    let runtimes = if options.peers { load(options, &mut sync) } else { Vec::new() };
    let mut frame = Frame::on(&options.course, around.progress)?;
    let distance = Distance::before(&mut frame);
    let arena = Arena::map()?;
    let seen = Seen::of(&frame, arena.lines(), true)?;
    let mut cells = cells(options, around.topology, &runtimes, &seen, &mut frame)?;
    let mut seen = Some(seen);
    let (passes, count) = if options.quick { (6, 6) } else { (10, 15) };
    let passes = if options.peers { PASSES_WITH_PEERS } else { passes };
    let bursts = Bursts { count, length: options.burst };
    let mut ways: Vec<Ways> = Vec::new();
    let (mut extra_lines, mut best_lines) = (Vec::new(), Vec::new());
    frame.visit_all("barriers", passes, &mut cells, |frame, cell, step| {
        if step.is_first {
            let some_met = ways.first().is_none_or(|times| !times.least.is_empty());
            let seen = match seen.take() {
                Some(seen) => seen,
                None => Seen::of(frame, arena.lines_of(step.pass), some_met)?,
            };
            ways.push(seen.ways);
            extra_lines.extend(seen.extra_line_ns);
            best_lines.extend(seen.best_line_ns);
        }
        cell.visit(step.pass, &frame.workers, &runtimes, bursts, &ways[step.pass]);
        Ok::<_, Error>(())
    })?;
    distance.after(&mut frame);
    frame.parameter("bursts_a_pass", count);
    frame.parameter("burst_ns", options.burst.as_nanos() as u64);
    sync.extra_line_ns = statistics::estimate_of_passes(extra_lines);
    sync.best_line_ns = statistics::estimate_of_passes(best_lines);
    settle(&mut sync, &cells, &ways, &mut frame);
    sync.method = frame.finish(DESCRIPTION);
    Ok(sync)
}

const DESCRIPTION: &str = "Bursts, every barrier, team and peer in turn in passes of random order; the limit is measured in \
    every pass; that of a barrier with flags by flags, also right before it on \
    its own lines. A barrier's time is that of one in a \
    burst, by rank 0. Fork and join are the time of a region's caller that comes from a serial part of varying length while all \
    others wait: together in bursts, less the serial parts alone; apart by the clocks of the members, less the readings.";

/// What a pass measures about the machine itself.
#[derive(Default)]
struct Seen {
    ways: Ways,
    extra_line_ns: Option<f64>,
    best_line_ns: Option<f64>,
}

impl Seen {
    fn of(frame: &Frame<'_>, lines: [Two<'_>; LINES], some_met: bool) -> Result<Self, Error> {
        let Frame { workers, cpus, .. } = frame;
        if cpus.len() > MANY || !some_met {
            return Ok(Self::default());
        }
        let ways = limit::one_way(workers, cpus, lines, frame.end());
        // Only CPUs that have been seen to run at the same time can wait for each other's lines by spinning.
        let Some(pair) = limit::farthest(&ways.least, cpus) else {
            return Ok(Self { ways, ..Self::default() });
        };
        let extra_line_ns = Some(extra_line::extra_line(workers, pair.0, pair.1)?);
        Ok(Self { ways, extra_line_ns, best_line_ns: best_line(workers, pair, lines) })
    }
}

/// The OpenMP runtimes that the machine has.
fn load(options: &Options, sync: &mut Sync) -> Vec<(Runtime, OpenMp)> {
    // Loaded libraries stay when the folder is removed.
    let folder = Folder::create(Wish { name: "barrier", runs_programs: true, ..Wish::default() });
    let mut runtimes = Vec::new();
    for runtime in Runtime::ALL {
        let loaded = match &folder {
            Ok(folder) => OpenMp::load(runtime, folder.path()),
            Err(error) => Err(error.clone().into()),
        };
        match loaded {
            Ok(loaded) => runtimes.push((runtime, loaded)),
            Err(why) => sync.peers.extend(["barrier", "fork-join"].map(|operation| SyncPeer {
                name: runtime.name.into(),
                operation: operation.into(),
                threads: options.threads.first().map_or(2, |&threads| threads.max(2)),
                not_available: Some(why.to_string()),
                ..SyncPeer::default()
            })),
        }
    }
    runtimes
}

fn cells(
    options: &Options,
    topology: &Topology,
    runtimes: &[(Runtime, OpenMp)],
    seen: &Seen,
    frame: &mut Frame<'_>,
) -> Result<Vec<Cell>, Error> {
    let allowed: CpuSet = frame.cpus.iter().copied().collect();
    let (mut cells, mut chosen) = (Vec::new(), serde_json::Map::new());
    for threads in sizes(options, allowed.len()) {
        let mut met: Vec<(Mapping, Vec<u32>)> = Vec::new();
        for &mapping in &options.mappings {
            let order = mapping.order(topology, &allowed);
            let cpus: Vec<u32> = order.iter().cycle().take(threads).copied().collect();
            let cell =
                |subject| Cell { subject, mapping, cpus: cpus.clone(), passes: Vec::new(), lost: None };
            if let Some((like, _)) = met.iter().find(|(_, other)| *other == cpus) {
                frame.method.not_available.extend([same_places(mapping, threads, *like)]);
                continue;
            }
            let one_way_ns = limit::between_ranks(&seen.ways.least, &cpus);
            let build = |algorithm| {
                let latencies = Latencies {
                    one_way_ns: &one_way_ns,
                    extra_line_ns: seen.extra_line_ns.unwrap_or(f64::NAN),
                };
                let one = || {
                    let barrier = Barrier::builder(threads).algorithm(algorithm);
                    barrier.places(topology, &cpus).latencies(latencies).build()
                };
                (0..INSTANCES).map(|_| one()).collect::<Result<Vec<_>, _>>()
            };
            for &algorithm in &options.algorithms {
                let barriers = build(algorithm)?;
                // Auto has no row of its own; the chosen algorithm has one.
                let is = barriers[0].algorithm();
                if is != algorithm {
                    chosen.insert(auto_key(threads, mapping), is.name().into());
                }
                if is == algorithm || !options.algorithms.contains(&is) {
                    cells.push(cell(Subject::Barrier(is, barriers)));
                }
            }
            let shared = threads > allowed.len();
            if shared {
                let why =
                    "threads that share a CPU begin and end a region by turns; that is the scheduler's time";
                frame.lacks(format!("fork and join, {threads} threads"), why);
            }
            let asked = |way: &Algorithm| *way == Algorithm::Auto || options.algorithms.contains(way);
            for algorithm in FORK_JOIN.into_iter().filter(|way| !shared && asked(way)) {
                let instances = (TEAM_THREADS / threads).clamp(1, INSTANCES);
                match (0..instances).map(|_| ForkJoin::new(algorithm, &cpus)).collect() {
                    Ok(ways) => cells.push(cell(Subject::ForkJoin(algorithm, ways))),
                    Err::<_, Error>(why) => {
                        let what = format!("fork and join, {}, {threads} threads", barrier_name(algorithm));
                        frame.lacks(what, why.to_string());
                    }
                }
            }
            // Peers have no mapping.
            if options.peers && met.is_empty() {
                let auto = build(Algorithm::Auto)?;
                chosen.insert(auto_key(threads, mapping), auto[0].algorithm().name().into());
                cells.push(cell(Subject::Barrier(Algorithm::Auto, auto)));
                cells.extend(Local::ALL.map(|local| cell(Subject::Local(local))));
                for runtime in 0..runtimes.len() {
                    cells.push(cell(Subject::OpenMp(runtime, build(Algorithm::Auto)?)));
                }
            }
            met.push((mapping, cpus));
        }
    }
    if !chosen.is_empty() {
        // Also what peers are compared with.
        frame.parameter("auto", chosen);
    }
    Ok(cells)
}

/// The team for which [`Algorithm::Auto`] chose: `2 threads, sequential`.
fn auto_key(threads: usize, mapping: Mapping) -> String {
    format!("{threads} threads, {mapping}")
}

/// The numbers of threads to measure.
fn sizes(options: &Options, cpus: usize) -> Vec<usize> {
    if !options.threads.is_empty() {
        return options.threads.iter().map(|&threads| threads.max(2) as usize).collect();
    }
    team_sizes(cpus)
}
