//! How far two walks differ with no call between them: smaller differences say nothing about a cache.
//!
//! For the level-1 instruction cache and the level-2 cache this is all that is measured. Footprints derived from time
//! were off by a factor of 3 to 4 in the former, because calibration with victims of known size was not repeatable,
//! and by a factor of 5 to 10 in the latter, whose walk takes so long that the set decays meanwhile.

use super::caches::{Caches, LINE};
use super::code::Code;
use super::stage::trimmed_mean;
use super::walk::{Ring, Sweep};
use crate::Error;
use crate::clock::Clock;

/// The share of the cache that a set fills.
const SHARE: (usize, usize) = (3, 4);

/// Sets that fill most of a cache.
pub(super) struct Floors {
    jumps: Code,
    jumps_lines: usize,
    nops: Code,
    ring: Ring,
    sweep: Sweep,
}

/// One comparison of walks with nothing between them: their difference and the cost of a missed line, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    difference: f64,
    penalty: f64,
}

impl Floors {
    /// Generates and links them.
    ///
    /// # Errors
    /// If memory is short or the system forbids generated code.
    pub(super) fn new(caches: Caches, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let jumps_lines = caches.l1i / SHARE.1 * SHARE.0 / LINE;
        Ok(Self {
            jumps: Code::jumps(jumps_lines, random)?,
            jumps_lines,
            nops: Code::nops(4 * caches.l1i)?,
            ring: Ring::new(caches.l2 / SHARE.1 * SHARE.0, random)?,
            sweep: Sweep::new(4 * caches.l2)?,
        })
    }

    /// For the level-1 instruction cache.
    pub(super) fn l1i(&self, repeats: usize, clock: &Clock) -> Comparison {
        let walk = || {
            let start = clock.now();
            self.jumps.run();
            clock.now() - start
        };
        compare(self.jumps_lines, repeats, clock, walk, || self.nops.run())
    }

    /// For the level-2 cache.
    pub(super) fn l2(&self, repeats: usize, clock: &Clock) -> Comparison {
        compare(self.ring.lines(), repeats, clock, || self.ring.time(clock), || self.sweep.walk())
    }
}

fn compare(
    lines: usize,
    repeats: usize,
    clock: &Clock,
    walk: impl Fn() -> u64,
    flush: impl Fn(),
) -> Comparison {
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..repeats {
        walk();
        times[0].push(clock.ns(walk()));
        times[1].push(clock.ns(walk()));
        flush();
        times[2].push(clock.ns(walk()));
    }
    let [one, other, flushed] = times.map(|mut times| trimmed_mean(&mut times));
    Comparison { difference: one - other, penalty: (flushed - other) / lines as f64 }
}

/// The difference, in lines, that nineteen of twenty comparisons do not exceed; `None` if a missed line has no
/// visible cost.
pub(super) fn lines(comparisons: &[Comparison]) -> Option<f64> {
    let mut penalties: Vec<_> = comparisons.iter().map(|one| one.penalty).collect();
    penalties.sort_by(f64::total_cmp);
    let penalty = *penalties.get(penalties.len() / 2)?;
    let mut differences: Vec<_> = comparisons.iter().map(|one| one.difference.abs()).collect();
    differences.sort_by(f64::total_cmp);
    let nearly_all = differences[(differences.len() * 19 / 20).min(differences.len() - 1)];
    (penalty > 0.0).then(|| nearly_all / penalty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_what_nearly_all_comparisons_stay_below() {
        let one = |difference: i32| Comparison { difference: f64::from(difference), penalty: 2.0 };
        let comparisons: Vec<_> = (-50..50).map(one).collect();
        let floor = lines(&comparisons).unwrap();
        assert!((22.0..25.0).contains(&floor), "{floor}");
        assert_eq!(lines(&[]), None);
        assert_eq!(lines(&[Comparison { difference: 1.0, penalty: -0.1 }]), None);
    }
}
