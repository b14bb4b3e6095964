//! Unit tests that need the library's own primitives; modules that are also model-checked cannot contain them.

use std::sync::Arc;
use std::time::Duration;

use crate::barrier::Barrier;
use crate::wait::{Courtesy, Crowding, Patience, WaitPolicy};
use coho_platform::pin;

/// The least spinning that patience shrinks to.
const FLOOR_NS: u64 = 5_000;

fn new(policy: WaitPolicy, crowding: Crowding) -> Patience {
    Patience::new(&policy, crowding, Default::default())
}

fn spin_ns(patience: &Patience) -> u64 {
    patience.plan(0).spin_ns
}

#[test]
fn grows_where_sleeping_did_not_pay_and_shrinks_where_the_other_was_away() {
    let patience = new(WaitPolicy::default(), Crowding::None);
    let first = spin_ns(&patience);
    patience.slept(first + 1, false);
    assert_eq!(spin_ns(&patience), 2 * first);
    for _ in 0..40 {
        patience.slept(1, false);
    }
    assert_eq!(spin_ns(&patience), u64::from(WaitPolicy::default().ceiling_ns()));
    for _ in 0..40 {
        patience.slept(10_000_000, false);
    }
    assert_eq!(spin_ns(&patience), FLOOR_NS);
    patience.slept(FLOOR_NS, false);
    patience.was_away();
    assert_eq!(spin_ns(&patience), FLOOR_NS);
}

#[test]
fn does_not_spin_in_a_crowd_unless_told_to() {
    let crowded = new(WaitPolicy::default(), Crowding::Threads);
    assert!(spin_ns(&crowded) == 0 && crowded.first_looks() == 1 && crowded.plan(0).gives_way);
    crowded.slept(1, true);
    crowded.slept(10_000_000, false);
    assert_eq!(spin_ns(&crowded), 0);
    assert!(spin_ns(&new(WaitPolicy::default(), Crowding::Quota)) <= FLOOR_NS);
    let active = new(WaitPolicy::Active, Crowding::Quota);
    active.was_away();
    assert_eq!(spin_ns(&active), u64::MAX);
    let passive = new(WaitPolicy::Passive, Crowding::Threads);
    assert!(spin_ns(&passive) == 0 && !passive.plan(0).gives_way);
}

#[test]
fn threads_on_one_cpu_give_way_and_try_spinning_ever_more_seldom() {
    let patience = new(WaitPolicy::default(), Crowding::None);
    let (spin, looks) = (spin_ns(&patience), patience.first_looks());
    assert!(!patience.plan(0).gives_way);
    patience.slept(spin, true);
    assert_eq!(patience.first_looks(), 1);
    let (mut waits, mut tries) = (0, 0);
    while waits < 20_000 {
        let plan = patience.plan(0);
        assert!(plan.gives_way);
        tries += u32::from(plan.spin_ns > 0);
        patience.gave_way(plan);
        waits += 1;
    }
    assert!((8..20).contains(&tries), "{tries}");
    // They no longer share a CPU, so the next try succeeds.
    let plan = std::iter::repeat_with(|| patience.plan(0)).find(|plan| plan.spin_ns > 0).unwrap();
    patience.spun(plan);
    assert_eq!((spin_ns(&patience), patience.first_looks()), (spin, looks));
    assert!(!patience.plan(0).gives_way);
}

#[test]
fn threads_that_have_cpus_wait_awake_unless_the_user_has_said_how_long() {
    let lingers = |policy, crowding| new(policy, crowding).plan(0).lingers_ns > 0;
    assert!(lingers(WaitPolicy::Adaptive, Crowding::None));
    for crowding in [Crowding::Threads, Crowding::Quota] {
        assert!(!lingers(WaitPolicy::Adaptive, crowding), "{crowding:?}");
    }
    for policy in [WaitPolicy::Passive, WaitPolicy::SpinFor(std::time::Duration::from_micros(9))] {
        assert!(!lingers(policy, Crowding::None), "{policy:?}");
    }
    // A thread that waits for one on its own CPU lets that run.
    let sharing = new(WaitPolicy::Adaptive, Crowding::None);
    sharing.slept(1_000, true);
    assert_eq!(sharing.plan(0).lingers_ns, 0);
}

#[test]
fn nobody_gives_way_for_a_while_where_strangers_take_the_cpu() {
    const SLICE: u64 = 4_000_000;
    let courtesy = Arc::new(Courtesy::default());
    let crowd = || Patience::new(&WaitPolicy::default(), Crowding::Threads, (&courtesy).into());
    let (one, other) = (crowd(), crowd());
    assert!(one.plan(0).gives_way && other.plan(0).gives_way);
    let (mut now, mut lost, mut robbed) = (0, 0, 0);
    while now < 10_000_000_000 {
        if one.plan(now).gives_way {
            (now, lost, robbed) = (now + SLICE, lost + SLICE, robbed + 1);
            one.was_robbed(SLICE, now);
            // What the other lost at the same time does not count twice.
            other.was_robbed(SLICE, now);
            assert!(!other.plan(now).gives_way);
        }
        now += 10_000;
    }
    assert!(robbed > 5 && lost * 40 < now, "{robbed}");
    // A single loss after a long time without one costs little.
    now += 20_000_000_000;
    one.was_robbed(SLICE, now);
    assert!(one.plan(now + 9 * SLICE).gives_way);
}

#[test]
fn a_pinned_thread_does_not_hide_the_others_cpus() {
    let before = pin::of_process().unwrap();
    let pinned = std::thread::spawn(|| {
        pin::to(pin::allowed().unwrap().first().unwrap()).unwrap();
        (pin::allowed().unwrap().len(), pin::of_process().unwrap())
    });
    assert_eq!(pinned.join().unwrap(), (1, before));
}

#[test]
fn a_thread_that_can_leave_no_cpu_seldom_tries() {
    let fixed = new(WaitPolicy::default(), Crowding::None);
    let crowded = new(WaitPolicy::default(), Crowding::Threads).movable(true);
    assert!(!fixed.may_leave() && !crowded.may_leave());
    let movable = new(WaitPolicy::default(), Crowding::None).movable(true);
    for _ in 0..100 {
        assert!(movable.may_leave() && movable.left(true));
        movable.spun(movable.plan(0));
    }
    let tries = (0..1000).filter(|_| movable.may_leave() && !movable.left(false)).count();
    assert!((2..10).contains(&tries), "{tries}");
    // Nor does one that finds the other CPUs busy.
    let movable = new(WaitPolicy::default(), Crowding::None).movable(true);
    let mut tries = 0;
    for _ in 0..1000 {
        if movable.may_leave() {
            tries += u32::from(movable.left(true));
            movable.was_away();
        }
    }
    assert!((2..10).contains(&tries), "{tries}");
}

/// The rank that arrives last at a barrier of three leaves it at once; if it does not, it waits for the first rank to leave.
fn leaves_at_once(barrier: &Barrier, last: usize) -> bool {
    let at_once = |rank| barrier.wait_timeout(rank, Duration::ZERO).is_ok();
    for rank in (0..3).filter(|&rank| rank != last) {
        assert!(!at_once(rank), "{rank} before {last}");
    }
    let leaves = at_once(last);
    for rank in (0..3).filter(|&rank| rank != last || !leaves) {
        assert!(at_once(rank), "{rank} after all have arrived, {last} as the last");
    }
    leaves
}

/// Otherwise the others would keep the CPUs for a time slice each, though they may only look out for what it does next.
#[test]
fn where_others_keep_the_first_rank_from_its_cpu_it_leaves_first() {
    let barrier = Barrier::builder(3).cpus(&[0; 3]).build().unwrap();
    assert!(leaves_at_once(&barrier, 1));
    // As if it had been away for a while after it had yielded.
    barrier.patience(0).was_robbed(0, 0);
    leaves_at_once(&barrier, 2);
    assert!(leaves_at_once(&barrier, 0));
    // None of them yields for a while after something else has had a yielding thread's CPU; then the last leaves at once.
    let waits = |last| {
        (0..2000).any(|_| {
            !leaves_at_once(&barrier, last) || {
                std::thread::sleep(Duration::from_millis(5));
                false
            }
        })
    };
    assert!(waits(1) && waits(2));
}
