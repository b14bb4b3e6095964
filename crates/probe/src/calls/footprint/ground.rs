//! What a caller uses of its caches between two calls: data of a given size that is walked, and nops that are
//! executed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::super::caches::{Caches, LINE};
use super::super::code::Code;
use super::super::walk::{Ring, Sweep};
use crate::Error;
use crate::clock::Clock;

/// The smallest working set, in bytes.
const LEAST: usize = 8 << 10;
/// The factor between the sets of a quick run.
const QUICK_STEP: usize = 16;
/// Loads that are timed together.
const LOADS: usize = 1 << 13;
/// How many walks there are; the quickest gives a level's latency.
const TRIALS: usize = 7;

/// A working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    /// Data, in bytes.
    pub(super) bytes: usize,
    /// Instructions, in bytes.
    pub(super) code: usize,
}

/// The working sets of a run: data alone from 8 KiB to twice the last-level cache, by factors of two up to twice the
/// level-2 cache and of four beyond, in a quick run in larger steps; and instructions beside the smallest of them and
/// beside one that exceeds the level-2 cache.
pub(super) fn points(caches: Caches, quick: bool) -> Vec<Point> {
    let most = 2 * caches.last.max(caches.l2);
    let mut sizes = Vec::new();
    let mut bytes = LEAST;
    while bytes < if quick { most / 8 } else { most } {
        sizes.push(bytes);
        bytes *= match bytes {
            _ if quick => QUICK_STEP,
            small if small < 2 * caches.l2 => 2,
            _ => 4,
        };
    }
    sizes.push(most);
    let codes: &[usize] = if quick { &[64 << 10] } else { &[4 << 10, 16 << 10, 64 << 10] };
    let beside: &[usize] = if quick { &[LEAST] } else { &[LEAST, 2 * caches.l2] };
    let data = sizes.iter().map(|&bytes| Point { bytes, code: 0 });
    let both = beside.iter().flat_map(|&bytes| codes.iter().map(move |&code| Point { bytes, code }));
    let mut points: Vec<_> = data.chain(both).collect();
    points.sort_unstable();
    points.dedup();
    points
}

/// The memory and code of all working sets.
pub(super) struct Ground {
    caches: Caches,
    /// What is walked before that.
    rest: Sweep,
    recent: BTreeMap<usize, Ring>,
    code: BTreeMap<usize, Code>,
}

impl Ground {
    /// Sets up these working sets; the calling thread touches them first.
    ///
    /// # Errors
    /// If memory is short or the system forbids generated code.
    pub(super) fn new(points: &[Point], caches: Caches, random: &mut fastrand::Rng) -> Result<Self, Error> {
        let largest = points.iter().map(|point| point.bytes).max().unwrap_or(LEAST);
        let mut ground = Self {
            caches,
            rest: Sweep::new(largest.max(LINE))?,
            recent: BTreeMap::new(),
            code: BTreeMap::new(),
        };
        for point in points {
            let recent = window(caches, point.bytes);
            if let Entry::Vacant(place) = ground.recent.entry(recent) {
                place.insert(Ring::new(recent, random)?);
            }
            if let (1.., Entry::Vacant(place)) = (point.code, ground.code.entry(point.code)) {
                place.insert(Code::nops(point.code)?);
            }
        }
        Ok(ground)
    }

    /// Uses the whole set.
    #[inline]
    pub(super) fn walk(&self, point: Point) {
        self.rest.walk_part(point.bytes - window(self.caches, point.bytes));
        self.again(point);
    }

    /// Uses again the part of the set that was used last.
    #[inline]
    pub(super) fn again(&self, point: Point) {
        if let Some(ring) = self.recent.get(&window(self.caches, point.bytes)) {
            ring.walk();
        }
        if let Some(code) = self.code.get(&point.code) {
            code.run();
        }
    }
}

/// The part of a set that is walked last, and again after the call, in bytes: all of a set up to half of the level-2
/// cache; of a larger set, twice the level-1 data cache. The time of a larger part varies by more than calls push out
/// of it.
pub(super) fn window(caches: Caches, bytes: usize) -> usize {
    if bytes <= caches.l2 / 2 { bytes } else { 2 * caches.l1d }
}

/// Time of a load, in ns, from the level-1 data cache, the level-2 cache, the last-level cache and memory, if the
/// machine has them, over sets that hardly exceed a level.
///
/// # Errors
/// If memory is short.
pub(super) fn load_ns(
    caches: Caches,
    clock: &Clock,
    random: &mut fastrand::Rng,
) -> Result<Vec<(&'static str, usize, f64)>, Error> {
    let mut sizes = vec![("l1d", caches.l1d, caches.l1d / 2), ("l2", caches.l2, caches.l2 / 2)];
    if caches.last > 2 * caches.l2 {
        sizes.push(("last", caches.last, 2 * caches.l2));
    }
    sizes.push(("memory", usize::MAX, 2 * caches.last.max(caches.l2)));
    let mut loads = Vec::new();
    for (name, holds, bytes) in sizes {
        let ring = Ring::new(bytes, random)?;
        ring.walk();
        let links = ring.lines().min(LOADS);
        // Each trial takes the next part of the ring, so that large rings are not cached closer.
        let times = (0..TRIALS).map(|trial| clock.ns(ring.time_part(clock, trial * links, links)));
        let mut times: Vec<f64> = times.map(|ns| ns / links as f64).collect();
        times.sort_by(f64::total_cmp);
        loads.push((name, holds, times[TRIALS / 2]));
    }
    Ok(loads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches() -> Caches {
        Caches { l1d: 32 << 10, l1d_ways: 8, l1i: 32 << 10, l2: 512 << 10, last: 32 << 20 }
    }

    #[test]
    fn the_sets_go_from_8_kib_to_twice_the_last_cache() {
        for quick in [false, true] {
            let points = points(caches(), quick);
            let data: Vec<_> = points.iter().filter(|point| point.code == 0).map(|one| one.bytes).collect();
            assert_eq!((data[0], data[data.len() - 1]), (8 << 10, 64 << 20));
            let most = if quick { 128 } else { 4 };
            assert!(data.windows(2).all(|two| two[0] < two[1] && two[1] <= most * two[0]), "{data:?}");
            assert_eq!(points.iter().map(|point| point.code).max(), Some(64 << 10));
        }
        // The last-level cache is not known.
        let alone = points(Caches { last: 0, ..caches() }, false);
        assert_eq!(alone.iter().map(|point| point.bytes).max(), Some(1 << 20));
    }

    #[test]
    fn a_set_is_walked_whole_and_its_recent_part_again() {
        let small = Caches { last: 1 << 20, ..caches() };
        let points = [Point { bytes: 8 << 10, code: 4096 }, Point { bytes: 2 << 20, code: 0 }];
        let ground = Ground::new(&points, small, &mut fastrand::Rng::with_seed(3)).unwrap();
        let clock = Clock::get();
        let quickest = |work: &dyn Fn()| {
            let time = |_| {
                let start = clock.now();
                work();
                clock.now() - start
            };
            (0..9).map(time).min().unwrap()
        };
        for point in points {
            ground.walk(point);
            ground.again(point);
        }
        let [whole, again] = [quickest(&|| ground.walk(points[1])), quickest(&|| ground.again(points[1]))];
        assert!(again < whole, "{again} against {whole} ticks");
    }
}
