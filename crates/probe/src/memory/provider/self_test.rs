//! Whether memory is of the claimed type, judged by how long plain 8-byte stores and loads take.
//!
//! The rule, in comparison with ordinary memory in the same run:
//! * write-back: loads of a block that fits into the level-1 cache are as quick as with ordinary memory ([`CACHED`]);
//! * uncached and write-combining: they are slower, by [`UNCACHED`], as each load goes to the memory itself;
//! * write-combining: stores that fill line after line are combined into bursts, so that each takes only a fraction
//!   ([`COMBINED`]) of the time of a store that is alone in its line; in uncached memory both take about the same time
//!   ([`ALONE`]).

use std::hint::black_box;

use coho_profile::CacheType;

use super::super::Region;
use crate::clock::Clock;
use crate::flush::fence;

/// Loads at no less than this share of usual memory's rate come from a cache.
pub const CACHED: f64 = 1.0 / 4.0;
/// Loads at no more than this share of usual memory's rate do not.
pub const UNCACHED: f64 = 1.0 / 8.0;
/// Stores that fill lines are put together if one that is alone in its line takes at least this many times as long.
pub const COMBINED: f64 = 3.0;
/// Stores are not put together if one that is alone in its line takes at most this many times as long.
pub const ALONE: f64 = 2.0;

const LINE: usize = 64;
const LINES: usize = 512;
/// Bytes that the test needs.
pub(super) const BYTES: usize = LINES * LINE;
/// Loads of a window: the first eighth of the block, since each may take a microsecond.
const LOADS: usize = BYTES / size_of::<u64>() / 8;
/// The quickest of this many windows counts, as disturbances can only make them longer.
const ROUNDS: usize = 15;

/// How memory behaved beside usual memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Behaviour {
    /// Rate of loads, as a share of usual memory's.
    pub(super) loads: f64,
    /// Rate of stores that fill line after line, as a share of usual memory's.
    pub(super) stores: f64,
    /// Time of a store that is alone in its line over that of one that fills lines.
    pub(super) alone: f64,
}

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is of the claimed type.
    Proven,
    /// It behaves like ordinary memory: on an emulator, or under a hypervisor that ignores the types.
    NoEffect,
    /// It behaves like this other type.
    Other(CacheType),
    /// Between the limits.
    Unclear,
}

/// Time of one access, in ns.
#[derive(Clone, Copy)]
struct Times {
    filling: f64,
    alone: f64,
    load: f64,
}

impl Times {
    const NONE: Self = Self { filling: f64::INFINITY, alone: f64::INFINITY, load: f64::INFINITY };

    fn or_quicker(self, other: Self) -> Self {
        Self {
            filling: self.filling.min(other.filling),
            alone: self.alone.min(other.alone),
            load: self.load.min(other.load),
        }
    }
}

impl Behaviour {
    /// The behaviour of a region beside one of ordinary memory; both have at least [`BYTES`].
    pub(super) fn of(region: &Region, usual: &Region) -> Self {
        let clock = Clock::get();
        let (mut tested, mut beside) = (Times::NONE, Times::NONE);
        for _ in 0..ROUNDS {
            beside = beside.or_quicker(window(usual, &clock));
            tested = tested.or_quicker(window(region, &clock));
        }
        Self {
            loads: beside.load / tested.load,
            stores: beside.filling / tested.filling,
            alone: tested.alone / tested.filling,
        }
    }

    /// The verdict for memory that claims to be of this type.
    pub(super) fn verdict(&self, said: CacheType) -> Verdict {
        let cached = self.loads >= CACHED;
        let uncached = self.loads <= UNCACHED;
        let seen = if cached {
            CacheType::WriteBack
        } else if uncached && self.alone >= COMBINED {
            CacheType::WriteCombining
        } else if uncached && self.alone <= ALONE {
            CacheType::Uncached
        } else {
            return Verdict::Unclear;
        };
        match seen {
            seen if seen == said => Verdict::Proven,
            CacheType::WriteBack => Verdict::NoEffect,
            seen => Verdict::Other(seen),
        }
    }

    /// The same in words.
    pub(super) fn tell(&self, said: CacheType) -> String {
        let Self { loads, stores, alone } = self;
        let figures = format!(
            "loads at {loads:.3} and stores at {stores:.3} of usual memory's rate, a store alone in its line takes \
             {alone:.1} times as long as one that fills lines"
        );
        match self.verdict(said) {
            Verdict::Proven => format!("proven: {figures}"),
            Verdict::NoEffect => format!(
                "not verifiable: loads take the same time as write-back, so this CPU, emulator or \
                 hypervisor seems to ignore the type ({figures})"
            ),
            Verdict::Other(seen) => format!("it behaves as {seen}: {figures}"),
            Verdict::Unclear => {
                format!("not verifiable: it behaves neither as {said} nor as another type ({figures})")
            }
        }
    }
}

fn window(region: &Region, clock: &Clock) -> Times {
    assert!(region.bytes() >= BYTES, "the test's accesses stay within the region");
    let words = region.start().cast::<u64>();
    let timed = |accesses: usize, work: &dyn Fn()| {
        let start = clock.now();
        work();
        // After this, stores that wait to be combined are done.
        fence();
        clock.ns(clock.now() - start) / accesses as f64
    };
    let filling = timed(BYTES / size_of::<u64>(), &|| {
        for at in 0..BYTES / size_of::<u64>() {
            // SAFETY: within BYTES, which the region has.
            unsafe { words.add(at).write_volatile(at as u64) };
        }
    });
    let alone = timed(LINES, &|| {
        for line in 0..LINES {
            // SAFETY: as above.
            unsafe { words.add(line * (LINE / size_of::<u64>())).write_volatile(line as u64) };
        }
    });
    let load = timed(LOADS, &|| {
        let mut sum = 0u64;
        for at in 0..LOADS {
            // SAFETY: as above.
            sum = sum.wrapping_add(unsafe { words.add(at).read_volatile() });
        }
        black_box(sum);
    });
    Times { filling, alone, load }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn behaviour(loads: f64, stores: f64, alone: f64) -> Behaviour {
        Behaviour { loads, stores, alone }
    }

    #[test]
    fn tells_the_types_apart() {
        use CacheType::{Uncached, WriteBack, WriteCombining};
        let (wb, wc, uc) =
            (behaviour(1.0, 1.0, 1.1), behaviour(0.003, 0.3, 12.0), behaviour(0.002, 0.004, 1.0));
        for (seen, cache_type) in [(wb, WriteBack), (wc, WriteCombining), (uc, Uncached)] {
            assert_eq!(seen.verdict(cache_type), Verdict::Proven, "{}", seen.tell(cache_type));
        }
        assert_eq!(wc.verdict(Uncached), Verdict::Other(WriteCombining));
        assert_eq!(uc.verdict(WriteCombining), Verdict::Other(Uncached));
        assert_eq!(uc.verdict(WriteBack), Verdict::Other(Uncached));
        // As in an emulator.
        assert_eq!(wb.verdict(WriteCombining), Verdict::NoEffect);
        assert!(wb.tell(Uncached).starts_with("not verifiable: loads take the same time as write-back"));
        for unclear in [behaviour(0.2, 1.0, 12.0), behaviour(0.01, 0.1, 2.5), behaviour(f64::NAN, 1.0, 1.0)] {
            assert_eq!(unclear.verdict(WriteCombining), Verdict::Unclear);
        }
    }

    #[test]
    fn usual_memory_proves_no_other_type() {
        let [usual, other] = [(); 2].map(|()| {
            let region = Region::write_back(BYTES).unwrap();
            region.touch();
            region
        });
        let seen = Behaviour::of(&other, &usual);
        // Other users of the CPU may make the verdict unclear, but must not make it wrong.
        for cache_type in [CacheType::WriteCombining, CacheType::Uncached] {
            assert_ne!(seen.verdict(cache_type), Verdict::Proven, "{seen:?}");
        }
    }
}
