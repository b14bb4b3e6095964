//! Members that meet unless their region is cancelled, and sleep meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::bell::Bell;
use crate::check;
use crate::gathering::Gathering;
use crate::sync::{Mistake, make};

#[derive(Default)]
struct Region {
    gathering: Gathering,
    bell: Bell,
    parts: Vec<UnsafeCell<usize>>,
}

// SAFETY: loom itself checks every access.
unsafe impl Sync for Region {}
// SAFETY: as above.
unsafe impl Send for Region {}

impl Region {
    fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { parts: (0..size).map(|_| UnsafeCell::new(0)).collect(), ..Self::default() })
    }

    fn meet(&self) {
        match self.gathering.arrive(self.parts.len() as u32, || ()) {
            None => self.bell.ring(),
            Some(number) => {
                while !self.gathering.is_over(number) {
                    self.bell.nap(Duration::from_millis(1), || self.gathering.is_over(number));
                }
            }
        }
    }

    /// Does a part, and sees the others' afterwards; so many times.
    fn work(&self, rank: usize, times: usize) {
        for time in 1..=times {
            // SAFETY: loom checks.
            self.parts[rank].with_mut(|part| unsafe { *part = time });
            self.meet();
            // SAFETY: loom checks.
            assert!(self.parts.iter().all(|part| part.with(|part| unsafe { *part }) == time));
            if time < times {
                self.meet();
            }
        }
    }

    fn cancel(&self) {
        self.gathering.cancel();
        self.bell.ring();
    }
}

fn members(size: usize, times: usize) {
    let region = Region::new(size);
    let others: Vec<_> = (1..size)
        .map(|rank| {
            let region = Arc::clone(&region);
            thread::spawn(move || region.work(rank, times))
        })
        .collect();
    region.work(0, times);
    others.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn nobody_leaves_before_all_have_come_and_nobody_sleeps_on() {
    check(2, || members(2, 2));
    check(1, || members(3, 1));
}

/// The third member never comes.
fn cancelled() {
    let region = Region::new(3);
    let waits = {
        let region = Arc::clone(&region);
        thread::spawn(move || region.meet())
    };
    region.cancel();
    waits.join().unwrap();
}

#[test]
fn who_waits_in_a_cancelled_region_leaves() {
    check(3, cancelled);
}

#[test]
fn an_arrival_that_orders_nothing_is_found() {
    make(Mistake::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| check(2, || members(2, 1)))).is_err());
    make(Mistake::None);
}
