//! Model checks of the protocols between two CPUs: the same source as in the library, on loom's primitives.

#![allow(dead_code)]

#[path = "../../src/coherence/flags.rs"]
mod flags;
#[path = "../../src/coherence/line.rs"]
mod line;
#[path = "../../src/coherence/meeting.rs"]
mod meeting;
#[path = "../../src/coherence/patience.rs"]
mod patience;
mod sync;
#[path = "../../src/coherence/turn.rs"]
mod turn;

use std::time::Duration;

use coho_probe::clock;
use line::{End, Tag, Two};
use loom::sync::Arc;
use loom::thread;
use meeting::{Meeting, Side};
use patience::Patience;
use sync::AtomicU64;
use sync::Ordering::{Acquire, Relaxed, Release};

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

#[test]
fn a_meeting_shows_each_side_what_the_other_did_before() {
    check(3, || {
        let shared = Arc::new((Meeting::new(), [AtomicU64::new(0), AtomicU64::new(0)]));
        // Both in threads of their own: loom lets nobody be unparked while it joins.
        let sides = [Side::Leader, Side::Follower].map(|side| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (meeting, done) = &*shared;
                done[side as usize].store(1, Relaxed);
                meeting.meet(side, Duration::MAX).unwrap();
                assert_eq!(done[1 - side as usize].load(Relaxed), 1);
            })
        });
        sides.into_iter().for_each(|side| side.join().unwrap());
    });
}

/// The lines of a segment.
fn two(lines: &[AtomicU64; 4], tag: Tag) -> Two<'_> {
    let first = 2 * (tag.segment() % 2);
    Two { first: &lines[first], second: &lines[first + 1] }
}

/// Two lines, and a run of two segments of one round trip with partners that may be taken for lost.
fn run(flags: bool, lost_after: u32) {
    sync::lose_after(lost_after);
    let lines = Arc::new(std::array::from_fn::<_, 4, _>(|_| AtomicU64::new(0)));
    let theirs = Arc::clone(&lines);
    let follower = thread::spawn(move || {
        let patience = Patience::new();
        let mut tag = Tag::first(7);
        let mut segments = 0;
        loop {
            let lines = two(&theirs, tag);
            let followed = if flags {
                flags::follow(lines, tag, &patience)
            } else {
                turn::follow(lines.first, tag, &patience)
            };
            match followed {
                Ok((End::Next, _)) => segments += 1,
                Ok((End::Stopped, _)) => return Some(segments),
                Err(_) => return None,
            }
            tag = tag.next().unwrap();
        }
    });
    let patience = Patience::new();
    let mut tag = Tag::first(7);
    let mut led = 0;
    for _ in 0..2 {
        let lines = two(&lines, tag);
        let result = if flags {
            flags::lead(lines, tag, 1, &patience)
        } else {
            turn::lead(lines.first, tag, 1, &patience)
        };
        match result {
            Ok(_) => led += 1,
            Err(_) => break,
        }
        tag = tag.next().unwrap();
    }
    if led == 2 {
        two(&lines, tag).first.store(tag.stop(), Release);
    }
    // Either both ended, or one gave up: it is enough that the join returns.
    let followed = follower.join().unwrap();
    if lost_after == u32::MAX {
        assert_eq!((led, followed), (2, Some(2)));
    } else if let Some(segments) = followed {
        // The follower never counts a segment that the leader did not end.
        assert!(segments <= led, "{segments} of {led}");
    }
    assert!(lines.iter().all(|line| line.load(Acquire) == 0 || line.load(Acquire) >> 32 == 7));
}

#[test]
fn turn_alternates_to_its_end() {
    check(2, || run(false, u32::MAX));
}

#[test]
fn flags_alternate_to_their_end() {
    check(2, || run(true, u32::MAX));
}

#[test]
fn turn_ends_for_both_when_one_gives_up() {
    check(2, || run(false, 3));
}

#[test]
fn flags_end_for_both_when_one_gives_up() {
    check(2, || run(true, 3));
}
