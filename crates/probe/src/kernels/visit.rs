//! One crew's turn: batches of every size of a program, in random order.

use std::time::{Duration, Instant};

use coho_workloads::kernels::{Crew, Program};

use crate::Error;
use crate::clock::Clock;
use crate::frame::End;

/// How long a batch of short loops takes.
pub(super) const BATCH: Duration = Duration::from_micros(40);
/// The most loops of a batch.
const MOST: u64 = 1 << 14;
/// The fewest batches of a size in a visit, even if they take long.
const FEWEST: usize = 3;
/// One batch out of this many is watched.
const WATCHED: usize = 3;

/// How much a visit does.
#[derive(Debug, Clone)]
pub(super) struct Effort {
    /// Batches of each size.
    pub(super) batches: usize,
    /// Time after which a size gets no further batch, beyond the fewest.
    pub(super) time: Duration,
    /// When to stop altogether.
    pub(super) end: End,
}

/// The results of a visit for a size.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Samples {
    /// Time of a run, in s, from each batch that was not watched.
    pub(super) seconds: Vec<f64>,
    /// Share of it in which threads waited, the mean over the threads, from each batch that was watched.
    pub(super) waiting: Vec<f64>,
    /// Deviation of the conserved or known quantity.
    pub(super) error: Option<f64>,
}

/// Lets a crew run every size of a program in random order; ends early as `effort` says, with what it has.
pub(super) fn visit<P: Program>(
    program: &P,
    crew: &mut impl Crew,
    effort: &Effort,
    random: &mut fastrand::Rng,
) -> Result<Vec<Samples>, Error> {
    let mut order: Vec<usize> = (0..program.sizes().len()).collect();
    random.shuffle(&mut order);
    let mut all = vec![Samples::default(); order.len()];
    for size in order {
        if effort.end.has_come() {
            break;
        }
        let mut problem = program.set_up(size, crew)?;
        all[size] = batches(program, &mut problem, crew, effort, random);
        // The last batch's result stands for all: each begins anew or repeats the same work.
        all[size].error = Some(program.check(&problem)?);
    }
    Ok(all)
}

fn batches<P: Program>(
    program: &P,
    problem: &mut P::Problem,
    crew: &mut impl Crew,
    effort: &Effort,
    random: &mut fastrand::Rng,
) -> Samples {
    let clock = Clock::get();
    let mut batch = |crew: &mut _, repeats: u64| {
        program.reset(problem);
        let start = clock.now();
        for _ in 0..repeats {
            program.run(problem, crew);
        }
        clock.now() - start
    };
    let started = Instant::now();
    let mut repeats = 1;
    // This also warms the caches and wakes the crew.
    while P::REPEATABLE && repeats < MOST && batch(crew, repeats) < clock.ticks(BATCH) {
        repeats *= 2;
    }
    batch(crew, repeats);
    let mut samples = Samples::default();
    let mut kinds: Vec<bool> = (0..effort.batches).map(|at| at % WATCHED == 1).collect();
    random.shuffle(&mut kinds);
    // A visit that ends after the fewest batches has also watched one.
    if let Some(first) = kinds.iter().position(|&watched| watched) {
        kinds.swap(first, first.min(FEWEST - 1));
    }
    for (done, watched) in kinds.into_iter().enumerate() {
        if effort.end.has_come() || done >= FEWEST && started.elapsed() > effort.time {
            break;
        }
        crew.watch(watched);
        let ticks = batch(crew, repeats);
        let computed = crew.computed();
        if !watched {
            samples.seconds.push(clock.ns(ticks) / 1e9 / repeats as f64);
        } else if !computed.is_empty() {
            let busy = computed.iter().sum::<u64>() as f64 / computed.len() as f64;
            samples.waiting.push((1.0 - busy / ticks as f64).max(0.0));
        }
    }
    crew.watch(false);
    samples
}
