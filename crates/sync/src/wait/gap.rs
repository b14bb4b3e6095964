//! How often to look at a line that its writer loses by every look, learnt from the barrier's own time.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32};
use std::sync::{Mutex, PoisonError};

use crate::padded::Padded;
use crate::sync::{now, pause};

/// The most PAUSEs between two looks; one takes from 10 cycles to 140.
const MOST: u8 = 8;
/// Barriers that are timed together.
const TIMED: u32 = 64;
/// How often two gaps are timed in turn, and how often the new one must be the quicker by a thirty-second.
const TURNS: u8 = 8;
const WINS: u8 = 7;
/// Barriers without a trial after one, at first and at most: each that changes nothing doubles the number.
const FIRST_REST: u32 = 1 << 10;
const LONGEST_REST: u32 = 1 << 20;

/// The time between two looks, in PAUSEs.
///
/// Now and then one of the threads times a gap that is a PAUSE longer or shorter in turn with the present one, and keeps
/// what is quicker. Time between barriers counts for both, so that it only makes the difference harder to see.
#[derive(Debug)]
pub(crate) struct Gap {
    /// Read by all at each wait, and seldom written. As all here it orders nothing, so it is kept from the model checker.
    pauses: Padded<AtomicU8>,
    /// Barriers until the next step of the trial.
    left: Padded<AtomicU32>,
    trial: Mutex<Trial>,
}

/// So many PAUSEs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses(u8);

impl Pauses {
    #[inline(always)]
    pub(crate) fn pass(self) {
        (0..self.0).for_each(|_| pause());
    }
}

impl Gap {
    pub(crate) fn new() -> Self {
        let trial = Trial::new();
        Self {
            pauses: Padded(AtomicU8::new(trial.kept)),
            left: Padded(AtomicU32::new(FIRST_REST)),
            trial: Mutex::new(trial),
        }
    }

    #[inline(always)]
    pub(crate) fn pauses(&self) -> Pauses {
        Pauses(self.pauses.load(Relaxed))
    }

    /// Counts a barrier; for one of the threads.
    #[inline(always)]
    pub(crate) fn count(&self) {
        match self.left.load(Relaxed) {
            0 => self.step(),
            left => self.left.store(left - 1, Relaxed),
        }
    }

    #[cold]
    #[inline(never)]
    fn step(&self) {
        let next = self.trial.lock().unwrap_or_else(PoisonError::into_inner).step(now());
        self.pauses.store(next.pauses, Relaxed);
        self.left.store(next.barriers, Relaxed);
    }
}

/// How many barriers are to be done with which gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stint {
    pauses: u8,
    barriers: u32,
}

/// The present gap against another.
#[derive(Debug)]
struct Trial {
    kept: u8,
    /// The gap that is tried next or now is longer.
    longer: bool,
    turn: Turn,
    turns: u8,
    wins: u8,
    rest: u32,
}

#[derive(Debug, Clone, Copy)]
enum Turn {
    Rests,
    /// The kept one is being timed, since then.
    Kept(u64),
    /// The other one is being timed, since then; the kept one took so many ns before.
    Other(u64, u64),
}

impl Trial {
    fn new() -> Self {
        Self { kept: 1, longer: true, turn: Turn::Rests, turns: 0, wins: 0, rest: FIRST_REST }
    }

    fn other(&self) -> u8 {
        if self.longer { self.kept + 1 } else { self.kept - 1 }
    }

    /// The stint after the one that has ended now.
    fn step(&mut self, now: u64) -> Stint {
        match self.turn {
            Turn::Rests => {
                self.longer = match self.kept {
                    1 => true,
                    MOST => false,
                    _ => self.longer,
                };
                (self.turns, self.wins) = (0, 0);
                self.turn = Turn::Kept(now);
            }
            Turn::Kept(since) => self.turn = Turn::Other(now, now - since),
            Turn::Other(since, kept_ns) => {
                let other_ns = now - since;
                self.turns += 1;
                self.wins += u8::from(other_ns + other_ns / 32 < kept_ns);
                let lost = self.turns - self.wins > TURNS - WINS;
                self.turn = if lost || self.turns == TURNS { Turn::Rests } else { Turn::Kept(now) };
                if let Turn::Rests = self.turn {
                    return self.end(lost);
                }
            }
        }
        let pauses = if let Turn::Other(..) = self.turn { self.other() } else { self.kept };
        Stint { pauses, barriers: TIMED }
    }

    fn end(&mut self, lost: bool) -> Stint {
        if lost {
            self.longer = !self.longer;
            self.rest = (2 * self.rest).min(LONGEST_REST);
        } else {
            self.kept = self.other();
            self.rest = FIRST_REST;
        }
        Stint { pauses: self.kept, barriers: self.rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs so many barriers, each of which takes what its gap says, from a number of PAUSEs.
    fn run(trial: &mut Trial, stints: usize, ns: impl Fn(u8) -> u64) -> u64 {
        let (mut clock, mut barriers) = (0, 0);
        for _ in 0..stints {
            let stint = trial.step(clock);
            clock += u64::from(stint.barriers) * ns(stint.pauses);
            barriers += u64::from(stint.barriers);
        }
        barriers
    }

    #[test]
    fn finds_the_quickest_gap_from_wherever_it_begins() {
        for best in 1..=MOST {
            for begin in 1..=MOST {
                let mut trial = Trial { kept: begin, ..Trial::new() };
                run(&mut trial, 2000, |pauses| 40 + 20 * u64::from(pauses.abs_diff(best)));
                assert_eq!(trial.kept, best, "from {begin}");
            }
        }
    }

    #[test]
    fn tries_ever_more_seldom_and_not_at_all_where_nothing_differs() {
        let mut trial = Trial::new();
        let barriers = run(&mut trial, 500, |_| 40);
        assert_eq!(trial.kept, 1);
        assert!(barriers > u64::from(LONGEST_REST), "{barriers}");
    }

    #[test]
    fn luck_changes_nothing() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut trial = Trial { kept: 4, ..Trial::new() };
        let mut clock = 0;
        let mut changes = 0;
        for _ in 0..20_000 {
            let before = trial.kept;
            let stint = trial.step(clock);
            changes += u32::from(trial.kept != before);
            clock += u64::from(stint.barriers) * random.u64(30..50);
        }
        // A trial is won by luck about once in 200 times.
        assert!(changes < 200, "{changes}");
    }
}
