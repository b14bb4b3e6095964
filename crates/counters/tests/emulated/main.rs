//! The read path's own machine code, on a page of the test's making: if user mode may not read counters, as in a
//! process that has mapped none, the CPU refuses the instruction, and a signal handler answers in its place.

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
mod machine;
#[cfg(target_arch = "x86_64")]
mod steps;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use coho_counters::{Bias, Lost};
use machine::Machine;
use proptest::prelude::*;

/// A value of so many bits, its sign extended to 64.
fn sign_extended(raw: u64, width: u16) -> u64 {
    let sign = 1 << (width - 1);
    if raw & sign == 0 { raw } else { raw | !(sign | (sign - 1)) }
}

#[test]
fn counts_of_any_width_sign_and_offset() {
    let machine = Machine::take();
    proptest!(ProptestConfig::with_cases(2000), |(
        width in 1u16..=64,
        raw: u64,
        offset: i64,
        counter in 0..machine::COUNTERS as u32,
    )| {
        let raw = raw & (u64::MAX >> (64 - width));
        machine.set_counter(counter, raw);
        machine.set_page(arch::index(counter), offset, width);
        prop_assert_eq!(machine.page().read(), Ok(sign_extended(raw, width).wrapping_add(offset as u64)));
    });
}

#[test]
fn a_difference_survives_the_wrap_of_a_counter() {
    let machine = Machine::take();
    // The kernel starts a 48-bit counter at a negative value, so that it overflows in time.
    machine.set_page(arch::index(3), 1000, 48);
    machine.set_counter(3, (1 << 48) - 5);
    let before = machine.page().read().unwrap();
    machine.set_counter(3, 7);
    let after = machine.page().read().unwrap();
    assert_eq!((before, after), (995, 1007));
}

#[test]
fn a_span_across_a_wrap_counts_what_came_between() {
    let machine = Machine::take();
    for width in [40, 48, 64] {
        machine.set_page(arch::index(2), -77, width);
        machine.set_counter(2, (u64::MAX >> (64 - width)) - 4);
        let page = machine.page();
        let span = page.start().unwrap();
        machine.set_counter(2, 11);
        let delta = span.stop().unwrap();
        assert_eq!((delta.raw, delta.less(Bias(6)).events()), (16, 10), "{width} bits");
        // If it is taken off its counter meanwhile, it is lost.
        let span = page.start().unwrap();
        machine.set_page(0, -77, width);
        assert_eq!(span.stop(), Err(Lost::NotCounting));
    }
}

#[test]
fn nothing_is_read_where_the_page_does_not_permit_it() {
    let machine = Machine::take();
    machine.set_page(0, 42, 48);
    assert_eq!(machine.page().read(), Err(Lost::NotCounting));
    machine.set_page(arch::index(1), 42, 48);
    machine.forbid();
    let before = machine.uses();
    assert_eq!(machine.page().read(), Err(Lost::NotPermitted));
    assert_eq!(machine.uses(), before);
}

#[test]
fn an_update_at_any_moment_tears_no_value() {
    let machine = Machine::take();
    machine.update();
    let done = AtomicBool::new(false);
    let updates = std::thread::scope(|scope| {
        let interrupter = scope.spawn(machine.interrupter(&done));
        let first = machine.page().read().unwrap();
        let (start, mut last) = (Instant::now(), first);
        // If others use the CPUs too, the interrupter may come late.
        let goes_on = |last| {
            let elapsed = start.elapsed();
            elapsed < Duration::from_millis(500) || last == first && elapsed < Duration::from_secs(60)
        };
        while goes_on(last) {
            let count = machine.page().read().unwrap();
            assert!(machine::is_whole(count), "torn: {count:x}");
            assert!(count >= last, "{count:x} after {last:x}");
            last = count;
        }
        done.store(true, Relaxed);
        interrupter.join().unwrap()
    });
    assert!(updates > 0, "nothing was updated meanwhile");
}
