//! What unit tests need the library's own primitives for; modules that are model-checked as well cannot hold them.

use crate::wait::{Crowding, Patience, WaitPolicy};
use coho_platform::pin;

/// The least spinning that patience shrinks to.
const FLOOR_NS: u64 = 5_000;

#[test]
fn grows_where_sleeping_did_not_pay_and_shrinks_where_the_other_was_away() {
    let patience = Patience::new(&WaitPolicy::default(), Crowding::None);
    let first = patience.spin_ns();
    patience.slept(first + 1);
    assert_eq!(patience.spin_ns(), 2 * first);
    for _ in 0..40 {
        patience.slept(1);
    }
    assert_eq!(patience.spin_ns(), u64::from(WaitPolicy::default().ceiling_ns()));
    for _ in 0..40 {
        patience.slept(10_000_000);
    }
    assert_eq!(patience.spin_ns(), FLOOR_NS);
    patience.slept(FLOOR_NS);
    patience.was_away();
    assert_eq!(patience.spin_ns(), FLOOR_NS);
}

#[test]
fn does_not_spin_in_a_crowd_unless_told_to() {
    let crowded = Patience::new(&WaitPolicy::default(), Crowding::Threads);
    assert!(crowded.spin_ns() == 0 && crowded.first_looks() == 1 && crowded.gives_way());
    crowded.slept(1);
    crowded.slept(10_000_000);
    assert_eq!(crowded.spin_ns(), 0);
    assert!(Patience::new(&WaitPolicy::default(), Crowding::Quota).spin_ns() <= FLOOR_NS);
    let active = Patience::new(&WaitPolicy::Active, Crowding::Quota);
    active.was_away();
    assert_eq!(active.spin_ns(), u64::MAX);
    assert_eq!(Patience::new(&WaitPolicy::Passive, Crowding::None).spin_ns(), 0);
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
