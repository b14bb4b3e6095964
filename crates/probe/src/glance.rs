//! Glances at a machine: a hand-over, the clock or a few loads from memory in about a millisecond each, so that somebody
//! can look again and again while other work runs.

use coho_counters::clock::{Clock, glimpse_ghz};
use coho_platform::pages::{Pages, Paging};
use coho_profile::PairMethod;
use coho_topology::CpuSet;

use crate::coherence::arena::Arena;
use crate::coherence::chase::{self, Ring};
use crate::coherence::run::{Effort, level};
use crate::coherence::visit::{Kind, Task};
use crate::coherence::watch::sample;
use crate::workers::{Job, Workers};
use crate::{Error, statistics};

/// The most pairs that take turns: more would be looked at too seldom.
const MOST_PAIRS: usize = 8;
/// Lines of the ring that loads follow: more than a core's own caches hold.
const RING_BYTES: u64 = 64 << 20;
/// Windows of it that are timed at a glance.
const WINDOWS: usize = 8;

/// What glances need: a thread on each CPU that is looked at, which sleeps meanwhile, and memory of its own.
pub struct Glances {
    workers: Workers,
    arena: Arena,
    pairs: Vec<Pair>,
    turn: usize,
    ring: Option<Ring<Pages>>,
    at: usize,
}

/// Two CPUs, and how many round trips make a batch of theirs.
struct Pair {
    cpus: (u32, u32),
    rounds: u64,
}

impl Glances {
    /// Glances at these CPUs, of which pairs of neighbours take turns: up to eight, evenly spread if there are more.
    ///
    /// ```
    /// use coho_probe::glance::Glances;
    /// let mut glances = Glances::at(&coho_platform::pin::allowed()?)?;
    /// if let Some(((a, b), ns)) = glances.hand_over() {
    ///     assert!(a != b && ns > 0.0);
    /// }
    /// # Ok::<(), coho_probe::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a thread cannot be pinned to one of them, or there is no room.
    pub fn at(cpus: &CpuSet) -> Result<Self, Error> {
        let pairs = pairs(&cpus.iter().collect::<Vec<_>>());
        let mut used: Vec<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        used.extend(cpus.first());
        let workers = Workers::start(&used)?;
        let pairs = pairs.into_iter().map(|cpus| Pair { cpus, rounds: 0 }).collect();
        Ok(Self { workers, arena: Arena::map()?, pairs, turn: 0, ring: None, at: 0 })
    }

    /// The pairs of CPUs; none if there is a single CPU.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.pairs.iter().map(|pair| pair.cpus)
    }

    /// One-way time of a line between the two CPUs whose turn it is, by compare-and-swap in turn, in ns. `None` if there is
    /// no pair, or the two did not run at the same time.
    pub fn hand_over(&mut self) -> Option<((u32, u32), f64)> {
        let at = self.turn;
        self.turn = (at + 1) % self.pairs.len().max(1);
        let pair = self.pairs.get_mut(at)?;
        let task =
            Task { kind: Kind::Time(PairMethod::Turn), lines: self.arena.lines(), rounds: pair.rounds };
        let outcome = sample(&self.workers, pair.cpus, &task, &Effort::new(8, 16, 0.05)).ok()?;
        let ns = statistics::median_of(level(&outcome.samples))?;
        pair.rounds = outcome.rounds;
        Some((pair.cpus, ns))
    }

    /// The first CPU's clock, in GHz. `None` if something else took the CPU meanwhile.
    pub fn clock_ghz(&self) -> Option<f64> {
        self.on_first(|| glimpse_ghz().ok()).flatten()
    }

    /// Time of a load from memory on the first CPU, in ns: a chain of loads from lines that were not looked at lately, out of
    /// 64 MiB. `None` if there is no room for these.
    pub fn memory_ns(&mut self) -> Option<f64> {
        if self.ring.is_none() {
            let pages = chase::memory(RING_BYTES, Paging::Huge, None).ok()?;
            let random = &mut fastrand::Rng::with_seed(1);
            self.ring = self.on_first(move || Ring::link(pages, RING_BYTES, random).ok()).flatten();
        }
        let (ring, mut at) = (self.ring.as_ref()?, self.at);
        let (times, reached) = self.on_first(move || {
            let times = ring.follow(&mut at, WINDOWS, &Clock::get());
            (times, at)
        })?;
        self.at = reached;
        statistics::median_of(times)
    }

    fn on_first<'env, T: Send + 'env>(&self, look: impl FnOnce() -> T + Send + 'env) -> Option<T> {
        let first = *self.workers.cpus().first()?;
        let job: Job<'env, T> = Box::new(look);
        self.workers.run(vec![(first, job)]).pop()?.ok().map(|done| done.value)
    }
}

/// Neighbours in this order, so that each CPU is in one pair.
fn pairs(cpus: &[u32]) -> Vec<(u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = cpus.chunks_exact(2).map(|two| (two[0], two[1])).collect();
    // The last of an odd number has a neighbour too.
    if let &[.., before, last] = cpus
        && cpus.len() % 2 == 1
    {
        pairs.push((before, last));
    }
    let (all, kept) = (pairs.len(), pairs.len().min(MOST_PAIRS));
    (0..kept).map(|at| pairs[at * all / kept]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_is_in_a_pair_until_there_are_too_many() {
        assert_eq!(pairs(&[5]), []);
        assert_eq!(pairs(&[0, 1]), [(0, 1)]);
        assert_eq!(pairs(&[0, 1, 2]), [(0, 1), (1, 2)]);
        let many = pairs(&(0..192).collect::<Vec<_>>());
        assert_eq!(many.len(), MOST_PAIRS);
        assert_eq!((many[0], many[7]), ((0, 1), (168, 169)));
    }

    #[test]
    fn a_glance_sees_what_is_there() {
        let cpus = coho_platform::pin::allowed().unwrap();
        let mut glances = Glances::at(&cpus).unwrap();
        assert_eq!(glances.pairs().next().is_some(), cpus.len() > 1);
        // A busy neighbour may take a CPU in any of these.
        let looks = (0..50).filter_map(|_| glances.hand_over()).count();
        assert!(looks > 0 || cpus.len() < 2);
        assert!((0..50).filter_map(|_| glances.clock_ghz()).all(|ghz| (0.1..20.0).contains(&ghz)));
        assert!(glances.memory_ns().is_none_or(|ns| (0.5..1e5).contains(&ns)));
    }
}
