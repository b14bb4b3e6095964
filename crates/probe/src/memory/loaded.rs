//! Latency on one CPU while others stream.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use coho_platform::stolen;
use coho_profile::{LoadedLatency, Operation};

use super::latency::linked;
use super::loops::{Code, Loop, VALUE, fence};
use super::survey::Survey;
use super::together::Together;
use super::{Options, Region};
use crate::clock::Clock;
use crate::frame::Passes;
use crate::workers::Job;
use crate::{Error, statistics};

/// Bytes after which a streaming thread pauses.
const CHUNK: usize = 1 << 10;
/// Pauses, in ns; the first is none.
const PAUSES_NS: [f64; 5] = [0.0, 50.0, 200.0, 1000.0, 5000.0];
const PAUSES_QUICK_NS: [f64; 3] = [0.0, 200.0, 1000.0];
/// Windows of a visit.
const WINDOWS: usize = 16;
/// One byte in this many of the available memory may be used for each of the ring and the streams.
const MEMORY_SHARE: usize = 8;

/// A smaller ring or stream would stay in the caches.
const LEAST_RING: usize = 1 << 20;
const LEAST_STREAM: usize = 4 << 20;

/// What one visit saw: ns of each window, or bytes a second of a stream.
enum Seen {
    Latency(Vec<f64>),
    Rate(f64),
}

/// Adds the latency under each load.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    let Some((&reader, others)) = survey.frame.cpus.split_first().filter(|(_, others)| !others.is_empty())
    else {
        survey.lacks("loaded latency", "it takes a second CPU");
        return Ok(());
    };
    let others = others.to_vec();
    let quick = survey.options.quick;
    let room = coho_platform::memory::room() as usize / MEMORY_SHARE;
    let bytes = (survey.cache() * 3 / 2).min(room / 2);
    let each =
        (2 * survey.cache() / others.len()).clamp(LEAST_STREAM, (room / others.len()).max(LEAST_STREAM));
    if bytes < LEAST_RING || room < LEAST_STREAM {
        survey.lacks(
            "loaded latency",
            format!("{room} bytes, an eighth of the memory that is left, are too few"),
        );
        return Ok(());
    }

    let Options { paging, node, .. } = *survey.options;
    let mut random = survey.frame.random.fork();
    let ring = survey.frame.run(reader, move || linked(bytes as u64, paging, node, &mut random))??;
    let map = |&cpu: &u32| {
        let job: Job<'_, Result<Region, Error>> = Box::new(move || Region::write_back_on(each, paging, node));
        (cpu, job)
    };
    let regions = survey
        .frame
        .workers
        .run(others.iter().map(map).collect())
        .into_iter()
        .map(|done| done?.value)
        .collect::<Result<Vec<_>, Error>>()?;

    let passes = if quick { 2 } else { 4 };
    let pauses: &[f64] = if quick { &PAUSES_QUICK_NS } else { &PAUSES_NS };
    let mut cells = Vec::new();
    for one in streams(quick) {
        for &pause_ns in pauses {
            cells.push((one, pause_ns, Vec::new(), Vec::new()));
        }
    }
    let frame = &mut survey.frame;
    let end = frame.end().clone();
    let (mut at, mut dropped) = (0, 0);
    for step in Passes::new(passes, cells.len(), &mut frame.random, &end) {
        let (one, pause_ns, latencies, rates) = &mut cells[step.at];
        let code = one.code().expect("those that are missing are left out");
        let (together, stop) = (&Together::of(1 + others.len()), &AtomicBool::new(false));
        let (ring, at) = (&ring, &mut at);
        let chase: Job<'_, Seen> = Box::new(move || {
            let clock = Clock::get();
            if !together.begin(0) {
                return Seen::Latency(Vec::new());
            }
            // What the others move fills the way to memory after some windows.
            ring.follow(at, 4, &clock);
            let windows = (0..WINDOWS)
                .filter_map(|_| {
                    let before = stolen::involuntary_switches();
                    let ns = ring.follow(at, 1, &clock)[0];
                    (stolen::involuntary_switches() == before).then_some(ns)
                })
                .collect();
            stop.store(true, Release);
            Seen::Latency(windows)
        });
        let pause_ns = *pause_ns;
        let streams = others.iter().zip(&regions).map(|(&cpu, region)| {
            let job: Job<'_, Seen> = Box::new(move || match together.begin(0) {
                true => {
                    Seen::Rate(stream(code, region, pause_ns, || stop.load(Acquire) || together.is_over()))
                }
                false => Seen::Rate(0.0),
            });
            (cpu, job)
        });
        let (mut windows, mut rate, mut interrupted) = (Vec::new(), 0.0, false);
        for done in frame.workers.run([(reader, chase)].into_iter().chain(streams).collect()) {
            let done = done?;
            let switches = done.involuntary_switches;
            match frame.value(done) {
                Seen::Latency(all) => windows = all,
                Seen::Rate(one) => {
                    rate += one;
                    interrupted |= switches > 0;
                }
            }
        }
        // Without the load that it is to stand beside, a latency says nothing.
        if together.is_over() || interrupted {
            dropped += 1;
            continue;
        }
        latencies.push(windows);
        rates.push(vec![rate]);
    }
    frame.parameter("loaded_visits_dropped", dropped);
    survey.memory.loaded = cells
        .iter()
        .map(|(one, pause_ns, latencies, rates)| LoadedLatency {
            bytes: bytes as u64,
            op: one.op(),
            instruction: one.instruction().into(),
            threads: others.len() as u32,
            pause_ns: *pause_ns,
            injected_bytes_per_s: statistics::estimate(rates),
            latency_ns: statistics::estimate(latencies),
        })
        .collect();
    Ok(())
}

/// What the other CPUs do: reads by the widest registers, and stores past the caches.
fn streams(quick: bool) -> Vec<&'static Loop> {
    let widest = |op, forms: &[&str]| {
        Loop::all()
            .iter()
            .rfind(|one| one.op() == op && forms.contains(&one.instruction()) && one.missing().is_none())
    };
    let read = widest(Operation::Read, &["sse2", "avx2", "avx512", "neon"]);
    let write = widest(Operation::Write, &["sse2-nt", "avx2-nt", "avx512-nt", "neon-nt"]);
    read.into_iter().chain(write.filter(|_| !quick)).collect()
}

/// Streams until it is to stop; returns bytes a second.
fn stream(code: Code, region: &Region, pause_ns: f64, is_over: impl Fn() -> bool) -> f64 {
    let clock = Clock::get();
    let (mut offset, mut bytes) = (0, 0u64);
    let start = clock.now();
    while !is_over() {
        // SAFETY: the chunk lies within the region.
        unsafe {
            let chunk = region.start().add(offset).as_ptr();
            code(chunk, chunk, CHUNK, VALUE);
        }
        bytes += CHUNK as u64;
        offset += CHUNK;
        if offset + CHUNK > region.bytes() {
            offset = 0;
        }
        if pause_ns > 0.0 {
            let now = clock.now();
            while clock.ns(clock.now() - now) < pause_ns {
                std::hint::spin_loop();
            }
        }
    }
    // Stores count once they are done.
    fence();
    bytes as f64 / clock.ns(clock.now() - start) * 1e9
}
