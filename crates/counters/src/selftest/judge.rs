//! Whether an event counted what known work causes.

use std::fmt;

use super::expectation::{Bounds, expectation};
use super::{Caches, Kind, Reach, Work};
use crate::Column;

/// What a piece of work was observed to count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The work.
    pub work: Work,
    /// The count, in user mode.
    pub count: u64,
    /// How long it took, in ns.
    pub ns: f64,
    /// Core cycles that it took by the clock; `None` if the CPU's frequency is not known.
    pub cycles: Option<f64>,
}

/// An observation against what was expected of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Check {
    /// What was observed.
    pub observation: Observation,
    /// What had to be.
    pub expected: Bounds,
}

impl Check {
    /// Whether the count lies within the bounds.
    pub fn passed(&self) -> bool {
        self.expected.contain(self.observation.count)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} counted, {} expected", self.observation.work, self.observation.count, self.expected)
    }
}

/// The outcome of an event's self-test.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether the event may be used for the column.
    pub passed: bool,
    /// The counts that decided, or why nothing could be counted.
    pub why: String,
    /// Every count whose bounds are known.
    pub checks: Vec<Check>,
}

impl Verdict {
    /// An event that could not be tried.
    pub(super) fn untried(why: String) -> Self {
        Self { passed: false, why, checks: Vec::new() }
    }
}

/// Judges what an event counted. Every count must lie within its bounds, and some work must be certain to cause the
/// event, since a dead event also counts nothing where there is nothing to count.
///
/// Perf's generic event for instruction-cache misses counted 0 of 1024 lines of nops on a Zen 3, the CPU's own event
/// 0x18e/18 1031:
///
/// ```
/// use coho_counters::Column;
/// use coho_counters::selftest::{Caches, Kind, Observation, Work, judge};
///
/// let kib = |n: usize| Some(n << 10);
/// let caches = Caches {
///     line_bytes: 64, l1d_bytes: kib(32), l1i_bytes: kib(32), l2_bytes: kib(512), l3_bytes: kib(32 << 10),
/// };
/// let work = Work { kind: Kind::Nops, bytes: 64 << 10, operations: 1024 };
/// let verdict = |count| judge(Column::L1iMisses, &[Observation { work, count, ns: 5e3, cycles: None }], &caches);
/// assert!(!verdict(0).passed);
/// assert!(verdict(1031).passed);
/// assert_eq!(verdict(0).why, "1024 lines of nops over 64 KiB: 0 counted, 716 to 1382 expected");
/// ```
pub fn judge(column: Column, observations: &[Observation], caches: &Caches) -> Verdict {
    let idle_l3 = (column == Column::L3Misses).then(|| without_l3(observations)).flatten();
    let checks: Vec<_> = observations
        .iter()
        .filter(|observation| idle_l3.is_none() || observation.work.kind != Kind::Chase(Reach::L3))
        .filter_map(|&observation| {
            let expected = expectation(column, &observation.work, caches, observation.cycles)?;
            Some(Check { observation, expected })
        })
        .collect();
    if !checks.iter().any(|check| check.expected.low > 0) {
        let why = format!(
            "no available work is certain to cause {column}, so an event that never counts could not be \
             detected"
        );
        return Verdict { passed: false, why, checks };
    }
    let wrong: Vec<_> = checks.iter().filter(|check| !check.passed()).collect();
    let passed = wrong.is_empty();
    let decisive =
        if passed { checks.iter().filter(|check| check.expected.low > 0).collect() } else { wrong };
    let why: Vec<_> = decisive.iter().map(ToString::to_string).chain(idle_l3).collect();
    Verdict { passed, why: why.join("; "), checks }
}

/// Why no walk stays in the level-3 cache, if none does: such a walk takes as long as one to memory. A guest may see a
/// cache of which its host leaves it next to nothing; its level-2 misses are then level-3 misses.
fn without_l3(observations: &[Observation]) -> Option<String> {
    /// As a share of the time of a load from memory.
    const SHARE: f64 = 0.6;
    let time = |reach| {
        let observation = observations.iter().find(|o| o.work.kind == Kind::Chase(reach))?;
        Some((observation.ns / observation.work.operations as f64, observation.work))
    };
    let ((l3, work), (memory, _)) = (time(Reach::L3)?, time(Reach::Memory)?);
    (l3 > SHARE * memory).then(|| {
        format!(
            "the level-3 cache does not hold {} KiB for this CPU: {l3:.0} ns a load, {memory:.0} ns from memory",
            work.bytes >> 10
        )
    })
}
