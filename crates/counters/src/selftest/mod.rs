//! Which events count correctly on this CPU: before an event is used, it is tried on work whose counts are known.
//!
//! Tables and the kernel's translation both err: perf's generic event for instruction-cache misses counts nothing on a
//! Zen 3, and a hypervisor may present another CPU model than the real one.

use std::collections::BTreeMap;

use crate::tables::{Candidate, Identity, candidates};
use crate::{Column, Counter, Error, Mode, clock};

mod bench;
mod caches;
mod expectation;
mod judge;
#[cfg(test)]
mod tests;
mod work;

use bench::{Bench, Piece};
pub use caches::Caches;
pub use expectation::{Bounds, expectation};
pub use judge::{Check, Observation, Verdict, judge};
pub use work::{Kind, Reach, Work};

/// How often each piece of work is counted; the quickest run is the one that was disturbed least.
const RUNS: usize = 5;
/// How often the CPU's frequency is measured; an interruption spoils a try.
const TRIES: usize = 5;

/// The known work, laid out for the CPU that the caller runs on. Pin the thread first.
#[derive(Debug)]
pub struct SelfTest {
    caches: Caches,
    bench: Bench,
}

impl SelfTest {
    /// Lays out the work for a CPU with these caches; takes some ms and 4 to 40 MiB.
    ///
    /// # Errors
    /// [`Error::System`] if there is no room, or no memory may be made executable; [`Error::Invalid`] for lines of a
    /// size that no CPU has.
    pub fn new(caches: Caches) -> Result<Self, Error> {
        if Work::that_fits(&caches).is_empty() {
            return Err(Error::Invalid("a cache line of this size exists on no CPU"));
        }
        Ok(Self { caches, bench: Bench::lay_out(&caches)? })
    }

    /// Tries a candidate on all work whose count of the column's events is known; takes some tenths of a second.
    pub fn test(&self, column: Column, candidate: &Candidate) -> Verdict {
        match self.observe(column, candidate) {
            Ok(observations) => judge(column, &observations, &self.caches),
            Err(error) => Verdict::untried(error.to_string()),
        }
    }

    fn observe(&self, column: Column, candidate: &Candidate) -> Result<Vec<Observation>, Error> {
        let open = |event| Counter::open(event, Mode::User);
        let counters = candidate.events.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let ghz = (0..TRIES).find_map(|_| clock::effective_ghz().ok());
        // Whether anything is expected of some work depends on whether its cycles are known, not on how many they are.
        let known = ghz.map(|_| 0.0);
        self.bench
            .pieces()
            .filter(|piece| expectation(column, piece.work, &self.caches, known).is_some())
            .map(|piece| observe(piece, &counters, ghz))
            .collect()
    }
}

/// The sum of the counters over the quickest of several runs of a piece of work.
fn observe(piece: Piece<'_>, counters: &[Counter], ghz: Option<f64>) -> Result<Observation, Error> {
    let clock = clock::Clock::get();
    let sum = || counters.iter().map(Counter::read_by_kernel).sum::<Result<u64, _>>();
    let mut runs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        piece.prepare();
        let before = sum()?;
        let start = clock.now();
        piece.run();
        let ticks = clock.now() - start;
        runs.push((ticks, sum()?.wrapping_sub(before)));
    }
    let &(ticks, count) = runs.iter().min().expect("several runs");
    let ns = clock.ns(ticks);
    Ok(Observation { work: *piece.work, count, ns, cycles: ghz.map(|ghz| ns * ghz) })
}

/// The self-test of one candidate of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// The column.
    pub column: Column,
    /// What was tried for it.
    pub candidate: Candidate,
    /// The outcome.
    pub verdict: Verdict,
    /// Whether it is used for the column: it is the first in order of preference that passed.
    pub chosen: bool,
}

/// The events to use on this CPU, and all that were tried.
#[derive(Debug, Clone, PartialEq)]
pub struct EventSet {
    /// The CPU's identity as it reports it.
    pub identity: Identity,
    /// The event, or sum of events, for each column that has a correct one.
    pub chosen: BTreeMap<Column, Candidate>,
    /// Every candidate of every column.
    pub tests: Vec<Test>,
}

/// Tries every event that may stand for `columns` on the CPU that the caller runs on, and chooses. Pin the thread
/// first. Takes some seconds if there are counters, some 0.1 s if there are none.
///
/// # Errors
/// As [`SelfTest::new`]. An event that cannot be opened is not an error here, but the outcome of its test.
///
/// ```
/// use coho_counters::{Column, selftest};
///
/// let events = selftest::choose(&[Column::L1dMisses, Column::Cycles])?;
/// for test in &events.tests {
///     let outcome = if test.chosen { "chosen" } else if test.verdict.passed { "passed" } else { "failed" };
///     println!("{} {}: {outcome}: {}", test.column, test.candidate, test.verdict.why);
/// }
/// # Ok::<(), coho_counters::Error>(())
/// ```
pub fn choose(columns: &[Column]) -> Result<EventSet, Error> {
    let identity = Identity::here();
    let selftest = SelfTest::new(Caches::here())?;
    let mut chosen = BTreeMap::new();
    let mut tests = Vec::new();
    for &column in columns {
        for candidate in candidates(&identity, column) {
            let verdict = selftest.test(column, &candidate);
            let first = verdict.passed && !chosen.contains_key(&column);
            if first {
                chosen.insert(column, candidate.clone());
            }
            tests.push(Test { column, candidate, verdict, chosen: first });
        }
    }
    Ok(EventSet { identity, chosen, tests })
}
