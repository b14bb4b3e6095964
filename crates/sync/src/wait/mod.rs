//! Waiting for another thread's flag: first spinning, then yielding, then sleeping.

mod bell;
mod gap;
mod patience;
mod policy;
mod quiet;

use std::time::Duration;

pub(crate) use bell::Bell;
pub(crate) use gap::{Gap, Steps};
use patience::Plan;
pub(crate) use patience::{Courtesy, Patience, Shared};
pub use policy::WaitPolicy;
pub(crate) use policy::{Crowding, Reach};
pub use quiet::may_linger;

use crate::number::Flag;
use crate::sync::Ordering::Acquire;
use crate::sync::{AtomicBool, LOOKS, can_doze, cpu, doze, leave, now, pause, relax, yield_now};

/// If two clock readings with [`LOOKS`] looks between them are this far apart, the thread was off its CPU.
const AWAY_NS: u64 = 50_000;
/// How long threads that share a CPU yield to each other before they sleep.
const GIVE_WAY_NS: u64 = 500_000;
/// A single yield takes this long only if a thread that has no part in the wait uses up a time slice.
const ROBBED_NS: u64 = 500_000;

/// Work that a thread can do while it waits for others.
pub trait IdleWork {
    /// Whether there is work now. The thread that adds some calls [`Member::offer_work`](crate::Member::offer_work)
    /// afterwards.
    fn is_there(&self) -> bool;

    /// Does a piece of it, unless another thread has taken it meanwhile. The work must not wait at the barrier at which
    /// it is done.
    fn do_some(&self);
}

/// Work for members that have done their part of a run and wait, for the other members or for the next run.
///
/// It is there only as long as some member is still in the run's body, and that member waits until all of it is done.
pub trait SpareWork: std::fmt::Debug + Send + Sync {
    /// Whether there is work now. Who adds some calls [`Member::offer_work`](crate::Member::offer_work) afterwards.
    fn is_there(&self) -> bool;

    /// Does a piece of it on the thread of this rank, unless another thread has taken it meanwhile.
    fn do_some(&self, rank: usize);
}

/// Spare work as one member sees it.
pub(crate) struct SpareOf<'a> {
    pub(crate) work: &'a dyn SpareWork,
    pub(crate) rank: usize,
}

impl IdleWork for SpareOf<'_> {
    fn is_there(&self) -> bool {
        self.work.is_there()
    }

    fn do_some(&self) {
        self.work.do_some(self.rank);
    }
}

/// What looks after a wait that has become long.
pub(crate) type Watch<'a> = &'a dyn Fn(Duration) -> Option<Duration>;

/// Everything that ends a wait besides its flag.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// On the clock of [`now`].
    pub(crate) until_ns: Option<u64>,
    /// Set when the wait has become pointless.
    pub(crate) interrupt: Option<&'a AtomicBool>,
    /// Called with the length of the wait once it has lasted for the given time; it says how long after that to call it again.
    pub(crate) watch: Option<(Duration, Watch<'a>)>,
    /// Work to do meanwhile.
    pub(crate) work: Option<&'a dyn IdleWork>,
}

impl Limits<'_> {
    pub(crate) const NONE: Self = Self { until_ns: None, interrupt: None, watch: None, work: None };
}

/// What ends a wait besides its flag, in so few words that they stay in registers: most waits are over before it
/// matters.
#[derive(Clone, Copy)]
pub(crate) enum Unless<'a> {
    Never,
    /// Set when the wait has become pointless.
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
        if self.sees(flag, previous, pause) { Ok(()) } else { self.keep_on_for(flag, previous, bell) }
    }

    /// Whether a flag leaves the previous number within the first looks, with a pause between them. If not, the wait
    /// must be continued.
    #[inline(always)]
    pub(crate) fn sees(self, flag: &Flag, previous: u8, pause: impl Fn()) -> bool {
        for _ in 0..self.patience.first_looks() {
            if flag.has_left(previous) {
                return true;
            }
            pause();
        }
        false
    }

    /// Continues a wait for a flag.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_on_for(self, flag: &Flag, previous: u8, bell: &Bell) -> Result<(), Ended> {
        self.keep_on(&|| if flag.has_left(previous) { Awaited::Nothing } else { Awaited::Flag(flag) }, bell)
    }

    /// Waits for a condition other than a flag; the thread that makes it true rings the bell.
    pub(crate) fn until_true(self, done: &dyn Fn() -> bool, bell: &Bell) -> Result<(), Ended> {
        if done() {
            return Ok(());
        }
        self.keep_on(&|| if done() { Awaited::Nothing } else { Awaited::Something }, bell)
    }

    /// Continues a wait whose first looks were in vain.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_on<'f>(self, awaited: &dyn Fn() -> Awaited<'f>, bell: &Bell) -> Result<(), Ended> {
        let (mut limits, since) = (self.unless.limits(), now());
        let Some(work) = limits.work else { return self.keep_waiting(&mut limits, since, awaited, bell) };
        loop {
            let awaited_or_work = || if work.is_there() { Awaited::Nothing } else { awaited() };
            self.keep_waiting(&mut limits, since, &awaited_or_work, bell)?;
            if matches!(awaited(), Awaited::Nothing) {
                return Ok(());
            }
            if limits.interrupt.is_some_and(|interrupt| interrupt.load(Acquire)) {
                return Err(Ended::Interrupted);
            }
            work.do_some();
        }
    }

    /// One part of a wait that began at `since`.
    fn keep_waiting<'f>(
        self,
        limits: &mut Limits<'_>,
        since: u64,
        awaited: &dyn Fn() -> Awaited<'f>,
        bell: &Bell,
    ) -> Result<(), Ended> {
        let interrupt = limits.interrupt;
        let mut wait = Wait::begin(limits, since);
        let plan = self.patience.plan(wait.begun);
        if self.spin_on(&mut wait, plan, awaited)? {
            self.patience.spun(plan);
            return Ok(());
        }
        let done = || matches!(awaited(), Awaited::Nothing);
        if plan.gives_way && self.give_way(&mut wait, &done)? {
            self.patience.gave_way(plan);
            return Ok(());
        }
        let here = cpu();
        let mut rung_on = None;
        let awake = || done() || interrupt.is_some_and(|interrupt| interrupt.load(Acquire));
        while !done() {
            wait.look_at_clock()?;
            match wait.left() {
                // Who is to look again at once has no time to sleep.
                Some(Duration::ZERO) => yield_now(),
                left => rung_on = bell.sleep(&awake, left),
            }
        }
        let waited_ns = now() - wait.begun;
        let parted = rung_on.is_some_and(|cpu| self.parts_from(cpu));
        self.patience.slept(waited_ns, rung_on == Some(here) && !parted);
        Ok(())
    }

    /// Parts from the thread that has woken this one, and runs on, if that was on the CPU on which this one is now;
    /// returns whether they are apart. Nothing else would part them: both run, wait for each other and sleep by turns.
    fn parts_from(&self, rung_on: u32) -> bool {
        cpu() == rung_on && self.patience.may_leave() && self.patience.left(leave(rung_on))
    }

    /// Spins as planned, and on as long as nothing else wants the CPUs; returns whether that was long enough.
    fn spin_on<'f>(
        &self,
        wait: &mut Wait<'_, '_>,
        plan: Plan,
        awaited: &dyn Fn() -> Awaited<'f>,
    ) -> Result<bool, Ended> {
        let mut most_ns = plan.spin_ns;
        loop {
            match self.spin(wait, most_ns, awaited)? {
                Spun::Enough => return Ok(true),
                Spun::InVain if wait.passed() < plan.lingers_ns && quiet::is_quiet(wait.seen) => {
                    most_ns = plan.lingers_ns.min(2 * wait.passed());
                }
                Spun::InVain | Spun::Away => return Ok(false),
            }
        }
    }

    /// Spins until the wait has lasted this long.
    fn spin<'f>(
        &self,
        wait: &mut Wait<'_, '_>,
        most_ns: u64,
        awaited: &dyn Fn() -> Awaited<'f>,
    ) -> Result<Spun, Ended> {
        let dozes = can_doze();
        let (mut dozed, mut spun) = (false, Spun::InVain);
        while wait.passed() < most_ns {
            for _ in 0..LOOKS {
                match awaited() {
                    Awaited::Nothing => return Ok(Spun::Enough),
                    Awaited::Flag(flag) if dozes => {
                        doze(
                            flag.byte(),
                            &|| !matches!(awaited(), Awaited::Flag(still) if std::ptr::eq(still, flag)),
                        );
                        dozed = true;
                    }
                    _ => relax(),
                }
            }
            // Dozing takes longer than looking; how much longer is up to the processor.
            let took = wait.look_at_clock()?;
            if took > AWAY_NS && !dozed {
                self.patience.was_away();
                quiet::was_away(took, wait.seen);
                spun = Spun::Away;
                break;
            }
        }
        Ok(if matches!(awaited(), Awaited::Nothing) { Spun::Enough } else { spun })
    }

    /// Yields the CPU to threads that share it; returns whether that was enough.
    fn give_way(&self, wait: &mut Wait<'_, '_>, done: &dyn Fn() -> bool) -> Result<bool, Ended> {
        let begun = wait.passed();
        while wait.passed() - begun < GIVE_WAY_NS {
            yield_now();
            let ended = wait.look_at_clock();
            if let Ok(took) = ended
                && took > ROBBED_NS
            {
                self.patience.was_robbed(took, wait.seen);
                return Ok(done());
            }
            if done() {
                return Ok(true);
            }
            ended?;
        }
        Ok(false)
    }
}

/// How spinning ended.
#[derive(Clone, Copy)]
enum Spun {
    /// What was awaited has happened.
    Enough,
    InVain,
    /// The thread was taken off its CPU.
    Away,
}

/// What a wait is still waiting for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited<'a> {
    Nothing,
    /// This flag, maybe among others.
    Flag(&'a Flag),
    Something,
}

/// One wait that has become long, or a part of it between pieces of work.
struct Wait<'a, 'l> {
    limits: &'a mut Limits<'l>,
    /// When the whole wait began.
    since: u64,
    begun: u64,
    seen: u64,
}

impl<'a, 'l> Wait<'a, 'l> {
    fn begin(limits: &'a mut Limits<'l>, since: u64) -> Self {
        let begun = now();
        Self { limits, since, begun, seen: begun }
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
        if let Some((patience, watch)) = self.limits.watch {
            let passed = Duration::from_nanos(self.seen - self.since);
            if passed >= patience {
                self.limits.watch = watch(passed).map(|next| (passed + next, watch));
            }
        }
        Ok(since)
    }

    /// How long a sleep may last.
    fn left(&self) -> Option<Duration> {
        let until = self.limits.until_ns.map(|until| until.saturating_sub(self.seen));
        let watch = self.limits.watch.map(|(patience, _)| {
            u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX).saturating_sub(self.seen - self.since)
        });
        until.into_iter().chain(watch).min().map(Duration::from_nanos)
    }
}
