//! Where the two CPUs of a pair wait for each other, asleep if the other is not running, and never for ever.

use std::time::Duration;

use super::sync::{AtomicBool, AtomicU32, Mutex, Ordering::SeqCst, Thread, current_thread, pause};

/// How long a side spins for the other before it sleeps: a CPU that spins while its partner waits for a turn on a
/// busy CPU only uses up its own turn.
const SPINS: u32 = if cfg!(loom) { 1 } else { 2000 };

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

/// The other side did not come in time, or has given up; the meeting is over for both.
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
        let count = mine.arrivals.load(SeqCst) + 1;
        mine.arrivals.store(count, SeqCst);
        self.wake(side.other());
        let here = || other.arrivals.load(SeqCst) >= count;
        for _ in 0..SPINS {
            if here() {
                return Ok(());
            }
            pause();
        }
        *mine.thread.lock().expect("no holder panics") = Some(current_thread());
        let result = self.sleep(mine, &here, patience);
        mine.asleep.store(false, SeqCst);
        result
    }

    fn sleep(&self, mine: &Place, here: &dyn Fn() -> bool, patience: Duration) -> Result<(), Absent> {
        let end = super::sync::Deadline::after(patience);
        loop {
            // Announced before the last look: either this side sees the other, or the other sees it asleep.
            mine.asleep.store(true, SeqCst);
            if here() {
                return Ok(());
            }
            if self.abandoned.load(SeqCst) {
                return Err(Absent);
            }
            if !end.park() {
                self.abandon();
                return Err(Absent);
            }
        }
    }

    /// Ends the meeting for both sides.
    fn abandon(&self) {
        self.abandoned.store(true, SeqCst);
        self.wake(Side::Leader);
        self.wake(Side::Follower);
    }

    fn wake(&self, side: Side) {
        let place = &self.places[side as usize];
        if place.asleep.load(SeqCst)
            && let Some(thread) = &*place.thread.lock().expect("no holder panics")
        {
            thread.unpark();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Instant;

    use super::*;

    #[test]
    fn both_pass_together_many_times() {
        let (meeting, sum) = (Meeting::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for side in [Side::Leader, Side::Follower] {
                let (meeting, sum) = (&meeting, &sum);
                scope.spawn(move || {
                    for round in 0..5000u64 {
                        sum.fetch_add(1, Relaxed);
                        meeting.meet(side, Duration::from_secs(60)).unwrap();
                        assert!(sum.load(Relaxed) >= 2 * (round + 1));
                        meeting.meet(side, Duration::from_secs(60)).unwrap();
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 10_000);
    }

    #[test]
    fn gives_up_alone_and_tells_the_late() {
        let meeting = Meeting::new();
        let start = Instant::now();
        assert_eq!(meeting.meet(Side::Leader, Duration::from_millis(5)), Err(Absent));
        assert!(start.elapsed() >= Duration::from_millis(5));
        assert!(meeting.abandoned.load(SeqCst));
        // The late side finds the leader's arrival, and at the next meeting that it has gone.
        assert_eq!(meeting.meet(Side::Follower, Duration::from_secs(60)), Ok(()));
        assert_eq!(meeting.meet(Side::Follower, Duration::from_secs(60)), Err(Absent));
    }
}
