//! Fork and join, and the places of constructs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null_mut, without_provenance_mut};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::check;
use crate::construct::Constructs;
use crate::fork::{Fork, Lead, Order};
use crate::sync::{Mistake, fence_steps, look, make};
use crate::wait::{Crowding, Patience, WaitPolicy};

/// What the leader writes before a run, and what each rank writes in it.
struct Cells {
    input: UnsafeCell<usize>,
    outputs: Vec<UnsafeCell<usize>>,
}

// SAFETY: loom itself checks every access.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

fn order(call: usize, data: usize) -> Order {
    let words = [without_provenance_mut(data), null_mut(), null_mut()];
    Order { call: without_provenance_mut(call), words, state: null_mut() }
}

fn worker(rank: usize, fork: &Fork, cells: &Cells, patience: &Patience) {
    let mut heard = 0;
    while let Some(mut seat) = fork.sit(rank, &mut heard, patience) {
        loop {
            let order = fork.await_start(&mut seat, patience);
            if order.call.is_null() {
                fork.finish(seat, 0);
                break;
            }
            // SAFETY: loom checks.
            let input = cells.input.with(|input| unsafe { *input });
            assert_eq!(input, order.words[0].addr());
            // SAFETY: loom checks.
            cells.outputs[rank].with_mut(|output| unsafe { *output = input });
            fork.finish(seat, 10 * input + rank);
        }
    }
}

/// A few runs, the bench, and as many runs again.
fn runs(size: usize, policy: WaitPolicy, times: usize) {
    let outputs = (0..size).map(|_| UnsafeCell::new(0)).collect();
    let shared = Arc::new((Fork::new(size, Crowding::None), Cells { input: UnsafeCell::new(0), outputs }));
    let patience = move || Patience::new(&policy, Crowding::None, Default::default());
    let workers: Vec<_> = (1..size)
        .map(|rank| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || worker(rank, &shared.0, &shared.1, &patience()))
        })
        .collect();
    let (fork, cells) = &*shared;
    let mut lead = Lead::new();
    for _ in 0..2 {
        fork.call(&lead, size, Crowding::None);
        for run in 1..=times {
            // SAFETY: loom checks.
            cells.input.with_mut(|input| unsafe { *input = run });
            fork.start(&mut lead, order(1, run));
            fork.join(&lead, size, &patience(), |rank, told| assert_eq!(told, 10 * run + rank));
            // SAFETY: loom checks.
            assert!(cells.outputs[1..].iter().all(|output| output.with(|output| unsafe { *output }) == run));
        }
        fork.start(&mut lead, order(0, 0));
        fork.join(&lead, size, &patience(), |_, told| assert_eq!(told, 0));
    }
    (1..size).for_each(|rank| fork.dismiss(rank));
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

#[test]
fn the_team_does_each_order_once_and_the_leader_sees_it_done() {
    check(2, || runs(2, WaitPolicy::Active, 1));
    look(0);
    check(2, || runs(2, WaitPolicy::Active, 2));
    check(1, || runs(3, WaitPolicy::Active, 1));
}

#[test]
fn nobody_sleeps_through_an_order() {
    fence_steps(true);
    check(1, || runs(2, WaitPolicy::Passive, 1));
}

#[test]
fn an_order_without_release_is_found() {
    make(Mistake::RelaxedFlags);
    assert!(catch_unwind(AssertUnwindSafe(|| check(2, || runs(2, WaitPolicy::Active, 1)))).is_err());
    make(Mistake::None);
}

#[test]
fn each_chunk_is_taken_once_also_from_another() {
    check(2, || {
        let constructs = Arc::new(Constructs::<1>::new(2, Crowding::None));
        let take_all = |constructs: &Constructs<1>, rank| {
            let mut had = Vec::new();
            // The second loop finds the ranges as the first has left them.
            for (number, chunks) in [3, 2].into_iter().enumerate() {
                let entered = constructs.enter(number, rank);
                while let Some(chunk) = constructs.take(&entered, number, rank, chunks) {
                    had.push((number, chunk));
                }
                constructs.leave(entered, number, 2);
            }
            had
        };
        let other = {
            let constructs = Arc::clone(&constructs);
            thread::spawn(move || take_all(&constructs, 1))
        };
        let mut had = take_all(&constructs, 0);
        had.extend(other.join().unwrap());
        had.sort_unstable();
        assert_eq!(had, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
    });
}

#[test]
fn each_construct_is_entered_afresh_in_its_place_or_apart() {
    check(3, || {
        let constructs = Arc::new(Constructs::<1>::new(2, Crowding::None));
        let meet = |constructs: &Constructs<1>, rank| {
            let mut firsts = [false; 4];
            for (number, first) in firsts.iter_mut().enumerate() {
                let entered = constructs.enter(number, rank);
                let taken = &entered.construct().taken;
                *first = taken.fetch_add(1, loom::sync::atomic::Ordering::AcqRel) == 0;
                constructs.leave(entered, number, 2);
            }
            firsts
        };
        let other = {
            let constructs = Arc::clone(&constructs);
            thread::spawn(move || meet(&constructs, 1))
        };
        let mine = meet(&constructs, 0);
        let theirs = other.join().unwrap();
        // Each construct has exactly one first.
        assert!(mine.iter().zip(&theirs).all(|(mine, theirs)| mine != theirs), "{mine:?} {theirs:?}");
    });
}
