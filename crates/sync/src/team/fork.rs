//! How the leader starts the others and hears that they are done: a go flag that the leader raises, and a flag for each
//! worker that the leader looks at. Two one-way latencies, no read-modify-write.

use crate::number::{Flag, next};
use crate::padded::Padded;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicPtr, AtomicUsize};
use crate::wait::{Bell, Ended, Limits, Patience, Waiter};

/// What the leader has the others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) call: *mut (),
    pub(crate) data: *mut (),
    pub(crate) state: *mut (),
}

/// The meeting places of a leader, rank 0, and its workers.
#[derive(Debug)]
pub(crate) struct Fork {
    go: Padded<Go>,
    go_bell: Padded<Bell>,
    done: Box<[Padded<Done>]>,
    benches: Box<[Padded<Bench>]>,
}

/// The order lies in the flag's own line, so that it comes with it.
#[derive(Debug)]
struct Go {
    flag: Flag,
    call: AtomicPtr<()>,
    data: AtomicPtr<()>,
    state: AtomicPtr<()>,
}

#[derive(Debug)]
struct Done {
    flag: Flag,
    bell: Bell,
    /// What the worker tells besides, in its flag's line.
    told: AtomicUsize,
}

/// Where a worker waits that has no part in the team as it now is.
#[derive(Debug)]
struct Bench {
    flag: Flag,
    bell: Bell,
    /// The go flag's number when it is called, or [`DISMISSED`].
    number: AtomicUsize,
}

const DISMISSED: usize = usize::MAX;

fn waiter(patience: &Patience) -> Waiter<'_> {
    Waiter { patience, limits: Limits::NONE }
}

/// A wait that nothing but its flag ends.
fn surely(ended: Result<(), Ended>) {
    ended.expect("without a limit only the flag ends a wait");
}

impl Fork {
    /// For ranks up to `capacity`.
    pub(crate) fn new(capacity: usize) -> Self {
        let null = || AtomicPtr::new(std::ptr::null_mut());
        let go = Go { flag: Flag::new(), call: null(), data: null(), state: null() };
        let done = |_| Padded(Done { flag: Flag::new(), bell: Bell::new(), told: AtomicUsize::new(0) });
        let bench = |_| Padded(Bench { flag: Flag::new(), bell: Bell::new(), number: AtomicUsize::new(0) });
        Self {
            go: Padded(go),
            go_bell: Padded(Bell::new()),
            done: (0..capacity).map(done).collect(),
            benches: (0..capacity).map(bench).collect(),
        }
    }

    /// Leader: starts those who are not on their benches.
    #[inline]
    pub(crate) fn start(&self, order: Order) {
        self.go.call.store(order.call, Relaxed);
        self.go.data.store(order.data, Relaxed);
        self.go.state.store(order.state, Relaxed);
        self.go.flag.raise(next(self.go.flag.own()));
        self.go_bell.ring();
    }

    /// Leader: waits until the ranks `1..size` are done; what they did is then visible. `each` hears what they told.
    #[inline]
    pub(crate) fn join(&self, size: usize, patience: &Patience, mut each: impl FnMut(usize, usize)) {
        let number = self.go.flag.own();
        // Of three numbers, a worker's is this one or the one before.
        let previous = next(next(number));
        for rank in 1..size {
            let done = &self.done[rank];
            surely(waiter(patience).until(&done.flag, previous, &done.bell));
            each(rank, done.told.load(Relaxed));
        }
    }

    /// Leader: calls a worker from its bench; it takes part from the next start on.
    pub(crate) fn call(&self, rank: usize) {
        self.to_bench(rank, self.go.flag.own().into());
    }

    /// Leader: lets a worker on its bench go for good.
    pub(crate) fn dismiss(&self, rank: usize) {
        self.to_bench(rank, DISMISSED);
    }

    fn to_bench(&self, rank: usize, number: usize) {
        let bench = &self.benches[rank];
        bench.number.store(number, Relaxed);
        bench.flag.raise(next(bench.flag.own()));
        bench.bell.ring();
    }

    /// Worker on its bench: waits for the call after those it has heard, and returns the go flag's number, or `None` if
    /// it is dismissed.
    pub(crate) fn sit(&self, rank: usize, heard: &mut u8, patience: &Patience) -> Option<u8> {
        let bench = &self.benches[rank];
        surely(waiter(patience).until(&bench.flag, *heard, &bench.bell));
        *heard = next(*heard);
        let number = u8::try_from(bench.number.load(Relaxed)).ok()?;
        // The leader looks for this flag to change at the next start.
        self.done[rank].flag.raise(number);
        Some(number)
    }

    /// Worker: waits for the start after `number`, which is brought up to date.
    #[inline]
    pub(crate) fn await_start(&self, number: &mut u8, patience: &Patience) -> Order {
        surely(waiter(patience).until(&self.go.flag, *number, &self.go_bell));
        *number = next(*number);
        Order {
            call: self.go.call.load(Relaxed),
            data: self.go.data.load(Relaxed),
            state: self.go.state.load(Relaxed),
        }
    }

    /// Worker: is done with the start of that number.
    #[inline]
    pub(crate) fn finish(&self, rank: usize, number: u8, told: usize) {
        let done = &self.done[rank];
        done.told.store(told, Relaxed);
        done.flag.raise(number);
        done.bell.ring();
    }
}
