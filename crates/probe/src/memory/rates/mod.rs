//! Rates by instruction, size, threads, state and fence: all in turn, in passes of random order.

mod between;
mod blocks;
mod cells;
mod ground;
mod visit;

use std::collections::BTreeMap;

use coho_profile::{BlockState, CacheType, MemoryRate, Operation};
use coho_topology::Topology;

use self::cells::Cell;
use self::ground::Ground;
pub(super) use self::visit::clock_ticks;
use self::visit::{Window, Work};
use super::loops::Stores;
use super::survey::Survey;
use super::together::Together;
use super::{Options, Region};
use crate::frame::Frame;
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// The least that a pool has, in bytes.
const LEAST_POOL: usize = 16 << 20;
/// One byte in this many of the available memory may be used, for source and destination together.
const MEMORY_SHARE: u64 = 4;

/// The memory between which one CPU's thread moves data, and up to where it has been used.
struct Place {
    to: Region,
    from: Region,
    cursor: usize,
}

/// Memory of another type than write-back.
pub(super) struct Typed {
    pub(super) cache_type: CacheType,
    pub(super) region: Region,
}

/// Sizes that decide what is measured.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// The largest cache.
    cache: usize,
    /// The first CPU's memory: more than any cache, if there is room.
    pool: usize,
    /// The memory of each of several CPUs.
    shared_pool: usize,
}

impl Extent {
    fn of(topology: &Topology, options: &Options, cpus: usize) -> Self {
        let cache = largest_cache(topology);
        let wished = if options.quick { cache + cache / 2 } else { 4 * cache };
        let named = options.sizes.iter().copied().max().unwrap_or(0) as usize;
        let room = (coho_platform::memory::room() / MEMORY_SHARE / 4) as usize;
        let pool = wished.max(named).max(LEAST_POOL).min(room.max(LEAST_POOL));
        Self { cache, pool, shared_pool: (pool / cpus.max(1)).max(LEAST_POOL).min(pool) }
    }
}

/// The size of the largest cache, in bytes; if the machine does not say, that of a small server.
pub(super) fn largest_cache(topology: &Topology) -> usize {
    topology.caches.iter().map(|cache| cache.size_bytes).max().unwrap_or(32 << 20) as usize
}

/// Measures what is asked for and adds it to the section.
pub(super) fn measure(survey: &mut Survey<'_>, typed: &[Typed]) -> Result<(), Error> {
    let Survey { options, topology, frame, memory } = survey;
    let cpus = frame.cpus.clone();
    let extent = Extent::of(topology, options, cpus.len());
    let mut cells = cells::all(&cpus, topology, options, extent, typed, &mut frame.method.not_available);
    let mut places = places(&frame.workers, &cells, options, extent)?;
    let (passes, windows) = if options.quick { (4, 3) } else { (6, 6) };
    let mut walk = frame.passes("rates", passes, cells.len());
    while let Some(step) = frame.next(&mut walk) {
        visit(frame, &mut cells[step.at], &mut places, typed, windows)?;
    }
    let dropped: u64 = cells.iter().map(|cell| cell.dropped).sum();
    frame.parameter("pool_bytes", extent.pool);
    frame.parameter("windows_dropped", dropped);
    frame.parameter("windows_a_visit", windows);
    memory.rates = cells.iter().filter_map(|cell| rate(cell, &places, typed, extent)).collect();
    drop(places);
    between::measure(survey)
}

/// Memory of each CPU that takes part, touched on that CPU.
fn places(
    workers: &Workers,
    cells: &[Cell],
    options: &Options,
    extent: Extent,
) -> Result<BTreeMap<u32, Place>, Error> {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for cell in cells {
        let bytes = if cell.cpus.len() == 1 { extent.pool } else { extent.shared_pool };
        for &cpu in &cell.cpus {
            let so_far = sizes.entry(cpu).or_default();
            *so_far = bytes.max(*so_far);
        }
    }
    let map = |bytes| {
        let region = || Region::write_back_on(bytes, options.paging, options.node);
        Ok::<_, Error>(Place { to: region()?, from: region()?, cursor: 0 })
    };
    let jobs = sizes.iter().map(|(&cpu, &bytes)| (cpu, Box::new(move || map(bytes)) as Job<'_, _>));
    let mapped = workers.run(jobs.collect());
    sizes.keys().zip(mapped).map(|(&cpu, place)| Ok((cpu, place?.value?))).collect()
}

fn visit(
    frame: &mut Frame<'_>,
    cell: &mut Cell,
    places: &mut BTreeMap<u32, Place>,
    typed: &[Typed],
    windows: usize,
) -> Result<(), Error> {
    let together = Together::of(cell.cpus.len());
    let (work, kind) = (cell.work, cell.kind);
    let jobs = places.iter_mut().filter(|(cpu, _)| cell.cpus.contains(cpu)).map(|(&cpu, place)| {
        let together = &together;
        let job: Job<'_, Vec<Window>> = Box::new(move || {
            let Place { to, from, cursor } = place;
            let mut none = 0;
            let mut ground = match kind {
                None => Ground::new(to, from, cursor),
                Some((at, cells::Side::To)) => Ground::new(&typed[at].region, from, &mut none),
                Some((at, cells::Side::From)) => Ground::new(to, &typed[at].region, &mut none),
            };
            work.visit(&mut ground, together, windows)
        });
        (cpu, job)
    });
    let mut all = Vec::new();
    for done in frame.workers.run(jobs.collect()) {
        all.push(frame.value(done?));
    }
    let (rates, dropped) = together_of(&all, windows);
    cell.dropped += dropped;
    cell.passes.push(rates);
    Ok(())
}

/// The sums over threads for windows in which no thread was interrupted, and the number of other windows.
fn together_of(threads: &[Vec<Window>], windows: usize) -> (Vec<f64>, u64) {
    let mut sums = Vec::new();
    for window in 0..windows {
        let all: Option<Vec<_>> = threads.iter().map(|thread| thread.get(window)).collect();
        match all {
            Some(all) if all.iter().all(|window| !window.disturbed) => {
                sums.push(all.iter().map(|window| window.bytes_per_s).sum());
            }
            _ => {}
        }
    }
    let dropped = (windows - sums.len()) as u64;
    (sums, dropped)
}

fn rate(cell: &Cell, places: &BTreeMap<u32, Place>, typed: &[Typed], extent: Extent) -> Option<MemoryRate> {
    let bytes_per_s = statistics::estimate(&cell.passes)?;
    let place = &places[&cell.cpus[0]];
    let usual = if cell.work.op == Operation::Write { &place.to } else { &place.from };
    let region = cell.kind.map_or(usual, |(at, _)| &typed[at].region);
    let other = cell.kind.map(|(at, side)| (typed[at].cache_type, side));
    let (cache_type, destination_type) = match (cell.work.op, other) {
        (_, None) => (CacheType::WriteBack, None),
        (Operation::Copy, Some((to, cells::Side::To))) => (CacheType::WriteBack, Some(to)),
        (_, Some((one, _))) => (one, None),
    };
    let times = (cell.kind.is_none()).then(|| moved(cell.one.stores(), &cell.work, extent)).flatten();
    Some(MemoryRate {
        op: cell.work.op,
        instruction: cell.one.instruction().into(),
        cache_type,
        destination_type,
        bytes: cell.work.bytes as u64,
        threads: cell.cpus.len() as u32,
        mapping: cell.mapping.into(),
        state: Some(cell.work.state),
        fence: (cell.work.op != Operation::Read).then_some(cell.work.fence),
        page_bytes: region.page_bytes(),
        node: region.node(),
        traffic_bytes_per_s: times.map(|times| times * bytes_per_s.median),
        bytes_per_s: Some(bytes_per_s),
        ..MemoryRate::default()
    })
}

/// How often each byte of the payload crosses the bus to memory; `None` if the caches hold the block, as they then
/// decide whether it does, and if the CPU chooses how to store.
fn moved(stores: Stores, work: &Work, extent: Extent) -> Option<f64> {
    let in_memory = match work.state {
        BlockState::Fresh | BlockState::Flushed => true,
        BlockState::Warm => work.bytes > extent.cache,
        BlockState::Dirty | BlockState::Shared | BlockState::Remote => false,
    };
    let reads = if work.op == Operation::Write { 0.0 } else { 1.0 };
    let writes = match stores {
        Stores::None => 0.0,
        // The line is read first, and finally written back.
        Stores::Temporal => 2.0,
        Stores::NonTemporal => 1.0,
        Stores::Chosen => return None,
    };
    in_memory.then_some(reads + writes)
}

#[cfg(test)]
mod tests {
    use super::super::loops::Loop;
    use super::*;

    #[test]
    fn a_window_counts_if_nobody_was_interrupted_in_it() {
        let window = |bytes_per_s, disturbed| Window { bytes_per_s, disturbed };
        let one = vec![window(1.0, false), window(2.0, true), window(3.0, false)];
        let other = vec![window(10.0, false), window(20.0, false)];
        assert_eq!(together_of(&[one.clone(), other], 3), (vec![11.0], 2));
        assert_eq!(together_of(&[one], 3), (vec![1.0, 3.0], 1));
    }

    #[test]
    fn traffic_counts_the_line_that_a_store_reads_first() {
        let extent = Extent { cache: 1 << 20, pool: 4 << 20, shared_pool: 4 << 20 };
        let times = |op, instruction: &str, state, bytes| {
            let one = Loop::find(op, instruction).unwrap();
            let work = Work {
                op,
                code: one.code().unwrap(),
                bytes,
                state,
                fence: coho_profile::Fence::Run,
                resident: true,
            };
            moved(one.stores(), &work, extent)
        };
        let past = if cfg!(target_arch = "x86_64") { "sse2-nt" } else { "neon-nt" };
        assert_eq!(times(Operation::Copy, "plain-8", BlockState::Fresh, 512), Some(3.0));
        assert_eq!(times(Operation::Copy, past, BlockState::Fresh, 512), Some(2.0));
        assert_eq!(times(Operation::Write, "plain-8", BlockState::Warm, 2 << 20), Some(2.0));
        assert_eq!(times(Operation::Write, past, BlockState::Flushed, 512), Some(1.0));
        assert_eq!(times(Operation::Read, "plain-8", BlockState::Flushed, 512), Some(1.0));
        assert_eq!(times(Operation::Read, "plain-8", BlockState::Warm, 512), None);
    }
}
