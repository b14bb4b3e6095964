//! Real events of the kernel: software events and breakpoints, which need no PMU.

use std::hint::black_box;

use coho_counters::{Counter, Error, Event, Group, Lost, Mode};

#[inline(never)]
extern "C" fn called(x: u64) -> u64 {
    black_box(x) + 1
}

#[inline(never)]
extern "C" fn also_called(x: u64) -> u64 {
    black_box(x) + 2
}

/// The value, or nothing with the reason on standard error where this machine or user cannot have it.
fn here<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ (Error::NotPermitted { .. } | Error::NoCounters | Error::NoSuchEvent { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error @ Error::System { errno: libc::ENOSYS | libc::ENOSPC, .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_breakpoint_counts_calls_exactly() {
    let Some(calls) = here(Counter::open(&Event::executions(called as *const ()), Mode::User)) else {
        return;
    };
    for times in [0, 1, 17, 300] {
        let before = calls.read_by_kernel().unwrap();
        for x in 0..times {
            called(x);
        }
        assert_eq!(calls.read_by_kernel().unwrap() - before, times);
    }
}

#[test]
fn user_mode_is_told_that_it_cannot_read_a_software_event() {
    let Some(faults) = here(Counter::open(&Event::page_faults(), Mode::User)) else { return };
    assert_eq!(faults.read(), Err(Lost::NotPermitted));
    let before = faults.read_by_kernel().unwrap();
    let mut pages = vec![0u8; 1 << 20];
    for page in pages.chunks_mut(4096) {
        page[0] = 1;
    }
    black_box(&pages);
    assert!(faults.read_by_kernel().unwrap() > before);
}

#[test]
fn a_group_counts_each_of_its_events() {
    let events =
        [Event::executions(called as *const ()), Event::executions(also_called as *const ()), Event::dummy()];
    let Some(group) = here(Group::open(&events, Mode::User)) else { return };
    let before = group.read_by_kernel().unwrap();
    for x in 0..5 {
        called(x);
        also_called(x);
        also_called(x);
    }
    let after = group.read_by_kernel().unwrap();
    let counted: Vec<_> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    assert_eq!(counted, [5, 10, 0]);
}
