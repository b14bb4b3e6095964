//! What one of the other CPUs does: the loops for each kind of traffic.

use coho_profile::{Operation, Traffic};

use super::super::loops::{Code, Loop, VALUE, fence};
use super::super::region::Region;
use crate::clock::Clock;

/// Bytes after which a thread pauses.
const CHUNK: usize = 1 << 10;

/// The loops of a kind of traffic: that for its loads and that for its stores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mover {
    traffic: Traffic,
    load: Option<&'static Loop>,
    store: Option<&'static Loop>,
}

impl Mover {
    /// By the widest registers; `None` if this CPU has no such instruction, or nothing is to be moved.
    pub(super) fn of(traffic: Traffic) -> Option<Self> {
        let widest = |op, forms: &[&str]| {
            let is = |one: &&Loop| one.op() == op && forms.contains(&one.instruction());
            Loop::all().iter().filter(is).rfind(|one| one.missing().is_none())
        };
        let (loads, stores) = traffic.mix();
        let load = widest(Operation::Read, &["sse2", "avx2", "avx512", "neon"]);
        let store = match traffic {
            Traffic::NonTemporal => widest(Operation::Write, &["sse2-nt", "avx2-nt", "avx512-nt", "neon-nt"]),
            _ => widest(Operation::Write, &["sse2", "avx2", "avx512", "neon"]),
        };
        let (load, store) = (load.filter(|_| loads > 0), store.filter(|_| stores > 0));
        let has_all = load.is_some() == (loads > 0) && store.is_some() == (stores > 0);
        (has_all && loads + stores > 0).then_some(Self { traffic, load, store })
    }

    /// As in profiles: `avx2`, or `avx2+sse2` where loads and stores differ.
    pub(super) fn instruction(&self) -> String {
        let mut names: Vec<&str> =
            [self.load, self.store].into_iter().flatten().map(Loop::instruction).collect();
        names.dedup();
        names.join("+")
    }

    /// Moves data until it is to stop; returns the bytes a second that reach memory, in both directions.
    pub(super) fn run(&self, region: &Region, pause_ns: f64, is_over: impl Fn() -> bool) -> f64 {
        let clock = Clock::get();
        let code = |one: Option<&'static Loop>| one.and_then(Loop::code);
        let (load, store) = (code(self.load), code(self.store));
        let (loads, _) = self.traffic.mix();
        let (mut offset, mut moved) = (0, 0u64);
        let mut next = |code: Code| {
            // SAFETY: the chunk lies within the region.
            unsafe {
                let chunk = region.start().add(offset).as_ptr();
                code(chunk, chunk, CHUNK, VALUE);
            }
            offset += CHUNK;
            if offset + CHUNK > region.bytes() {
                offset = 0;
            }
            if pause_ns > 0.0 {
                let now = clock.now();
                while clock.ns(clock.now() - now) < pause_ns {
                    std::hint::spin_loop();
                }
            }
        };
        let start = clock.now();
        while !is_over() {
            for load in load.iter().cycle().take(loads) {
                next(*load);
                moved += CHUNK as u64;
            }
            if let Some(store) = store {
                next(store);
                moved += (CHUNK * self.traffic.lines_per_store()) as u64;
            }
        }
        // Stores count once they are done.
        fence();
        moved as f64 / clock.ns(clock.now() - start) * 1e9
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use coho_platform::pages::Paging;

    use super::*;

    /// Counts in chunks: a kind of traffic stops after whole rounds of its mix.
    #[test]
    fn every_kind_moves_what_it_says() {
        assert!(Mover::of(Traffic::None).is_none());
        let region = Region::write_back_on(64 * CHUNK, Paging::Small, None).unwrap();
        for traffic in Traffic::ALL.into_iter().filter(|traffic| *traffic != Traffic::None) {
            let Some(mover) = Mover::of(traffic) else { panic!("{traffic}: no CPU of these lacks it") };
            let rounds = Cell::new(0);
            let rate = mover.run(&region, 0.0, || {
                rounds.set(rounds.get() + 1);
                rounds.get() > 100
            });
            assert!(rate > 0.0 && rate.is_finite(), "{traffic}: {rate}");
            assert!(!mover.instruction().is_empty());
        }
    }
}
