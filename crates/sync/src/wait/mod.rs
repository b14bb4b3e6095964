//! Waiting for another thread's flag: spinning, then giving way, then asleep.

mod bell;
mod patience;
mod policy;

use std::time::Duration;

pub(crate) use bell::Bell;
pub(crate) use patience::Patience;
pub(crate) use policy::Crowding;
pub use policy::WaitPolicy;

use crate::number::Flag;
use crate::sync::Ordering::Acquire;
use crate::sync::{AtomicBool, AtomicU8, LOOKS, can_doze, doze, long_pause, now, pause, relax, yield_now};

/// Two readings of the clock so far apart, with [`LOOKS`] looks between them, mean that the thread was off its CPU.
const AWAY_NS: u64 = 50_000;
/// For so long threads that outnumber the CPUs give way to each other before they sleep.
const GIVE_WAY_NS: u64 = 500_000;

/// What ends a wait besides its flag, in full.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// On the clock of [`now`].
    pub(crate) until_ns: Option<u64>,
    /// Set when the wait has become vain.
    pub(crate) interrupt: Option<&'a AtomicBool>,
    /// Is told how long the wait has lasted, in nanoseconds, once it has lasted as long as it says.
    pub(crate) watch: Option<(Duration, &'a dyn Fn(Duration))>,
}

impl Limits<'_> {
    pub(crate) const NONE: Self = Self { until_ns: None, interrupt: None, watch: None };
}

/// What ends a wait besides its flag, in so few words that they stay in registers: most waits are over before they are
/// looked at.
#[derive(Clone, Copy)]
pub(crate) enum Unless<'a> {
    Never,
    /// Set when the wait has become vain.
    Interrupted(&'a AtomicBool),
    Limited(&'a Limits<'a>),
}

impl<'a> Unless<'a> {
    pub(crate) fn limits(self) -> Limits<'a> {
        match self {
            Self::Never => Limits::NONE,
            Self::Interrupted(interrupt) => Limits { interrupt: Some(interrupt), ..Limits::NONE },
            Self::Limited(limits) => *limits,
        }
    }
}

/// Why a wait ended without its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    TimedOut,
    Interrupted,
}

/// One thread's way of waiting.
#[derive(Clone, Copy)]
pub(crate) struct Waiter<'a> {
    pub(crate) patience: &'a Patience,
    pub(crate) unless: Unless<'a>,
}

impl Waiter<'_> {
    /// Waits until a flag is no longer at the previous number; its writer rings the bell.
    #[inline(always)]
    pub(crate) fn until(self, flag: &Flag, previous: u8, bell: &Bell) -> Result<(), Ended> {
        self.look(flag, previous, bell, pause)
    }

    /// As [`Waiter::until`], with so much time between looks that the writer is not disturbed in its next step.
    #[inline(always)]
    pub(crate) fn until_rarely(self, flag: &Flag, previous: u8, bell: &Bell) -> Result<(), Ended> {
        self.look(flag, previous, bell, long_pause)
    }

    #[inline(always)]
    fn look(self, flag: &Flag, previous: u8, bell: &Bell, pause: impl Fn()) -> Result<(), Ended> {
        for _ in 0..self.patience.first_looks() {
            if flag.has_left(previous) {
                return Ok(());
            }
            pause();
        }
        self.keep_on(&|| flag.has_left(previous), Some(flag.byte()), bell)
    }

    /// Waits for what a flag cannot tell; whoever makes it true rings the bell.
    pub(crate) fn until_true(self, done: &dyn Fn() -> bool, bell: &Bell) -> Result<(), Ended> {
        if done() { Ok(()) } else { self.keep_on(done, None, bell) }
    }

    #[cold]
    #[inline(never)]
    fn keep_on(self, done: &dyn Fn() -> bool, line: Option<&AtomicU8>, bell: &Bell) -> Result<(), Ended> {
        let limits = self.unless.limits();
        let mut wait = Wait::begin(limits);
        if self.spin(&mut wait, done, line)? || self.give_way(&mut wait, done)? {
            return Ok(());
        }
        let awake = || done() || limits.interrupt.is_some_and(|interrupt| interrupt.load(Acquire));
        while !done() {
            wait.look_at_clock()?;
            bell.sleep(&awake, wait.left());
        }
        self.patience.slept(now() - wait.begun);
        Ok(())
    }

    /// Spins as long as patience lasts; returns whether that was long enough.
    fn spin(
        &self,
        wait: &mut Wait<'_>,
        done: &dyn Fn() -> bool,
        line: Option<&AtomicU8>,
    ) -> Result<bool, Ended> {
        let patience = self.patience.spin_ns();
        let line = line.filter(|_| can_doze());
        while wait.passed() < patience {
            for _ in 0..LOOKS {
                if done() {
                    return Ok(true);
                }
                match line {
                    Some(line) => doze(line, done),
                    None => relax(),
                }
            }
            // Dozing takes longer than looking, by how much the processor decides.
            if wait.look_at_clock()? > AWAY_NS && line.is_none() {
                self.patience.was_away();
                break;
            }
        }
        Ok(done())
    }

    /// Gives the CPU to those who share it.
    fn give_way(&self, wait: &mut Wait<'_>, done: &dyn Fn() -> bool) -> Result<bool, Ended> {
        if !self.patience.gives_way() {
            return Ok(false);
        }
        let begun = wait.passed();
        while wait.passed() - begun < GIVE_WAY_NS {
            yield_now();
            if done() {
                return Ok(true);
            }
            wait.look_at_clock()?;
        }
        Ok(false)
    }
}

/// One wait that has become long.
struct Wait<'a> {
    limits: Limits<'a>,
    begun: u64,
    seen: u64,
}

impl<'a> Wait<'a> {
    fn begin(limits: Limits<'a>) -> Self {
        let begun = now();
        Self { limits, begun, seen: begun }
    }

    /// Nanoseconds from the beginning to the last look at the clock.
    fn passed(&self) -> u64 {
        self.seen - self.begun
    }

    /// Returns the nanoseconds since the last look, unless the wait is over.
    fn look_at_clock(&mut self) -> Result<u64, Ended> {
        let now = now();
        let since = now - self.seen;
        self.seen = now;
        if self.limits.interrupt.is_some_and(|interrupt| interrupt.load(Acquire)) {
            return Err(Ended::Interrupted);
        }
        if self.limits.until_ns.is_some_and(|until| now >= until) {
            return Err(Ended::TimedOut);
        }
        if let Some((patience, report)) = self.limits.watch {
            let passed = Duration::from_nanos(self.passed());
            if passed >= patience {
                self.limits.watch = None;
                report(passed);
            }
        }
        Ok(since)
    }

    /// How long a sleep may last.
    fn left(&self) -> Option<Duration> {
        let until = self.limits.until_ns.map(|until| until.saturating_sub(self.seen));
        let watch = self.limits.watch.map(|(patience, _)| {
            u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX).saturating_sub(self.passed())
        });
        until.into_iter().chain(watch).min().map(Duration::from_nanos)
    }
}
