//! One visit: loads that wait for each other on one CPU, as long as all others are under way.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use coho_platform::stolen;

use super::super::region::Region;
use super::super::together::Together;
use super::traffic::Mover;
use crate::Error;
use crate::clock::Clock;
use crate::coherence::chase::Ring;
use crate::frame::Frame;
use crate::workers::Job;

/// Windows of a visit: 512 loads each.
const WINDOWS: usize = 16;
/// Windows after which what the others move fills the way to memory.
const SETTLING: usize = 4;

/// What one CPU saw: ns of each window, or bytes a second.
enum Seen {
    Latency(Vec<f64>),
    Rate(f64),
}

/// What a visit saw.
pub(super) struct Visited {
    pub(super) latencies: Vec<f64>,
    /// What the others moved together, in bytes a second.
    pub(super) bytes_per_s: f64,
}

/// The CPUs that take part, and their memory.
pub(super) struct Places<'a> {
    pub(super) reader: u32,
    pub(super) ring: &'a Ring,
    pub(super) others: &'a [(u32, Region)],
}

impl Places<'_> {
    /// Times loads while the others move data, or nothing; `None` if one of them was away meanwhile: without the load that
    /// it is to stand beside, a latency says nothing.
    pub(super) fn visit(
        &self,
        frame: &mut Frame<'_>,
        at: &mut usize,
        mover: Option<Mover>,
        pause_ns: f64,
    ) -> Result<Option<Visited>, Error> {
        let others = if mover.is_some() { self.others } else { &[] };
        let (together, stop) = (&Together::of(1 + others.len()), &AtomicBool::new(false));
        let ring = self.ring;
        let chase: Job<'_, Seen> = Box::new(move || {
            let clock = Clock::get();
            if !together.begin(0) {
                return Seen::Latency(Vec::new());
            }
            ring.follow(at, SETTLING, &clock);
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
        let movers = others.iter().filter_map(|(cpu, region)| Some((*cpu, region, mover?)));
        let movers = movers.map(|(cpu, region, mover)| {
            let job: Job<'_, Seen> = Box::new(move || match together.begin(0) {
                true => Seen::Rate(mover.run(region, pause_ns, || stop.load(Acquire) || together.is_over())),
                false => Seen::Rate(0.0),
            });
            (cpu, job)
        });
        let (mut visited, mut interrupted) = (Visited { latencies: Vec::new(), bytes_per_s: 0.0 }, false);
        for done in frame.workers.run([(self.reader, chase)].into_iter().chain(movers).collect()) {
            let done = done?;
            let switches = done.involuntary_switches;
            match frame.value(done) {
                Seen::Latency(all) => visited.latencies = all,
                Seen::Rate(one) => {
                    visited.bytes_per_s += one;
                    interrupted |= switches > 0;
                }
            }
        }
        Ok((!together.is_over() && !interrupted).then_some(visited))
    }
}
