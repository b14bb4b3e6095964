//! How long a thread spins and yields before it sleeps, learnt from how its waits ended.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::sync;
use crate::wait::policy::{Crowding, WaitPolicy};

/// Initial spinning in nanoseconds: about what sleeping and waking cost, so that a wait costs at most twice the best
/// choice.
const START: u32 = 50_000;
/// The least spinning, which remains even with a busy neighbour.
const FLOOR: u32 = 5_000;
/// The longest spinning while nothing else wants the CPUs: about as long as libgomp's. Sleepers are woken one after the
/// other, and a processor that slept takes its time.
pub(super) const LINGERS: u32 = 15_000_000;
/// For how many waits something that did not pay is left out, at first and at most.
const FIRST_REST: u32 = 16;
const LONGEST_REST: u32 = 4096;

/// One thread's patience, on a line that only it writes. It orders nothing, so it is hidden from the model checker.
#[derive(Debug)]
pub(crate) struct Patience {
    /// Nanoseconds to spin; [`u32::MAX`] without end.
    spin_ns: AtomicU32,
    first_looks: AtomicU32,
    /// A rest from spinning, which keeps threads on the same CPU from running.
    together: Rest,
    /// What all threads that wait for each other know about yielding.
    courtesy: Shared,
    robberies: AtomicU32,
    ceiling_ns: u32,
    /// How long to spin while nothing else wants the CPUs.
    lingers_ns: u32,
    crowded: bool,
    may_give_way: bool,
    /// Whether the thread may leave the CPU of the thread that has woken it.
    is_movable: bool,
    /// A rest from leaving CPUs, which a thread that is bound to one cannot, and which does not pay if all are busy.
    staying: Rest,
    /// Whether it has left a CPU and not yet learnt whether that pays.
    has_left: AtomicBool,
}

/// How the next wait should proceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) spin_ns: u64,
    /// How long to spin while nothing else wants the CPUs.
    pub(crate) lingers_ns: u64,
    /// Whether to yield the CPU for a while before sleeping.
    pub(crate) gives_way: bool,
    /// Whether this wait tests if the threads it waits for still share its CPU.
    tries: bool,
}

impl Patience {
    pub(crate) fn new(policy: &WaitPolicy, crowding: Crowding, courtesy: Shared) -> Self {
        let ceiling_ns = match (policy.ceiling_ns(), crowding) {
            (u32::MAX, _) => u32::MAX,
            (ceiling, Crowding::None) => ceiling,
            // A spinning thread keeps the threads that it waits for from running.
            (_, Crowding::Threads) => 0,
            // A spinning thread would use up the group's quota.
            (ceiling, Crowding::Quota) => ceiling.min(FLOOR),
        };
        Self {
            spin_ns: AtomicU32::new(start(ceiling_ns)),
            first_looks: AtomicU32::new(first_looks(ceiling_ns)),
            together: Rest::default(),
            courtesy,
            robberies: AtomicU32::new(0),
            ceiling_ns,
            lingers_ns: if *policy == WaitPolicy::Adaptive && crowding == Crowding::None {
                LINGERS
            } else {
                0
            },
            crowded: crowding == Crowding::Threads,
            may_give_way: *policy != WaitPolicy::Passive,
            is_movable: false,
            staying: Rest::default(),
            has_left: AtomicBool::new(false),
        }
    }

    /// That of a thread that may leave the CPU of the thread that has woken it, if there are CPUs for all.
    pub(crate) fn movable(self, is_movable: bool) -> Self {
        Self { is_movable: is_movable && !self.crowded, ..self }
    }

    /// Whether there are more threads than CPUs.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Whether to try to leave a CPU now.
    pub(crate) fn may_leave(&self) -> bool {
        self.is_movable && self.staying.pass() != Passed::Resting
    }

    /// The thread has tried to leave a CPU; returns whether it `has_left`.
    pub(crate) fn left(&self, has_left: bool) -> bool {
        self.has_left.store(has_left, Relaxed);
        if !has_left {
            self.staying.begin();
        }
        has_left
    }

    /// Looks to take before the clock is read.
    #[inline(always)]
    pub(crate) fn first_looks(&self) -> u32 {
        self.first_looks.load(Relaxed)
    }

    /// Whether a thread that shares its CPU would yield now.
    pub(crate) fn yields(&self) -> bool {
        self.may_give_way && self.courtesy.pays(sync::now())
    }

    /// How often the thread was away for a time slice after it had yielded.
    pub(crate) fn robberies(&self) -> u32 {
        self.robberies.load(Relaxed)
    }

    /// The plan for a wait that has become long.
    pub(crate) fn plan(&self, now: u64) -> Plan {
        let learnt = match self.spin_ns.load(Relaxed) {
            u32::MAX => u64::MAX,
            ns => ns.into(),
        };
        let (spin_ns, lingers_ns, tries) = match self.together.pass() {
            Passed::NotBegun => (learnt, self.lingers_ns, false),
            Passed::Resting => (0, 0, false),
            Passed::Over => (FLOOR.min(self.ceiling_ns).into(), 0, true),
        };
        let shares = self.crowded || self.first_looks() == 1 && self.together.has_begun();
        let gives_way = self.may_give_way && shares && self.courtesy.pays(now);
        Plan { spin_ns, lingers_ns: lingers_ns.into(), gives_way, tries }
    }

    /// The wait ended while the thread was still spinning.
    pub(crate) fn spun(&self, plan: Plan) {
        if self.has_left.load(Relaxed) {
            self.has_left.store(false, Relaxed);
            self.staying.end();
        }
        if plan.tries {
            // The threads that it waits for now run elsewhere.
            self.together.end();
            self.first_looks.store(first_looks(self.ceiling_ns), Relaxed);
            self.spin_ns.store(start(self.ceiling_ns), Relaxed);
        }
    }

    /// The thread was taken off its CPU while it spun: something else wants to run there.
    pub(crate) fn was_away(&self) {
        if self.has_left.swap(false, Relaxed) {
            self.staying.begin();
        }
        self.shrink();
    }

    /// After the thread had yielded, another kept the CPU for this long, until now.
    pub(crate) fn was_robbed(&self, lost_ns: u64, now: u64) {
        self.robberies.store(self.robberies.load(Relaxed).wrapping_add(1), Relaxed);
        self.courtesy.was_abused(lost_ns, now);
    }

    /// Yielding was enough.
    pub(crate) fn gave_way(&self, plan: Plan) {
        if plan.tries {
            self.together.begin();
        }
    }

    /// The thread slept, and the whole wait took `waited_ns`; `shared` if the thread that rang ran on the CPU on which
    /// this one had waited.
    pub(crate) fn slept(&self, waited_ns: u64, shared: bool) {
        if shared && self.ceiling_ns > 0 {
            // The thread that it waited for could not run before this one slept, so spinning only prolongs the wait.
            self.together.begin();
            self.first_looks.store(1, Relaxed);
        } else if self.together.has_begun() {
            self.together.hurry();
        } else if waited_ns > self.ceiling_ns.into() {
            // The thread that it waited for was off its CPU or had much to do: spinning longer would not have helped.
            self.shrink();
        } else {
            let longer = self.spin_ns.load(Relaxed).saturating_mul(2);
            self.spin_ns.store(longer.min(self.ceiling_ns), Relaxed);
        }
    }

    fn shrink(&self) {
        let spin = self.spin_ns.load(Relaxed);
        if spin != u32::MAX {
            self.spin_ns.store((spin / 2).max(FLOOR.min(self.ceiling_ns)), Relaxed);
        }
    }
}

fn start(ceiling_ns: u32) -> u32 {
    if ceiling_ns == u32::MAX { ceiling_ns } else { START.min(ceiling_ns) }
}

fn first_looks(ceiling_ns: u32) -> u32 {
    if ceiling_ns < FLOOR { 1 } else { sync::first_looks() }
}

/// Something that did not pay is left out for a number of waits, then tried once. Each failed try doubles the number,
/// so that trying costs little and a change is still noticed.
#[derive(Debug, Default)]
struct Rest {
    /// 0 while there is none.
    length: AtomicU32,
    left: AtomicU32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passed {
    NotBegun,
    Resting,
    /// It is time to try again.
    Over,
}

impl Rest {
    fn has_begun(&self) -> bool {
        self.length.load(Relaxed) != 0
    }

    /// Counts a wait.
    fn pass(&self) -> Passed {
        if !self.has_begun() {
            return Passed::NotBegun;
        }
        let left = self.left.load(Relaxed).saturating_sub(1);
        self.left.store(left, Relaxed);
        if left == 0 { Passed::Over } else { Passed::Resting }
    }

    /// Begins a rest, or a new one after a failed try; a rest under way is not changed.
    fn begin(&self) {
        if self.left.load(Relaxed) == 0 {
            let length = (2 * self.length.load(Relaxed)).clamp(FIRST_REST, LONGEST_REST);
            self.length.store(length, Relaxed);
            self.left.store(length, Relaxed);
        }
    }

    /// Makes the next wait try.
    fn hurry(&self) {
        self.left.store(1, Relaxed);
    }

    fn end(&self) {
        self.length.store(0, Relaxed);
        self.left.store(0, Relaxed);
    }
}

/// Whether yielding pays, as learnt by all threads that wait for each other: what one of them loses by it, all lose.
///
/// A thread that has no part in the wait keeps the CPU for a time slice, thousands of times what the wait takes. After
/// that, none of them yields for a multiple of the time lost, and the multiple doubles with each loss, so that trying
/// costs little of the time.
#[derive(Debug, Default)]
pub(crate) struct Courtesy {
    /// On the clock of `now`.
    not_before: AtomicU64,
    rest_ns: AtomicU64,
}

/// Where the courtesy of threads that wait for each other lies.
#[derive(Debug)]
pub(crate) enum Shared {
    OfProcess(Arc<Courtesy>),
    /// In memory that several processes share.
    OfProcesses(&'static Courtesy),
}

impl Default for Shared {
    fn default() -> Self {
        Self::OfProcess(Arc::default())
    }
}

impl From<&Arc<Courtesy>> for Shared {
    fn from(courtesy: &Arc<Courtesy>) -> Self {
        Self::OfProcess(Arc::clone(courtesy))
    }
}

impl Deref for Shared {
    type Target = Courtesy;

    fn deref(&self) -> &Courtesy {
        match self {
            Self::OfProcess(courtesy) => courtesy,
            Self::OfProcesses(courtesy) => courtesy,
        }
    }
}

/// The rest after a loss, at first and at most, as a multiple of what was lost.
const LEAST_REST: u64 = 8;
const MOST_REST: u64 = 128;

impl Courtesy {
    fn pays(&self, now: u64) -> bool {
        now >= self.not_before.load(Relaxed)
    }

    fn was_abused(&self, lost_ns: u64, now: u64) {
        let (not_before, before) = (self.not_before.load(Relaxed), self.rest_ns.load(Relaxed));
        if now < not_before {
            // Another thread has recorded a loss meanwhile.
            return;
        }
        let again = now - not_before <= LEAST_REST * before;
        let rest = if again { 2 * before } else { 0 };
        let rest = rest.clamp(LEAST_REST * lost_ns, MOST_REST * lost_ns);
        self.rest_ns.store(rest, Relaxed);
        self.not_before.store(now + rest, Relaxed);
    }
}
