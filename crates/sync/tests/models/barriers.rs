//! Barriers: what was done before is seen after, in every episode.

use std::panic::{AssertUnwindSafe, catch_unwind};

use coho_topology::{Topology, Unit};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::barrier::{Algorithm, Barrier};
use crate::check;
use crate::sync::Ordering::{Relaxed, Release};
use crate::sync::{AtomicBool, Futex, Mistake, fence_steps, look, make};
use crate::wait::{Crowding, Ended, IdleWork, Limits, Reach, WaitPolicy};

/// A place that one thread writes and, a barrier later, the others read: loom refuses a read that the write is not
/// ordered before.
struct Place(UnsafeCell<bool>);

// SAFETY: loom itself checks every access.
unsafe impl Sync for Place {}
// SAFETY: as above.
unsafe impl Send for Place {}

/// A machine whose levels part three threads: a round for each.
fn modules_of_two() -> Topology {
    let module = |cpus: &str| Unit { id: None, cpus: cpus.parse().unwrap() };
    Topology { modules: ["0-1", "2-3"].map(module).into(), ..Topology::default() }
}

/// Each thread writes its place of the episode, meets the others, and reads theirs.
fn meet(algorithm: Algorithm, policy: WaitPolicy, threads: usize, episodes: usize) {
    meet_in(Crowding::None, algorithm, policy, threads, episodes);
}

/// As [`meet`], in a crowd.
fn meet_in(crowding: Crowding, algorithm: Algorithm, policy: WaitPolicy, threads: usize, episodes: usize) {
    let barrier = Barrier::builder(threads).algorithm(algorithm).policy(policy).crowding(crowding);
    let cpus: Vec<u32> = (0..threads as u32).collect();
    let barrier = barrier.places(&modules_of_two(), &cpus).build().unwrap();
    if crowding == Crowding::Threads {
        // From the second episode on, the first rank leaves first.
        barrier.patience(0).was_robbed(0, 0);
    }
    let places = || (0..threads).map(|_| Place(UnsafeCell::new(false))).collect();
    let shared = Arc::new((barrier, (0..episodes).map(|_| places()).collect::<Vec<Vec<_>>>()));
    let run = |rank: usize, (barrier, episodes): &(Barrier, Vec<Vec<Place>>)| {
        for places in episodes {
            // SAFETY: loom checks.
            places[rank].0.with_mut(|place| unsafe { *place = true });
            barrier.wait(rank);
            // SAFETY: loom checks.
            assert!(places.iter().all(|place| place.0.with(|place| unsafe { *place })));
        }
    };
    let others: Vec<_> = (1..threads)
        .map(|rank| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || run(rank, &shared))
        })
        .collect();
    run(0, &shared);
    others.into_iter().for_each(|thread| thread.join().unwrap());
}

fn spinning(algorithm: Algorithm) {
    check(3, move || meet(algorithm, WaitPolicy::Active, 2, 2));
    look(0);
    check(3, move || meet(algorithm, WaitPolicy::Active, 2, 4));
    check(2, move || meet(algorithm, WaitPolicy::Active, 3, 3));
}

fn sleeping(algorithm: Algorithm) {
    fence_steps(true);
    check(2, move || meet(algorithm, WaitPolicy::Passive, 2, 1));
}

macro_rules! models {
    ($($name:ident: $algorithm:expr,)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn spinning() {
                super::spinning($algorithm);
            }

            #[test]
            fn sleeping() {
                super::sleeping($algorithm);
            }
        }
    )*};
}

models! {
    fbs: Algorithm::Fbs,
    fbs_one_line: Algorithm::FbsOneLine,
    lock: Algorithm::Lock,
    spin_lock: Algorithm::SpinLock,
    central: Algorithm::Central,
    dissemination: Algorithm::Dissemination { radix: 2 },
    tournament: Algorithm::Tournament { arity: 2 },
    wide_tournament: Algorithm::Tournament { arity: 3 },
    grid: Algorithm::Grid,
    hierarchical: Algorithm::Hierarchical,
}

/// The last to arrive releases the others, or the first rank.
#[test]
fn threads_that_share_cpus_spinning_and_sleeping() {
    let meet = |policy, threads, episodes| {
        move || meet_in(Crowding::Threads, Algorithm::Central, policy, threads, episodes)
    };
    check(2, meet(WaitPolicy::Passive, 2, 2));
    check(1, meet(WaitPolicy::Passive, 3, 1));
    look(0);
    check(3, meet(WaitPolicy::Active, 2, 4));
    check(2, meet(WaitPolicy::Active, 3, 3));
}

/// Work that one thread has and the other does while it waits; the owner does not arrive before it is done.
struct Work {
    left: AtomicBool,
    done: Futex,
}

impl IdleWork for Work {
    fn is_there(&self) -> bool {
        self.left.load(Relaxed)
    }

    fn do_some(&self) {
        self.left.store(false, Relaxed);
        self.done.advance();
        self.done.wake_all();
    }
}

#[test]
fn nobody_sleeps_through_work_that_is_offered() {
    fence_steps(true);
    for algorithm in [Algorithm::Fbs, Algorithm::FbsOneLine, Algorithm::Central, Algorithm::Grid] {
        check(2, move || {
            let barrier = Barrier::builder(2).algorithm(algorithm).policy(WaitPolicy::Passive);
            let work = Work { left: AtomicBool::new(false), done: Futex::new(Reach::Process) };
            let shared = Arc::new((barrier.build().unwrap(), work));
            let waits = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (barrier, work) = &*shared;
                    let limits = Limits { work: Some(work), ..Limits::NONE };
                    barrier.wait_limited(1, &limits).unwrap();
                })
            };
            let (barrier, work) = &*shared;
            work.left.store(true, Relaxed);
            barrier.ring();
            // Without end if nobody does it, which the checker finds.
            work.done.wait(0, None);
            barrier.wait(0);
            waits.join().unwrap();
        });
    }
}

#[test]
fn nobody_sleeps_through_the_end_of_a_wait() {
    fence_steps(true);
    for algorithm in [Algorithm::Fbs, Algorithm::FbsOneLine] {
        check(2, move || {
            let barrier =
                Barrier::builder(2).algorithm(algorithm).policy(WaitPolicy::Passive).build().unwrap();
            let shared = Arc::new((barrier, AtomicBool::new(false)));
            let waits = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.0.wait_unless(1, &shared.1))
            };
            // As one that finds a process gone: nobody arrives any more.
            shared.1.store(true, Release);
            shared.0.wake();
            assert_eq!(waits.join().unwrap(), Err(Ended::Interrupted));
        });
    }
}

fn is_found(algorithm: Algorithm, policy: WaitPolicy) -> bool {
    catch_unwind(AssertUnwindSafe(|| check(2, move || meet(algorithm, policy, 2, 1)))).is_err()
}

#[test]
fn flags_without_release_are_found() {
    make(Mistake::RelaxedFlags);
    for algorithm in [
        Algorithm::Fbs,
        Algorithm::FbsOneLine,
        Algorithm::Dissemination { radix: 2 },
        Algorithm::Tournament { arity: 2 },
        Algorithm::Grid,
        Algorithm::Hierarchical,
    ] {
        assert!(is_found(algorithm, WaitPolicy::Active), "{algorithm}");
    }
    make(Mistake::None);
}

#[test]
fn a_missing_fence_before_the_look_for_sleepers_is_found() {
    fence_steps(false);
    assert!(is_found(Algorithm::Fbs, WaitPolicy::Passive));
}
