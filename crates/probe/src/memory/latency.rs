//! Latency of loads that wait for each other, by size.

use coho_platform::pages::Paging;
use coho_platform::stolen;
use coho_profile::{CacheType, MemoryLatency};

use super::Options;
use super::survey::Survey;
use crate::clock::Clock;
use crate::coherence::chase::{LINE, Ring, STRIDE, memory};
use crate::{Error, statistics};

/// One byte in this many of the available memory may be used.
const MEMORY_SHARE: u64 = 4;
/// Windows of a visit: 512 loads each.
const WINDOWS: usize = 16;

/// Adds the latency of each size.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    let sizes = sizes(survey);
    let passes = if survey.options.quick { 2 } else { 4 };
    let end = survey.frame.end().clone();
    let Options { paging, node, .. } = *survey.options;
    let mut random = survey.frame.random.fork();
    survey.memory.latency = survey.on_first(move || -> Result<_, Error> {
        let mut rows = Vec::new();
        for bytes in sizes {
            if end.has_come() {
                break;
            }
            let ring = linked(bytes, paging, node, &mut random)?;
            let (clock, mut at) = (Clock::get(), 0);
            // Once around what the caches can hold.
            ring.follow(&mut at, (bytes as usize / LINE / 512).clamp(1, 64), &clock);
            // One pass, however often it is repeated: linking another ring would take longer than all else.
            let all = (0..passes).flat_map(|_| undisturbed(&ring, &mut at, &clock)).collect();
            rows.push(MemoryLatency {
                bytes,
                cache_type: CacheType::WriteBack,
                page_bytes: ring.page_bytes(),
                node: ring.node(),
                ns: statistics::estimate(&[all]),
            });
        }
        Ok(rows)
    })??;
    Ok(())
}

/// A ring of `bytes` of lines that the calling CPU has just written.
pub(super) fn linked(
    bytes: u64,
    paging: Paging,
    node: Option<u32>,
    random: &mut fastrand::Rng,
) -> Result<Ring, Error> {
    let ring = Ring::link(memory(bytes, paging, node)?, bytes, random)?;
    ring.load();
    Ok(ring)
}

/// Windows in which nothing interrupted.
fn undisturbed(ring: &Ring, at: &mut usize, clock: &Clock) -> Vec<f64> {
    (0..WINDOWS)
        .filter_map(|_| {
            let before = stolen::involuntary_switches();
            let ns = ring.follow(at, 1, clock);
            (stolen::involuntary_switches() == before).then(|| ns[0])
        })
        .collect()
}

/// From less than any level-1 cache to more than the last, as far as memory allows.
fn sizes(survey: &mut Survey<'_>) -> Vec<u64> {
    let cache = survey.cache() as u64;
    let largest = if survey.options.quick { cache + cache / 2 } else { 4 * cache };
    let step = if survey.options.quick { 16 } else { 2 };
    let mut sizes: Vec<u64> = std::iter::successors(Some(16 << 10), |bytes| Some(step * bytes))
        .take_while(|bytes| *bytes < largest)
        .chain([largest])
        .collect();
    let room = coho_platform::memory::room() / MEMORY_SHARE * LINE as u64 / STRIDE as u64;
    if largest > room {
        let why = format!("rings of more than {room} bytes do not fit in a quarter of the available memory");
        survey.lacks("latency beyond the caches", why);
        sizes.retain(|bytes| *bytes <= room);
    }
    sizes
}
