//! Where the two CPUs of a pair wait for each other: asleep if the other is not running, and never for ever.

use std::time::Duration;

use super::sync::Ordering::{Acquire, Relaxed, Release, SeqCst};
use super::sync::{AtomicBool, AtomicU32, Deadline, Mutex, SPINS, Thread, current_thread, fence, pause};

/// The two sides of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// CPU `a`, which takes the time.
    Leader,
    /// CPU `b`.
    Follower,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Leader => Self::Follower,
            Self::Follower => Self::Leader,
        }
    }
}

/// The other side did not arrive in time, or has given up; the meeting is over for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Absent;

/// A barrier for two with a time limit.
#[derive(Debug)]
pub(crate) struct Meeting {
    places: [Place; 2],
    abandoned: AtomicBool,
}

#[derive(Debug)]
struct Place {
    arrivals: AtomicU32,
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Place {
    fn new() -> Self {
        Self { arrivals: AtomicU32::new(0), asleep: AtomicBool::new(false), thread: Mutex::new(None) }
    }
}

impl Meeting {
    pub(crate) fn new() -> Self {
        Self { places: [Place::new(), Place::new()], abandoned: AtomicBool::new(false) }
    }

    /// Waits until the other side has arrived as often as this one; what it did before is then visible.
    pub(crate) fn meet(&self, side: Side, patience: Duration) -> Result<(), Absent> {
        let (mine, other) = (&self.places[side as usize], &self.places[side.other() as usize]);
        let count = mine.arrivals.load(Relaxed) + 1;
        mine.arrivals.store(count, Release);
        self.wake(side.other());
        let here = || other.arrivals.load(Acquire) >= count;
        for _ in 0..SPINS {
            if here() {
                return Ok(());
            }
            pause();
        }
        *mine.thread.lock().expect("no holder panics") = Some(current_thread());
        let result = self.sleep(mine, &here, patience);
        mine.asleep.store(false, Relaxed);
        result
    }

    fn sleep(&self, mine: &Place, here: &dyn Fn() -> bool, patience: Duration) -> Result<(), Absent> {
        let end = Deadline::after(patience);
        loop {
            // The fence and that of `wake`: either this side sees the other, or the other sees it asleep.
            mine.asleep.store(true, Release);
            fence(SeqCst);
            if here() {
                return Ok(());
            }
            if self.abandoned.load(Acquire) {
                return Err(Absent);
            }
            if !end.park() {
                self.abandon();
                return Err(Absent);
            }
        }
    }

    /// Ends the meeting for both sides: a side that waits or arrives later finds nobody.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Release);
        self.wake(Side::Leader);
        self.wake(Side::Follower);
    }

    fn wake(&self, side: Side) {
        fence(SeqCst);
        let place = &self.places[side as usize];
        if place.asleep.load(Acquire)
            && let Some(thread) = &*place.thread.lock().expect("no holder panics")
        {
            thread.unpark();
        }
    }
}
