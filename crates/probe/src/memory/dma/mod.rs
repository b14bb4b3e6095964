//! Copies by engines other than the CPU: their rate by block size, and by where the source is (Hamada et al., Figs. 1
//! and 2).

mod cuda;

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::time::Duration;

use coho_profile::DmaRate;

use crate::flush::{fence, flush_line};
use crate::frame::{End, Passes};
use crate::statistics;

const LINE: usize = 64;
/// The smallest block: the paper's.
const SMALLEST: usize = 512;
/// Blocks are never larger, however large the last-level cache is.
const LARGEST: usize = 64 << 20;
/// Copies of a visit.
const COPIES: usize = 5;

/// One direction of an engine's copies.
struct Way {
    engine: &'static str,
    direction: &'static str,
    /// The source, if it is the host's: it is prepared before each copy.
    source: Option<NonNull<u8>>,
    /// Copies this many bytes once; returns the time in ns.
    copy: Box<dyn FnMut(usize) -> Result<f64, String>>,
}

/// Where the source is before a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In this CPU's caches as far as it fits, as in memory.
    Clean,
    /// In this CPU's caches as far as it fits, modified.
    Dirty,
    /// In no cache.
    Uncached,
    /// In the device's memory.
    Device,
}

impl Source {
    const HOST: [Self; 3] = [Self::Clean, Self::Dirty, Self::Uncached];

    const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Dirty => "dirty",
            Self::Uncached => "uncached",
            Self::Device => "device",
        }
    }

    /// Brings a block of the host's into this state.
    ///
    /// # Safety
    /// The block may be read and written, and nothing else uses it meanwhile.
    unsafe fn prepare(self, start: NonNull<u8>, bytes: usize) {
        // SAFETY: within the block.
        let lines = || (0..bytes).step_by(LINE).map(|at| unsafe { start.add(at) });
        if matches!(self, Self::Clean | Self::Uncached) {
            // SAFETY: they lie within regions that are mapped.
            lines().for_each(|line| unsafe { flush_line(line) });
            fence();
        }
        match self {
            Self::Clean => lines().for_each(|line| {
                // SAFETY: the caller's promise.
                let _ = unsafe { line.read_volatile() };
            }),
            // SAFETY: as above.
            Self::Dirty => lines().for_each(|line| unsafe { line.write_volatile(0x5a) }),
            Self::Uncached | Self::Device => {}
        }
        fence();
    }
}

/// What is measured together: samples of one estimate.
struct Cell {
    way: usize,
    source: Source,
    bytes: usize,
    passes: Vec<Vec<f64>>,
}

/// Rates and, by engine, why there are none.
///
/// Blocks reach four times `last_level_bytes`, the size of the last-level cache, but at most 64 MiB. The calling thread
/// prepares the sources: it should be pinned.
pub(super) fn measure(
    last_level_bytes: usize,
    (passes, time): (usize, Duration),
    random: &mut fastrand::Rng,
    end: &End,
) -> (Vec<DmaRate>, BTreeMap<String, String>) {
    let mut not_available = BTreeMap::new();
    let sizes = sizes(last_level_bytes);
    let largest = sizes.last().copied().unwrap_or(SMALLEST);
    let mut ways = cuda::ways(largest).unwrap_or_else(|why| {
        not_available.insert(format!("DMA by {}", cuda::NAME), why);
        Vec::new()
    });
    let mut cells = cells(&ways, &sizes);
    let passes = Passes::new(passes, cells.len(), random, end).within(time);
    let rates = sweep(&mut ways, &mut cells, passes, &mut not_available);
    (rates, not_available)
}

/// From the smallest block in steps of four to four times the last-level cache.
fn sizes(last_level_bytes: usize) -> Vec<usize> {
    let largest = last_level_bytes.saturating_mul(4).clamp(SMALLEST, LARGEST);
    std::iter::successors(Some(SMALLEST), |bytes| Some(bytes * 4))
        .take_while(|&bytes| bytes <= largest)
        .collect()
}

/// Each size of each source of each way.
fn cells(ways: &[Way], sizes: &[usize]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (at, way) in ways.iter().enumerate() {
        let sources: &[Source] = if way.source.is_some() { &Source::HOST } else { &[Source::Device] };
        for &source in sources {
            cells.extend(sizes.iter().map(|&bytes| Cell { way: at, source, bytes, passes: Vec::new() }));
        }
    }
    cells
}

fn sweep(
    ways: &mut [Way],
    cells: &mut [Cell],
    passes: Passes,
    not_available: &mut BTreeMap<String, String>,
) -> Vec<DmaRate> {
    for step in passes {
        let cell = &mut cells[step.at];
        let way = &mut ways[cell.way];
        match visit(way, cell.source, cell.bytes) {
            Ok(rates) => cell.passes.push(rates),
            Err(why) => {
                let name = format!("DMA by {}, {}", way.engine, way.direction);
                not_available.insert(name, why);
            }
        }
    }
    cells
        .iter()
        .filter_map(|cell| {
            Some(DmaRate {
                engine: ways[cell.way].engine.into(),
                direction: ways[cell.way].direction.into(),
                source: cell.source.name().into(),
                bytes: cell.bytes as u64,
                bytes_per_s: Some(statistics::estimate(&cell.passes)?),
            })
        })
        .collect()
}

/// The rates of some copies, in bytes a second.
fn visit(way: &mut Way, source: Source, bytes: usize) -> Result<Vec<f64>, String> {
    (0..COPIES)
        .map(|_| {
            if let Some(start) = way.source {
                // SAFETY: the source is as large as the largest block, and no copy is under way.
                unsafe { source.prepare(start, bytes) };
            }
            let ns = (way.copy)(bytes)?;
            Ok(bytes as f64 / ns * 1e9)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::clock::Clock;
    use crate::memory::Region;

    /// The CPU itself, which copies from one half of a region to the other.
    fn by_the_cpu(region: Region) -> Way {
        let (start, half) = (region.start(), region.bytes() / 2);
        let copy = move |bytes: usize| {
            assert!(bytes <= half);
            let clock = Clock::get();
            let before = clock.now();
            // SAFETY: two halves of the region, which lives as long as this.
            unsafe { region.start().copy_to_nonoverlapping(region.start().add(half), bytes) };
            Ok(clock.ns(clock.now() - before).max(1.0))
        };
        Way { engine: "CPU", direction: "host-to-host", source: Some(start), copy: Box::new(copy) }
    }

    #[test]
    fn sweeps_every_size_and_source() {
        let region = Region::write_back(1 << 16).unwrap();
        region.touch();
        let failing = Way {
            engine: "none",
            direction: "device-to-host",
            source: None,
            copy: Box::new(|_| Err("it has stopped".into())),
        };
        let mut reasons = BTreeMap::new();
        let sizes = sizes(4096);
        let mut ways = [by_the_cpu(region), failing];
        let mut cells = cells(&ways, &sizes);
        let end = End::after(Instant::now(), None);
        let passes = Passes::new(2, cells.len(), &mut fastrand::Rng::with_seed(1), &end);
        let rates = sweep(&mut ways, &mut cells, passes, &mut reasons);
        assert_eq!(rates.len(), 3 * sizes.len());
        for source in ["clean", "dirty", "uncached"] {
            assert_eq!(rates.iter().filter(|rate| rate.source == source).count(), sizes.len());
        }
        assert!(rates.iter().all(|rate| rate.bytes_per_s.as_ref().unwrap().n == 2 * COPIES as u64));
        assert_eq!(reasons["DMA by none, device-to-host"], "it has stopped");
    }

    #[test]
    fn preparing_writes_to_the_lines_of_the_block_only_to_make_them_dirty() {
        let region = Region::write_back(4096).unwrap();
        region.touch();
        // SAFETY: within the region, which nothing else uses.
        let byte = |at: usize| unsafe { region.start().add(at).read_volatile() };
        for (source, expected) in [(Source::Clean, 0), (Source::Uncached, 0), (Source::Dirty, 0x5a)] {
            // SAFETY: as above.
            unsafe { source.prepare(region.start(), 256) };
            assert_eq!([0, 1, 192, 256].map(byte), [expected, 0, expected, 0]);
        }
    }

    #[test]
    fn blocks_reach_four_times_the_last_level_but_stay_bounded() {
        assert_eq!(sizes(8192), [512, 2048, 8192, 32768]);
        assert_eq!(sizes(0), [512]);
        assert!(sizes(usize::MAX).last().is_some_and(|&largest| largest <= LARGEST));
    }
}
