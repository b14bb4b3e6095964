//! One of a team's threads during a run, and what it can do together with the others.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::PoisonError;

use super::Schedule;
use super::construct::Entered;
use super::poison::Interrupted;
use super::ranges::one_by_one;
use super::state::State;
use crate::sync::AtomicUsize;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::wait::{Ended, IdleWork, Limits, Unless, Waiter};

/// A member of a team during a run.
///
/// [`Member::barrier`], [`Member::reduce`], [`Member::single`] and the loops must be called by every member of the
/// team, in the same order. A run panics if its members have met different numbers of loops and `single`s at the end,
/// unless the team is lenient ([`TeamBuilder::lenient`](super::TeamBuilder::lenient)). A member waits for ever at a
/// barrier that another does not reach; a watchdog ([`TeamBuilder::watchdog`](super::TeamBuilder::watchdog)) names
/// the missing ones.
pub struct Member<'team> {
    rank: usize,
    state: &'team State,
    met: Cell<usize>,
    reduced: Cell<usize>,
    /// Only one thread may use a rank.
    not_send: PhantomData<*const ()>,
}

impl<'team> Member<'team> {
    pub(super) fn new(rank: usize, state: &'team State) -> Self {
        Self { rank, state, met: Cell::new(state.met), reduced: Cell::new(0), not_send: PhantomData }
    }

    /// How many constructs it has met since the team's state was created.
    pub(super) fn met(&self) -> usize {
        self.met.get()
    }

    /// Its number in the team, from 0; the caller of the run is 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many members the team has.
    pub fn size(&self) -> usize {
        self.state.barrier.threads()
    }

    /// Waits until all members have arrived; what they did before is then visible.
    ///
    /// If a member has panicked, this unwinds, and the run raises that panic again.
    #[inline]
    pub fn barrier(&self) {
        self.go_on(self.state.barrier.wait_unless(self.rank, &self.state.poison.spread));
    }

    /// As [`Member::barrier`], but does idle work while it waits. It looks for the others first, so it costs nothing
    /// extra if all arrive at the same time.
    ///
    /// A member that must not leave before all work is done must arrive only when none is left. The others finish
    /// what they create while they work here.
    pub fn barrier_with(&self, work: &dyn IdleWork) {
        let limits = Limits { interrupt: Some(&self.state.poison.spread), work: Some(work), ..Limits::NONE };
        self.go_on(self.state.barrier.wait_limited(self.rank, &limits));
    }

    /// Wakes members that sleep at the team's barrier, or outside the run's body, so that they see new work. Call it after
    /// publishing the work.
    pub fn offer_work(&self) {
        self.state.barrier.ring();
        self.state.fork.ring_too();
    }

    /// The run, by which [`Member::within`] makes a member on the thread of another rank.
    pub fn run(&self) -> *const () {
        std::ptr::from_ref(self.state).cast()
    }

    /// The member of a rank, on its thread, for spare work.
    ///
    /// # Safety
    /// `run` is what [`Member::run`] has returned to a member of that run, and the run is not over.
    pub unsafe fn within(run: *const (), rank: usize) -> Self {
        // SAFETY: as the caller promises.
        let state = unsafe { &*run.cast::<State>() };
        Self { rank, state, met: Cell::new(0), reduced: Cell::new(0), not_send: PhantomData }
    }

    #[inline]
    fn go_on(&self, ended: Result<(), Ended>) {
        if ended.is_err() {
            // Not a panic of its own, so it is not announced.
            resume_unwind(Box::new(Interrupted));
        }
    }

    /// Combines a value of each member, in the order of ranks, and returns the result to all of them. Takes one
    /// barrier.
    ///
    /// # Panics
    /// If another member reduces values of a different type.
    pub fn reduce<T: Copy + Send + 'static>(&self, value: T, combine: impl Fn(T, T) -> T) -> T {
        let state = self.state;
        if state.poison.has_spread() {
            // A member that has caught its unwinding is no longer in step with the others.
            resume_unwind(Box::new(Interrupted));
        }
        let turn = self.reduced.replace(self.reduced.get() + 1);
        // SAFETY: others read this rank's value of this turn only between the barrier below and the next one, and the
        // turn comes round again only after that.
        unsafe { state.values.lay(self.rank, turn, value) };
        self.go_on(state.reduction.wait_unless(self.rank, &state.poison.spread));
        // SAFETY: every member has come to the barrier of reductions as often as this one, each time with a value, and
        // none uses this turn's places again before all have come to the next one.
        let look = |rank| unsafe { state.values.look::<T>(rank, turn) };
        let mut values = (0..self.size()).map(|rank| {
            look(rank).unwrap_or_else(|| {
                panic!("rank {rank} reduces values of another type than rank {}", self.rank)
            })
        });
        let first = values.next().expect("a team has a member");
        values.fold(first, combine)
    }

    /// Runs `work` on the first member that arrives here; the others continue at once, with `None`.
    pub fn single<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        self.construct(|share| share.is_first().then(work))
    }

    /// Runs `work` while no other member of the team is in a critical section. Critical sections cannot be nested.
    pub fn critical<R>(&self, work: impl FnOnce() -> R) -> R {
        // A panic inside poisons the team, not the lock.
        let _alone = self.state.critical.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    /// Divides the iterations of a loop among the members, a chunk at a time. There is no barrier at the end.
    pub fn for_chunks(&self, range: Range<usize>, schedule: Schedule, work: impl FnMut(Range<usize>)) {
        let who = (self.rank, self.size());
        if schedule.is_shared() {
            let deal = |share: &Share<'_>| {
                schedule.deal(range, who, share.taken(), |chunks| self.take_chunk(share, chunks), work);
            };
            self.construct(deal);
        } else {
            // Nothing is shared, so no construct is needed.
            schedule.deal(range, who, &AtomicUsize::new(0), |_| None, work);
        }
    }

    /// Divides the iterations of a loop among the members. There is no barrier at the end.
    pub fn for_each(&self, range: Range<usize>, schedule: Schedule, mut work: impl FnMut(usize)) {
        self.for_chunks(range, schedule, |chunk| chunk.for_each(&mut work));
    }

    /// As [`Member::for_each`]; each iteration may do a part of its work in its [`Turn`].
    pub fn for_each_ordered(
        &self,
        range: Range<usize>,
        schedule: Schedule,
        mut work: impl FnMut(usize, &Turn<'_>),
    ) {
        let (who, start) = ((self.rank, self.size()), range.start);
        self.construct(|share| {
            // Chunks are handed out in order; otherwise the members would wait for each other's turns.
            schedule.deal(
                range,
                who,
                share.taken(),
                |chunks| one_by_one(share.taken(), chunks),
                |chunk| {
                    for index in chunk {
                        let turn = Turn { member: self, share, index: index - start, over: Cell::new(false) };
                        work(index, &turn);
                        if !turn.over.get() {
                            turn.ordered(|| ());
                        }
                    }
                },
            );
        });
    }

    /// Runs the next construct.
    fn construct<R>(&self, body: impl FnOnce(&Share<'_>) -> R) -> R {
        let share = self.enter();
        let result = body(&share);
        self.leave(share);
        result
    }

    /// Enters the next construct, whose work the members divide among themselves. Every member enters and
    /// [leaves](Member::leave) it; none waits for the others at either.
    ///
    /// Loops and `single` are built on this. It is meant for runtimes that cannot hand over a loop's body.
    #[inline]
    pub fn enter(&self) -> Share<'team> {
        let number = self.met.replace(self.met.get() + 1);
        Share { entered: self.state.constructs.enter(number, self.rank), number }
    }

    /// Leaves a construct. The member must leave it before it enters another.
    #[inline]
    pub fn leave(&self, share: Share<'team>) {
        self.state.constructs.leave(share.entered, share.number, self.size());
    }

    /// The next of a loop's chunks, which are numbered from 0; `None` when none is left. All members must pass the
    /// same number of chunks, and each continues until there is none.
    ///
    /// A member takes several chunks at once onto a line of its own, from which other members take when they have run
    /// out. So its chunks are not always in ascending order, and it hardly ever waits for a line. The member that
    /// gets the last chunk gets none after it. [`Share::taken`] counts what has been taken, so only one of the two
    /// can be used.
    #[inline(always)]
    pub fn take_chunk(&self, share: &Share<'_>, chunks: usize) -> Option<usize> {
        self.state.constructs.take(&share.entered, share.number, self.rank, chunks)
    }

    /// Waits until a construct's turn is `turn`; what was done before it was [passed on](Share::pass_turn) is then visible.
    ///
    /// If a member has panicked, this unwinds, as [`Member::barrier`] does.
    pub fn await_turn(&self, share: &Share<'_>, turn: usize) {
        let construct = share.entered.construct();
        let done = || construct.turn.load(Acquire) == turn;
        if done() {
            return;
        }
        let patience = self.state.barrier.patience(self.rank);
        let unless = Unless::Interrupted(&self.state.poison.spread);
        self.go_on(Waiter { patience, unless }.until_true(&done, &construct.bell));
    }
}

/// A construct that a member has entered and not yet left: what all members share while they are in it.
#[derive(Debug)]
pub struct Share<'team> {
    entered: Entered<'team>,
    number: usize,
}

impl Share<'_> {
    /// A counter for the members to use as they like, for example for iterations taken. It is 0 when the first of
    /// them enters.
    #[inline]
    pub fn taken(&self) -> &AtomicUsize {
        &self.entered.construct().taken
    }

    /// Whether no other member has asked before. This uses [`Share::taken`], so only one of the two can be used.
    #[inline]
    pub fn is_first(&self) -> bool {
        let taken = self.taken();
        taken.load(Relaxed) == 0 && taken.swap(1, AcqRel) == 0
    }

    /// Passes the turn to the member that waits for `next` by [`Member::await_turn`]. The first turn is 0.
    pub fn pass_turn(&self, next: usize) {
        let construct = self.entered.construct();
        construct.turn.store(next, Release);
        construct.bell.ring();
    }
}

/// An iteration's turn in an ordered loop.
pub struct Turn<'a> {
    member: &'a Member<'a>,
    share: &'a Share<'a>,
    index: usize,
    over: Cell<bool>,
}

impl Turn<'_> {
    /// Whether the iteration has had its turn.
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    /// Runs `work` after the turns of all iterations before this one. An iteration that does not take its turn passes it
    /// on when it ends.
    ///
    /// # Panics
    /// If the iteration has had its turn.
    pub fn ordered<R>(&self, work: impl FnOnce() -> R) -> R {
        assert!(!self.over.replace(true), "an iteration has one turn");
        self.member.await_turn(self.share, self.index);
        let result = work();
        self.share.pass_turn(self.index + 1);
        result
    }
}
