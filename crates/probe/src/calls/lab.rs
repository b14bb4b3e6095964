//! The equipment of a run, on the CPU that measures: clocks, sets and victims, and what each visit does with them.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::caches::{Caches, LINE};
use super::cold::Clear;
use super::floor::Floors;
use super::pmu::{Count, Tried};
use super::stage::{Excess, Stage, Tools};
use super::subject::{Body, On, Singles, nothing};
use super::walk::Field;
use crate::Error;

/// Time of a batch of warm calls: long compared with the clock's step, short compared with a time slice.
const BATCH: Duration = Duration::from_micros(20);
/// Numbers of lines of the victims that make up the curve, as shares of the level-1 data cache's lines.
const VICTIMS: [f64; 15] =
    [0.0, 0.006, 0.0125, 0.025, 0.04, 0.0625, 0.09, 0.125, 0.18, 0.25, 0.35, 0.5, 0.67, 0.85, 1.0];

/// Times of calls after the caches were cleared, in ns.
#[derive(Debug, Default)]
pub(super) struct Cold {
    /// Times of the first call.
    pub(super) first: Vec<f64>,
    /// Times of the call right after it.
    pub(super) second: Vec<f64>,
}

/// Caches cleared, sets linked.
pub(super) struct Lab {
    tools: Tools,
    /// What clears the caches.
    pub(super) clear: Clear,
    /// Time that clearing takes.
    pub(super) clear_time: Duration,
    /// The set with which footprints are found.
    pub(super) footprint: Stage,
    /// The sets whose damage is of interest, by their bytes.
    pub(super) damage: Vec<(usize, Stage)>,
    /// Victims of known size, by their lines.
    pub(super) victims: Vec<(usize, Box<dyn Body>)>,
    pub(super) floors: Result<Floors, Error>,
}

impl Lab {
    /// Sets up everything; the calling thread touches it first.
    ///
    /// # Errors
    /// If memory is short or the system forbids generated code.
    pub(super) fn new(caches: Caches, damage_bytes: &[usize], seed: u64) -> Result<Self, Error> {
        let mut random = fastrand::Rng::with_seed(seed);
        let field = Arc::new(Field::new((caches.l2 / 2).clamp(4 * caches.l1d, 1 << 20))?);
        let lines = (caches.l1d / LINE) as f64;
        let victims = VICTIMS.map(|share| {
            let lines = (share * lines).round() as usize;
            (lines, victim(&field, lines, random.u64(..)))
        });
        let mut sizes = damage_bytes.to_vec();
        sizes.push(caches.l1d);
        sizes.sort_unstable();
        sizes.dedup();
        let damage = sizes
            .into_iter()
            .map(|bytes| Ok((bytes, Stage::damage(bytes, caches, &mut random)?)))
            .collect::<Result<_, Error>>()?;
        let clear = Clear::new(caches)?;
        clear.run();
        let start = Instant::now();
        clear.run();
        let clear_time = start.elapsed();
        let tools = Tools::new(caches, &mut random)?;
        Ok(Self {
            clear,
            clear_time,
            footprint: Stage::footprint(caches, &tools, &mut random)?,
            tools,
            damage,
            victims: victims.into(),
            floors: Floors::new(caches, &mut random),
        })
    }

    /// How many calls make a batch; at most as many as the body can make in a row.
    pub(super) fn batch(&self, body: &mut dyn Body, most: usize) -> io::Result<usize> {
        let mut calls = 1;
        while calls < most && self.time(body, calls)? < BATCH.as_nanos() as f64 {
            calls = (2 * calls).min(most);
        }
        Ok(calls)
    }

    /// Time of warm calls, in ns per call, one figure per batch; the loop's own time is subtracted.
    pub(super) fn warm(&self, body: &mut dyn Body, calls: usize, batches: usize) -> io::Result<Vec<f64>> {
        let mut none = nothing();
        let mut empty = (0..5).map(|_| self.time(&mut *none, calls)).collect::<io::Result<Vec<_>>>()?;
        empty.sort_by(f64::total_cmp);
        let one = |_| Ok((self.time(body, calls)? - empty[empty.len() / 2]) / calls as f64);
        (0..batches).map(one).collect()
    }

    fn time(&self, body: &mut dyn Body, calls: usize) -> io::Result<f64> {
        body.within(calls, |call| {
            let start = self.tools.clock.now();
            call();
            self.tools.clock.ns(self.tools.clock.now() - start)
        })
    }

    /// Time of single calls after the caches were cleared and of a second one right after, or where the body makes one
    /// at a time after it has got ready anew, in ns; the time of reading the clock is included.
    pub(super) fn cold(&self, body: &mut dyn Body, most: usize, times: usize) -> io::Result<Cold> {
        let clock = &self.tools.clock;
        let mut cold = Cold::default();
        let timed = |calls: &mut Singles<'_>| {
            let start = clock.now();
            calls.call();
            clock.ns(clock.now() - start)
        };
        let first = |calls: &mut Singles<'_>| timed(calls.after(|| self.clear.run()));
        for _ in 0..times {
            let (first, second) = if most < 2 {
                (body.one_by_one(1, first)?, body.one_by_one(1, timed)?)
            } else {
                body.one_by_one(2, |calls| (first(calls), timed(calls)))?
            };
            cold.first.push(first);
            cold.second.push(second);
        }
        Ok(cold)
    }

    /// As [`cold`](Self::cold), without a call.
    pub(super) fn cold_nothing(&self, times: usize) -> Cold {
        self.cold(&mut *nothing(), 2, times).unwrap_or_default()
    }

    /// How much of the footprint's set a call evicts, in ns of its walk.
    pub(super) fn evicted(&mut self, body: &mut dyn Body, repeats: usize) -> io::Result<f64> {
        let excess = self.footprint.excess(body, repeats, &self.tools, None)?;
        Ok(excess.map_or(f64::NAN, |excess| excess.ns))
    }

    /// As [`evicted`](Self::evicted), for a victim of known size.
    pub(super) fn calibrate(&mut self, victim: usize, repeats: usize) -> f64 {
        let (_, body) = &mut self.victims[victim];
        let excess = self.footprint.excess(&mut **body, repeats, &self.tools, None);
        excess.ok().and_then(Result::ok).map_or(f64::NAN, |excess| excess.ns)
    }

    /// Lines that a call fetches, by a counter of the level-1 data cache's misses.
    pub(super) fn fetched(
        &mut self,
        body: &mut dyn Body,
        repeats: usize,
        count: &mut dyn Count,
    ) -> Tried<f64> {
        self.footprint.fetched(body, repeats, &self.tools, count)
    }

    /// What a call costs the walk of a set.
    pub(super) fn damage(
        &mut self,
        set: usize,
        body: &mut dyn Body,
        repeats: usize,
        misses: Option<&mut dyn Count>,
    ) -> Tried<Excess> {
        self.damage[set].1.excess(body, repeats, &self.tools, misses)
    }

    /// The cost of a line that was pushed out of a set, in ns; of the footprint's set if none is named.
    pub(super) fn penalty(&mut self, set: Option<usize>, repeats: usize) -> Option<f64> {
        let stage = match set {
            Some(set) => &mut self.damage[set].1,
            None => &mut self.footprint,
        };
        stage.penalty(repeats, &self.tools)
    }
}

/// A body that touches this many lines of the field, different ones each time.
pub(super) fn victim(field: &Arc<Field>, lines: usize, draw: u64) -> Box<dyn Body> {
    On::new((Arc::clone(field), draw)).body(move |(field, draw), _| {
        field.touch(lines, *draw);
        // A large step, so that none of the lines is drawn again soon.
        *draw = draw.wrapping_add(0x5851_f42d_4c95_7f2d);
        0
    })
}
