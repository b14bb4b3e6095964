//! One crew's turn: batches of every size of a program, in random order.

use std::time::{Duration, Instant};

use super::crew::Crew;
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

/// A problem's size and what it takes to solve it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// Loop length, unknowns or cells.
    pub(super) n: u64,
    /// Floating-point operations of one run.
    pub(super) operations: u64,
}

/// A program that crews run.
pub(super) trait Program: Sync {
    /// A problem set up for a crew.
    type Problem;

    /// Parallel regions of a run.
    const REGIONS: u64;

    /// Barriers of a run beside the regions' own fork and join.
    const BARRIERS: u64;

    /// Whether its inner loops are compiled for the widest vectors of the CPU, or for those that all such CPUs have.
    const WIDE: bool;

    /// Whether a run may begin where the previous one ended; otherwise each is timed by itself.
    const REPEATABLE: bool;

    /// The sizes to run, smallest first.
    fn sizes(&self) -> &[Size];

    /// Sets up a problem of a size; each thread first touches the memory that it will use.
    fn set_up(&self, size: usize, crew: &mut impl Crew) -> Result<Self::Problem, Error>;

    /// Resets the problem to its initial state.
    fn reset(&self, problem: &mut Self::Problem);

    /// Solves the problem: what is timed.
    fn run(&self, problem: &mut Self::Problem, crew: &mut impl Crew);

    /// Relative deviation of the conserved or known quantity after a run.
    ///
    /// # Errors
    /// If the result is not the one that every crew must reach.
    fn check(&self, problem: &Self::Problem) -> Result<f64, Error>;
}

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
