//! One crew's turn: batches of every size of a program, in random order.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use coho_platform::stolen::involuntary_switches_of_process;
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
/// A disturbed batch is done again until there are this many times as many batches as wanted.
const RETAKES: usize = 3;

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
    /// The same as `seconds` and `waiting`, of batches during which a thread lost its CPU.
    pub(super) disturbed: Disturbed,
}

/// What batches gave that other work disturbed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Disturbed {
    pub(super) seconds: Vec<f64>,
    pub(super) waiting: Vec<f64>,
}

impl Samples {
    /// Counts all batches as disturbed: the hypervisor took CPUs meanwhile, and does not say when.
    pub(super) fn disturb(&mut self) {
        self.disturbed.seconds.append(&mut self.seconds);
        self.disturbed.waiting.append(&mut self.waiting);
    }
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
    let most = RETAKES * kinds.len();
    let mut kinds = VecDeque::from(kinds);
    let mut done = 0;
    while let Some(watched) = kinds.pop_front() {
        if effort.end.has_come() || done >= FEWEST && started.elapsed() > effort.time {
            break;
        }
        done += 1;
        crew.watch(watched);
        let switches = involuntary_switches_of_process();
        let ticks = batch(crew, repeats);
        let is_disturbed = involuntary_switches_of_process() != switches;
        let computed = crew.computed();
        let (seconds, waiting) = match is_disturbed {
            true => (&mut samples.disturbed.seconds, &mut samples.disturbed.waiting),
            false => (&mut samples.seconds, &mut samples.waiting),
        };
        if !watched {
            seconds.push(clock.ns(ticks) / 1e9 / repeats as f64);
        } else if !computed.is_empty() {
            let busy = computed.iter().sum::<u64>() as f64 / computed.len() as f64;
            waiting.push((1.0 - busy / ticks as f64).max(0.0));
        }
        if is_disturbed && done < most {
            kinds.push_back(watched);
        }
    }
    crew.watch(false);
    samples
}
