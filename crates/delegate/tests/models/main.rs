//! Model checks: the ring's own source, on loom's primitives.

#![allow(dead_code, unused_imports)]

#[path = "../../src/arch/mod.rs"]
mod arch;
#[path = "../../src/request.rs"]
mod request;
#[path = "../../src/ring.rs"]
mod ring;
mod sync;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use request::{Answer, Request};
use ring::{Position, Ring, Served};
use sync::{Mistake, make};

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 2_000;
    builder.check(model);
}

struct Shared {
    ring: Ring,
    /// How many were executed, and what the last one was: only an order between executors keeps loom content.
    executed: UnsafeCell<usize>,
    payloads: Vec<UnsafeCell<usize>>,
}

// SAFETY: loom itself checks every access.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    /// Request n, from 0, is the n-th to be executed, and finds its payload.
    fn execute(&self, request: &Request) -> Answer {
        let number = request.arguments[5];
        assert_eq!(request.number as usize, number, "a request is whole");
        // SAFETY: loom checks.
        self.executed.with_mut(|executed| unsafe {
            assert_eq!(*executed, number, "each once, in order");
            *executed += 1;
        });
        // SAFETY: loom checks.
        let payload = self.payloads[self.ring.index(number as u64)].with_mut(|payload| unsafe {
            *payload += 1;
            *payload
        });
        Answer(payload as isize)
    }
}

/// What the caller does with its requests before it waits for all.
#[derive(Clone, Copy)]
struct Plan {
    lines: usize,
    /// Posted at a time.
    batches: &'static [usize],
    /// It loses its patience at once; otherwise it waits for the host.
    impatient: bool,
}

/// A caller and a host, from the first request to the last.
fn run(plan: Plan) {
    let total: usize = plan.batches.iter().sum();
    let shared = Arc::new(Shared {
        ring: Ring::new(plan.lines),
        executed: UnsafeCell::new(0),
        payloads: (0..plan.lines).map(|_| UnsafeCell::new(0)).collect(),
    });
    let host = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let mut at = 0;
            while at < total as Position {
                if shared.ring.serve(&mut at, |request| shared.execute(request)) == Served::None {
                    wait();
                }
            }
        })
    };
    let mut next: Position = 0;
    let mut done = 0;
    for &batch in plan.batches {
        let end = next + batch as Position;
        let before = end.saturating_sub(plan.lines as Position);
        settle(&shared, &mut done, before, plan.impatient);
        for position in next..end {
            assert!(shared.ring.is_free(position));
            let number = position as usize;
            // SAFETY: loom checks.
            shared.payloads[shared.ring.index(position)]
                .with_mut(|payload| unsafe { *payload = 10 * number });
            shared.ring.fill(position, &Request { number: number as u32, arguments: [number; 6] });
        }
        (next..end).rev().for_each(|position| shared.ring.notify(position));
        next = end;
    }
    settle(&shared, &mut done, next, plan.impatient);
    // SAFETY: loom checks.
    assert_eq!(shared.executed.with(|executed| unsafe { *executed }), total);
    host.join().unwrap();
}

/// Completes everything before a position, and checks the answers.
fn settle(shared: &Shared, done: &mut Position, before: Position, impatient: bool) {
    let until = |position| {
        while shared.ring.answer(position).is_none() {
            wait();
        }
    };
    if impatient {
        shared.ring.settle(*done..before, |request| shared.execute(request), until);
    } else {
        (*done..before).for_each(until);
    }
    for position in *done..before {
        let answer = shared.ring.answer(position).expect("it is done");
        assert_eq!(answer.raw(), 10 * position as isize + 1);
        // SAFETY: loom checks.
        shared.payloads[shared.ring.index(position)]
            .with(|payload| assert_eq!(unsafe { *payload }, 10 * position as usize + 1));
    }
    *done = before.max(*done);
}

/// A look in vain. Endless looking is detected, as the branch grows too long.
fn wait() {
    thread::yield_now();
}

const ONE_LINE: Plan = Plan { lines: 1, batches: &[1, 1, 1], impatient: true };
const BATCHES: Plan = Plan { lines: 2, batches: &[2, 1], impatient: true };
const UNEVEN: Plan = Plan { lines: 2, batches: &[1, 2], impatient: true };

#[test]
fn each_request_is_done_once_and_in_order_by_either() {
    for plan in [ONE_LINE, BATCHES, UNEVEN] {
        check(2, move || run(plan));
    }
}

#[test]
fn a_patient_caller_finds_its_answers() {
    for plan in [ONE_LINE, BATCHES, UNEVEN] {
        check(3, move || run(Plan { impatient: false, ..plan }));
    }
}

#[test]
fn mistakes_are_found() {
    for mistake in [Mistake::RelaxedStores, Mistake::RelaxedLoads, Mistake::PlainClaims] {
        make(mistake);
        let found = [ONE_LINE, BATCHES]
            .iter()
            .any(|&plan| catch_unwind(AssertUnwindSafe(|| check(3, move || run(plan)))).is_err());
        assert!(found, "{mistake:?}");
    }
    make(Mistake::None);
}
