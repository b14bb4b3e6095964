//! A thread's trials, one at a time.

use std::time::{Duration, Instant};

use coho_delegate::Request;

use super::load::Load;
use super::verdict::{PAIRS, Pair, Verdict, is_lost, judge};
use super::{KINDS, call_of};
use crate::cpus;
use crate::guards::may_be_handler;
use crate::hosts::{self, Way};
use crate::state;

/// Calls of a kind before its first trial. A trial that is lost early, with the host that it starts, costs a small part of
/// what these take.
const FIRST_WAIT: u32 = 8192;
/// Calls between trials: after the first one, and at most. Each that changes nothing makes the next one wait longer.
const WAIT: u32 = 1 << 15;
const GROWTH: u32 = 4;
const LONGEST_WAIT: u32 = 1 << 24;
/// A choice to delegate is tried again after this many calls: it may cost something once the machine has changed.
const LONGEST_AWAY: u32 = 1 << 18;
/// Delegated calls between two looks at how many threads are busy.
const LOOK_AROUND: u32 = 4096;
/// Calls in a block.
const BLOCK: u32 = 32;
/// Calls that are this far apart cannot gain a noticeable part of the time.
const SELDOM: Duration = Duration::from_micros(50);
/// Calls between two looks whether the host is awake, and how long that may take.
const LOOK: u32 = 8;
const WAKING: Duration = Duration::from_millis(20);
/// A block that takes longer keeps other kinds from being tried.
const STALE: Duration = Duration::from_millis(200);
/// Trials that are lost take this part of the thread's time at most.
const SHARE: u32 = 32;
/// Calls until another kind's trial may be over.
const BUSY: u32 = 1024;

/// What a thread knows of a kind of calls.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Calls until the last time that it thought about them, and those decided then.
    calls: u64,
    decided: u32,
    /// The calls between trials now.
    wait: u32,
    /// Of these, those that are left, if it delegates.
    left: u32,
    /// Since when it waits.
    since: Option<(Instant, u64)>,
    pub is_away: bool,
    pub verdict: Option<Verdict>,
}

impl Kind {
    /// Calls so far, at most.
    pub fn calls(&self) -> u64 {
        self.calls + u64::from(self.decided)
    }
}

#[derive(Debug)]
struct Trial {
    kind: usize,
    begun: Instant,
    stage: Stage,
    pairs: [Pair; PAIRS],
    done: usize,
}

impl Trial {
    /// Whether the program seems to make no such calls any more.
    fn is_stale(&self) -> bool {
        let (Stage::Waking(since) | Stage::First { since, .. } | Stage::Second { since, .. }) = self.stage;
        since.elapsed() > STALE
    }
}

#[derive(Debug)]
enum Stage {
    /// The host is idle perhaps, and slow to begin then.
    Waking(Instant),
    /// A block of this pair, delegated or not, since then.
    First {
        is_away: bool,
        since: Instant,
    },
    Second {
        is_away: bool,
        since: Instant,
        first_ns: f32,
    },
}

/// All that a thread knows.
#[derive(Debug)]
pub struct Trials {
    kinds: [Kind; KINDS],
    now: Option<Trial>,
    random: u32,
    load: Load,
    /// When the thread first thought.
    begun: Option<Instant>,
    /// The time that lost trials took.
    lost: Duration,
}

impl Trials {
    pub const fn new() -> Self {
        let kind = Kind {
            calls: 0,
            decided: 0,
            wait: FIRST_WAIT,
            left: 0,
            since: None,
            is_away: false,
            verdict: None,
        };
        Self {
            kinds: [kind; KINDS],
            now: None,
            random: 0x9e37_79b9,
            load: Load::new(),
            begun: None,
            lost: Duration::ZERO,
        }
    }

    pub fn kinds(&self) -> &[Kind; KINDS] {
        &self.kinds
    }

    /// The kind that is being tried.
    pub fn try_now(&self) -> Option<usize> {
        self.now.as_ref().map(|trial| trial.kind)
    }

    /// Whether the next calls of a kind are delegated, and how many.
    pub fn think(&mut self, kind: usize, ways: &mut Vec<Way>) -> (bool, u32) {
        let known = &mut self.kinds[kind];
        known.calls += u64::from(known.decided);
        let (is_away, calls) = match self.now.take() {
            Some(trial) if trial.kind == kind => self.go_on(trial, ways),
            Some(other) if other.is_stale() => {
                self.end(&other, ways);
                self.begin(kind, ways)
            }
            Some(other) => {
                self.now = Some(other);
                (known.is_away, BUSY)
            }
            None if known.left > 0 => self.stay_away(kind, ways),
            None => self.begin(kind, ways),
        };
        self.kinds[kind].decided = calls;
        (is_away, calls)
    }

    /// A trial, if it is time for one.
    fn begin(&mut self, kind: usize, ways: &mut Vec<Way>) -> (bool, u32) {
        let has_room = self.has_room();
        let known = &mut self.kinds[kind];
        let now = Instant::now();
        if now - *self.begun.get_or_insert(now) < self.lost * SHARE {
            return (known.is_away, BUSY);
        }
        let begun = known.since.replace((now, known.calls));
        let calls = begun.map_or(0, |(_, calls)| known.calls - calls);
        let may_pay = begun.is_some_and(|(since, _)| {
            calls > 0 && (now - since).as_nanos() / u128::from(calls) < SELDOM.as_nanos()
        });
        if !may_pay || may_be_handler() {
            return (known.is_away, known.wait);
        }
        if !has_room {
            self.come_home(ways);
            return (false, self.kinds[kind].wait);
        }
        if ways.is_empty() {
            // Starting a host takes memory, which a handler may not.
            *ways = hosts::ways();
        }
        if !cpus::leave() {
            self.come_home(ways);
            return (false, LONGEST_WAIT);
        }
        let Some(way) = way_of(ways, kind) else { return (false, u32::MAX) };
        // SAFETY: the function takes anything.
        unsafe { way.caller.post(Request::function(nothing, [0; 5])) };
        self.now =
            Some(Trial { kind, begun: now, stage: Stage::Waking(now), pairs: [(0.0, 0.0); PAIRS], done: 0 });
        (false, LOOK)
    }

    fn go_on(&mut self, mut trial: Trial, ways: &mut Vec<Way>) -> (bool, u32) {
        let now = Instant::now();
        let nanoseconds = |since: Instant| (now - since).as_nanos() as f32 / BLOCK as f32;
        match trial.stage {
            Stage::Waking(since) => {
                let is_awake = way_of(ways, trial.kind).is_some_and(|way| way.caller.room() > 0);
                if !is_awake && now - since < WAKING {
                    self.now = Some(trial);
                    return (false, LOOK);
                }
                if !is_awake {
                    return self.end(&trial, ways);
                }
                trial.stage = Stage::First { is_away: self.toss(), since: now };
            }
            Stage::First { is_away, since } => {
                let first_ns = nanoseconds(since);
                trial.stage = Stage::Second { is_away: !is_away, since: now, first_ns };
            }
            Stage::Second { is_away, since, first_ns } => {
                let second_ns = nanoseconds(since);
                trial.pairs[trial.done] = if is_away { (first_ns, second_ns) } else { (second_ns, first_ns) };
                trial.done += 1;
                if trial.done == PAIRS || is_lost(&trial.pairs[..trial.done]) {
                    return self.end(&trial, ways);
                }
                trial.stage = Stage::First { is_away: self.toss(), since: now };
            }
        }
        let (Stage::First { is_away, .. } | Stage::Second { is_away, .. }) = trial.stage else {
            unreachable!("the host is awake")
        };
        self.now = Some(trial);
        (is_away, BLOCK)
    }

    /// Decides, until the next trial.
    fn end(&mut self, trial: &Trial, ways: &mut Vec<Way>) -> (bool, u32) {
        let verdict = judge(&trial.pairs[..trial.done]);
        let known = &mut self.kinds[trial.kind];
        known.wait = if verdict.gains == known.is_away && known.verdict.is_some() {
            known.wait.saturating_mul(GROWTH)
        } else {
            WAIT
        }
        .min(if verdict.gains { LONGEST_AWAY } else { LONGEST_WAIT });
        known.is_away = verdict.gains;
        known.verdict = Some(verdict);
        known.since = Some((Instant::now(), known.calls));
        if known.is_away {
            known.left = known.wait;
            return self.stay_away(trial.kind, ways);
        }
        let wait = known.wait;
        if !self.kinds.iter().any(|kind| kind.is_away) {
            self.come_home(ways);
        }
        self.lost += trial.begun.elapsed();
        (false, wait)
    }

    /// Goes on delegating until the next look, if no thread needs the host's CPU.
    fn stay_away(&mut self, kind: usize, ways: &mut Vec<Way>) -> (bool, u32) {
        // It may have its CPUs back meanwhile.
        if !self.has_room() || !cpus::leave() {
            self.come_home(ways);
            return (false, WAIT);
        }
        let known = &mut self.kinds[kind];
        let calls = known.left.min(LOOK_AROUND);
        known.left -= calls;
        (true, calls)
    }

    /// Whether the program's busy threads have enough CPUs without the hosts'.
    fn has_room(&mut self) -> bool {
        !cpus::are_shared() || self.load.busy().is_some_and(cpus::are_enough)
    }

    /// Makes all calls at home.
    fn come_home(&mut self, ways: &mut Vec<Way>) {
        for kind in self.kinds.iter_mut().filter(|kind| kind.is_away) {
            (kind.is_away, kind.left, kind.wait) = (false, 0, WAIT);
        }
        // Hosts end with their last user.
        ways.clear();
        cpus::give_back();
    }

    /// Xorshift.
    fn toss(&mut self) -> bool {
        for shift in [13, -17, 5] {
            let shifted = if shift > 0 { self.random << shift } else { self.random >> -shift };
            self.random ^= shifted;
        }
        self.random & 1 == 1
    }
}

/// The way to the hosts that execute calls of a kind.
fn way_of(ways: &mut [Way], kind: usize) -> Option<&mut Way> {
    ways.get_mut(state::teams().of(call_of(kind)))
}

unsafe fn nothing(_: [usize; 5]) -> isize {
    0
}
