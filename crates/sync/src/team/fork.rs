//! How the leader starts the others and learns that they are done: a go flag that the leader raises, and a flag for
//! each worker that the leader watches. This takes two one-way latencies and no read-modify-write.
//!
//! A single worker's flag shares the go flag's line: one line that goes back and forth is quicker than two, since
//! each side's store fetches what the other has written.

use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use crate::number::{Flag, next};
use crate::padded::Padded;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicPtr, AtomicUsize};
use crate::wait::{
    Awaited, Bell, Crowding, Ended, Gap, Limits, Patience, SpareOf, SpareWork, Steps, Unless, Waiter,
};

/// The words for the body that travel with the go flag, as many as its line has room for.
pub(crate) type Words = [*mut (); 3];

/// The leader's order to the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) call: *mut (),
    pub(crate) words: Words,
    pub(crate) state: *mut (),
}

/// A copy of what the leader wrote last. A waiting worker takes the go flag's line away, so reading it there would
/// cost the leader a transfer before it starts its own work.
#[derive(Debug)]
pub(crate) struct Lead {
    number: u8,
    order: Order,
}

// SAFETY: the pointers are only compared and handed on.
unsafe impl Send for Lead {}
// SAFETY: as above.
unsafe impl Sync for Lead {}

impl Lead {
    pub(crate) fn new() -> Self {
        Self { number: 0, order: Order::PART }
    }
}

impl Order {
    /// The order to go to the benches.
    pub(crate) const PART: Self = Self { call: null_mut(), words: [null_mut(); 3], state: null_mut() };

    #[inline(always)]
    fn all(&self) -> [*mut (); 5] {
        let [first, second, third] = self.words;
        [self.call, self.state, first, second, third]
    }
}

impl Go {
    /// The words of an [`Order`].
    #[inline(always)]
    fn all(&self) -> [&AtomicPtr<()>; 5] {
        let [first, second, third] = self.words.each_ref();
        [&self.call, &self.state, first, second, third]
    }
}

/// The meeting places of a leader, rank 0, and its workers.
#[derive(Debug)]
pub(crate) struct Fork {
    go: Padded<Go>,
    go_bell: Padded<Bell>,
    done: Box<[Padded<Done>]>,
    /// Rung by the last worker that is done, so that the leader is woken once.
    done_bell: Padded<Bell>,
    /// The gap between looks, for all members.
    gap: Gap,
    benches: Box<[Padded<Bench>]>,
    /// What members do meanwhile.
    spare: OnceLock<Arc<dyn SpareWork>>,
}

/// The order shares the flag's line, so that it arrives with it.
#[derive(Debug)]
struct Go {
    flag: Flag,
    call: AtomicPtr<()>,
    words: [AtomicPtr<()>; 3],
    state: AtomicPtr<()>,
    /// Used by the only worker.
    done: Done,
}

#[derive(Debug)]
struct Done {
    flag: Flag,
    /// What the worker reports besides, on its flag's line.
    report: AtomicUsize,
}

/// Where a worker waits that is not part of the team at its present size.
#[derive(Debug)]
struct Bench {
    flag: Flag,
    bell: Bell,
    /// A [`Call`] in a word, or [`DISMISSED`].
    call: AtomicUsize,
}

const DISMISSED: usize = usize::MAX;

/// What a worker on its bench is told.
#[derive(Debug, Clone, Copy)]
struct Call {
    /// The go flag's.
    number: u8,
    crowding: Crowding,
    size: usize,
}

impl Call {
    const NUMBERS: usize = 4;

    fn word(self) -> usize {
        usize::from(self.number) + Self::NUMBERS * (self.crowding as usize + Crowding::ALL.len() * self.size)
    }

    fn of_word(word: usize) -> Self {
        let (number, rest) = (word % Self::NUMBERS, word / Self::NUMBERS);
        let [crowding, size] = [rest % Crowding::ALL.len(), rest / Crowding::ALL.len()];
        Self { number: number as u8, crowding: Crowding::ALL[crowding], size }
    }
}

/// What a worker knows about its part in the team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seat {
    rank: usize,
    /// The last number of the go flag that it has seen.
    number: u8,
    /// The team's size.
    size: usize,
    crowding: Crowding,
}

impl Seat {
    /// What keeps the team from running at once.
    pub(crate) fn crowding(&self) -> Crowding {
        self.crowding
    }
}

fn waiter(patience: &Patience) -> Waiter<'_> {
    Waiter { patience, unless: Unless::Never }
}

/// Returns whether the flag changes within the first looks. `size` is the team's.
#[inline(always)]
fn sees(patience: &Patience, flag: &Flag, previous: u8, (steps, size): (Steps, usize)) -> bool {
    if size == 2 {
        // This thread's next store goes to the same line.
        waiter(patience).sees(flag, previous, || steps.pass_and_claim(flag))
    } else {
        waiter(patience).sees(flag, previous, || steps.pass(flag))
    }
}

/// A wait that nothing but its flag ends.
fn surely(ended: Result<(), Ended>) {
    ended.expect("without a limit only the flag ends a wait");
}

impl Fork {
    /// For ranks up to `capacity`; `crowding` is what keeps a team of all of them from running at once.
    pub(crate) fn new(capacity: usize, crowding: Crowding) -> Self {
        let null = || AtomicPtr::new(null_mut());
        let done = || Done { flag: Flag::new(), report: AtomicUsize::new(0) };
        let go = Go {
            flag: Flag::new(),
            call: null(),
            words: [null(), null(), null()],
            state: null(),
            done: done(),
        };
        let bench =
            |_| Padded(Bench { flag: Flag::new(), bell: Bell::new(crowding), call: AtomicUsize::new(0) });
        Self {
            go: Padded(go),
            go_bell: Padded(Bell::new(crowding)),
            done: (0..capacity).map(|_| Padded(done())).collect(),
            done_bell: Padded(Bell::new(crowding)),
            gap: Gap::of_regions(),
            benches: (0..capacity).map(bench).collect(),
            spare: OnceLock::new(),
        }
    }

    /// Leader: from the next start on, members do this work while they wait. Only the first call matters.
    pub(crate) fn share_out(&self, work: Arc<dyn SpareWork>) {
        let _ = self.spare.set(work);
    }

    /// Wakes members that sleep here so that they see new spare work. Call it after publishing the work and ringing the
    /// bells of the team's barrier.
    pub(crate) fn ring_too(&self) {
        self.go_bell.ring_too();
        self.done_bell.ring_too();
    }

    /// Continues a wait, with spare work meanwhile.
    fn keep_on<'f>(&self, rank: usize, patience: &Patience, awaited: &dyn Fn() -> Awaited<'f>, bell: &Bell) {
        let Some(work) = self.spare.get() else {
            return surely(waiter(patience).keep_on(awaited, bell));
        };
        let work = SpareOf { work: &**work, rank };
        let limits = Limits { work: Some(&work), ..Limits::NONE };
        surely(Waiter { patience, unless: Unless::Limited(&limits) }.keep_on(awaited, bell));
    }

    /// Leader: starts the workers that are not on their benches.
    #[inline]
    pub(crate) fn start(&self, lead: &mut Lead, order: Order) {
        // A write before the flag's may cost a second transfer of the line, as the others look at it all the time.
        for ((word, new), old) in self.go.all().into_iter().zip(order.all()).zip(lead.order.all()) {
            if new != old {
                word.store(new, Relaxed);
            }
        }
        lead.order = order;
        lead.number = next(lead.number);
        self.go.flag.raise(lead.number);
        self.go_bell.ring();
    }

    /// Leader: waits until the ranks `1..size` are done; what they did is then visible. `each` gets what they reported.
    #[inline]
    pub(crate) fn join(
        &self,
        lead: &Lead,
        size: usize,
        patience: &Patience,
        mut each: impl FnMut(usize, usize),
    ) {
        let (number, steps) = (lead.number, self.gap.steps());
        // A worker's flag holds this number or the one before, of the three.
        let previous = next(next(number));
        for rank in 1..size {
            let done = self.done(rank, size);
            if !sees(patience, &done.flag, previous, (steps, size)) {
                self.keep_joining(size, previous, patience);
            }
            each(rank, done.report.load(Relaxed));
        }
        if size > 1 {
            self.gap.count();
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_joining(&self, size: usize, previous: u8, patience: &Patience) {
        self.keep_on(0, patience, &|| self.awaited(size, previous), &self.done_bell);
    }

    fn done(&self, rank: usize, size: usize) -> &Done {
        if size == 2 { &self.go.done } else { &self.done[rank] }
    }

    /// A worker that is not yet done, of a team of `size`.
    fn awaited(&self, size: usize, previous: u8) -> Awaited<'_> {
        let mut flags = (1..size).map(|rank| &self.done(rank, size).flag);
        flags.find(|flag| !flag.has_left(previous)).map_or(Awaited::Nothing, Awaited::Flag)
    }

    /// Leader: calls the workers of a team of `size` from their benches, where all are; they take part from the next
    /// start on.
    pub(crate) fn call(&self, lead: &Lead, size: usize, crowding: Crowding) {
        let number = lead.number;
        self.go_bell.suit(crowding);
        self.done_bell.suit(crowding);
        for rank in 1..size {
            // The next join waits for this flag to change. The worker cannot reset it: it may leave its bench only
            // after the leader's look, and the flag's value from an earlier run would then make it seem to be done.
            self.done(rank, size).flag.raise(number);
            self.to_bench(rank, Call { number, crowding, size }.word());
        }
    }

    /// Leader: dismisses a worker on its bench for good.
    pub(crate) fn dismiss(&self, rank: usize) {
        self.to_bench(rank, DISMISSED);
    }

    fn to_bench(&self, rank: usize, call: usize) {
        let bench = &self.benches[rank];
        bench.call.store(call, Relaxed);
        bench.flag.raise(next(bench.flag.own()));
        bench.bell.ring();
    }

    /// Worker on its bench: waits for the next call after those it has heard; `None` if it is dismissed.
    pub(crate) fn sit(&self, rank: usize, heard: &mut u8, patience: &Patience) -> Option<Seat> {
        let bench = &self.benches[rank];
        surely(waiter(patience).until(&bench.flag, *heard, &bench.bell));
        *heard = next(*heard);
        let call = bench.call.load(Relaxed);
        if call == DISMISSED {
            return None;
        }
        let Call { number, crowding, size } = Call::of_word(call);
        Some(Seat { rank, number, size, crowding })
    }

    /// Worker: waits for the next start.
    #[inline]
    pub(crate) fn await_start(&self, seat: &mut Seat, patience: &Patience) -> Order {
        let steps = self.gap.steps();
        if !sees(patience, &self.go.flag, seat.number, (steps, seat.size)) {
            self.keep_awaiting(seat, patience);
        }
        seat.number = next(seat.number);
        Order {
            call: self.go.call.load(Relaxed),
            words: self.go.words.each_ref().map(|word| word.load(Relaxed)),
            state: self.go.state.load(Relaxed),
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_awaiting(&self, seat: &Seat, patience: &Patience) {
        let flag = &self.go.flag;
        let awaited = || if flag.has_left(seat.number) { Awaited::Nothing } else { Awaited::Flag(flag) };
        self.keep_on(seat.rank, patience, &awaited, &self.go_bell);
    }

    /// Worker: reports that it is done.
    #[inline]
    pub(crate) fn finish(&self, seat: Seat, report: usize) {
        let done = self.done(seat.rank, seat.size);
        if done.report.load(Relaxed) != report {
            done.report.store(report, Relaxed);
        }
        done.flag.raise(seat.number);
        if self.done_bell.is_awaited() {
            self.wake_if_last(seat);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_if_last(&self, seat: Seat) {
        let previous = next(next(seat.number));
        self.done_bell.wake_if(&|| matches!(self.awaited(seat.size, previous), Awaited::Nothing));
    }
}
