//! Learns how long to wait between two looks at another thread's flag: each look takes the line away from its writer.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use crate::number::Flag;
use crate::padded::Padded;
use crate::sync::{idle, now};

/// The gaps to choose from, counted in steps of [`idle`], each about a quarter longer than the previous one. PAUSE is
/// too coarse a unit: it can take as long as a line's transfer.
const STEPS: [u32; 16] = [4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128];
/// The first gap of a barrier, by its place in [`STEPS`].
const BARRIER: usize = 9;
/// The first gap for fork and join, which do more between two looks.
const REGION: usize = 11;
/// Distances along [`STEPS`] from the present gap to those tried in turn. A farther gap may be better even if the
/// adjacent ones are not.
const STRIDES: [isize; 4] = [1, -1, 4, -4];
/// Steps between requesting a line and looking at it. A look before the line arrives would request it again.
const FETCH: u32 = 8;
/// How many barriers are timed together.
const TIMED: u32 = 64;
/// How often two gaps are timed in turn, and how often the new one must be quicker by a thirty-second.
const TURNS: u8 = 8;
const WINS: u8 = 7;
/// Barriers without a trial after one, at first and at most. Whenever all strides were tried without success, the
/// number doubles.
const FIRST_REST: u32 = 1 << 10;
const LONGEST_REST: u32 = 1 << 20;

/// The time between two looks at a flag.
///
/// Now and then one of the threads times a longer or a shorter gap in turn with the present one, and keeps the quicker.
/// Time between barriers counts for both, so it only makes the difference harder to see.
#[derive(Debug)]
pub(crate) struct Gap {
    /// Read by all at each wait, and rarely written. Like everything here it orders nothing, so it is hidden from the
    /// model checker.
    steps: Padded<AtomicU32>,
    /// Barriers until the next part of the trial.
    left: Padded<AtomicU32>,
    trial: Mutex<Trial>,
}

/// A gap as it is now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps(u32);

impl Steps {
    /// Between two looks at a flag.
    #[inline(always)]
    pub(crate) fn pass(self, _: &Flag) {
        idle(self.0);
    }

    /// Between two looks at the only other thread's flag, in whose line this thread's own lies.
    #[inline(always)]
    pub(crate) fn pass_and_claim(self, flag: &Flag) {
        idle(self.0);
        flag.claim();
        idle(FETCH);
    }
}

impl Gap {
    pub(crate) fn of_barrier() -> Self {
        Self::beginning(BARRIER)
    }

    pub(crate) fn of_regions() -> Self {
        Self::beginning(REGION)
    }

    fn beginning(gap: usize) -> Self {
        let trial = Trial::new(gap);
        Self {
            steps: Padded(AtomicU32::new(STEPS[trial.kept])),
            left: Padded(AtomicU32::new(FIRST_REST)),
            trial: Mutex::new(trial),
        }
    }

    #[inline(always)]
    pub(crate) fn steps(&self) -> Steps {
        Steps(self.steps.load(Relaxed))
    }

    /// Counts one wait. Only one of the threads calls this.
    #[inline(always)]
    pub(crate) fn count(&self) {
        match self.left.load(Relaxed) {
            0 => self.go_on(),
            left => self.left.store(left - 1, Relaxed),
        }
    }

    #[cold]
    #[inline(never)]
    fn go_on(&self) {
        let next = self.trial.lock().unwrap_or_else(PoisonError::into_inner).go_on(now());
        self.steps.store(STEPS[next.gap], Relaxed);
        self.left.store(next.barriers, Relaxed);
    }
}

/// How many barriers are to be done with which gap of [`STEPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stint {
    gap: usize,
    barriers: u32,
}

/// The present gap compared with another.
#[derive(Debug)]
struct Trial {
    kept: usize,
    /// The one of [`STRIDES`] that is tried next or now.
    stride: usize,
    turn: Turn,
    turns: u8,
    wins: u8,
    rest: u32,
}

#[derive(Debug, Clone, Copy)]
enum Turn {
    Rests,
    /// The kept gap is being timed, since this moment.
    Kept(u64),
    /// The other gap is being timed, since this moment; the kept one took this many ns before.
    Other(u64, u64),
}

impl Trial {
    fn new(kept: usize) -> Self {
        Self { kept, stride: 0, turn: Turn::Rests, turns: 0, wins: 0, rest: FIRST_REST }
    }

    /// The gap to try against the present one, which it equals at either end of [`STEPS`].
    fn other(&self) -> usize {
        self.kept.saturating_add_signed(STRIDES[self.stride]).min(STEPS.len() - 1)
    }

    /// The stint after the one that has ended now.
    fn go_on(&mut self, now: u64) -> Stint {
        match self.turn {
            Turn::Rests => {
                while self.other() == self.kept {
                    self.next_stride();
                }
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
        let gap = if let Turn::Other(..) = self.turn { self.other() } else { self.kept };
        Stint { gap, barriers: TIMED }
    }

    fn end(&mut self, lost: bool) -> Stint {
        if lost {
            self.next_stride();
        } else {
            self.kept = self.other();
            self.rest = FIRST_REST;
        }
        Stint { gap: self.kept, barriers: self.rest }
    }

    fn next_stride(&mut self) {
        self.stride = (self.stride + 1) % STRIDES.len();
        if self.stride == 0 {
            self.rest = (2 * self.rest).min(LONGEST_REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs this many stints of barriers; each barrier takes the time that `ns` gives for its gap.
    fn run(trial: &mut Trial, stints: usize, ns: impl Fn(usize) -> u64) -> u64 {
        let (mut clock, mut barriers) = (0, 0);
        for _ in 0..stints {
            let stint = trial.go_on(clock);
            clock += u64::from(stint.barriers) * ns(stint.gap);
            barriers += u64::from(stint.barriers);
        }
        barriers
    }

    #[test]
    fn finds_the_quickest_gap_from_wherever_it_begins() {
        for best in 0..STEPS.len() {
            for begin in 0..STEPS.len() {
                let mut trial = Trial::new(begin);
                run(&mut trial, 2000, |gap| 40 + 20 * gap.abs_diff(best) as u64);
                assert_eq!(trial.kept, best, "from {begin}");
            }
        }
    }

    #[test]
    fn leaves_a_plain_where_the_next_gaps_are_no_better() {
        let mut trial = Trial::new(8);
        run(&mut trial, 2000, |gap| if gap < 12 { 480 } else { 415 });
        assert_eq!(trial.kept, 12);
    }

    #[test]
    fn tries_ever_more_seldom_and_not_at_all_where_nothing_differs() {
        for begin in [0, BARRIER, STEPS.len() - 1] {
            let mut trial = Trial::new(begin);
            let barriers = run(&mut trial, 1000, |_| 40);
            assert_eq!(trial.kept, begin);
            assert!(barriers > u64::from(LONGEST_REST), "{barriers}");
        }
    }

    #[test]
    fn luck_changes_nothing() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut trial = Trial::new(BARRIER);
        let mut clock = 0;
        let mut changes = 0;
        for _ in 0..20_000 {
            let before = trial.kept;
            let stint = trial.go_on(clock);
            changes += u32::from(trial.kept != before);
            clock += u64::from(stint.barriers) * random.u64(30..50);
        }
        // A trial is won by luck about once in 200 times.
        assert!(changes < 200, "{changes}");
    }
}
