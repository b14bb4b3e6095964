//! The read path instruction by instruction, by the CPU's trap flag.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::machine::{self, Machine};

/// What the whole read may cost, the caller's test of the result included.
const BUDGET: u64 = 23;

/// Instructions since the trap flag was set.
static STEPS: AtomicU64 = AtomicU64::new(0);
/// The instruction before which the page is updated.
static UPDATE_AT: AtomicU64 = AtomicU64::new(u64::MAX);
/// `STEPS` at the last two uses of RDPMC.
static USED_AT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Takes note of an RDPMC, which the signal handler has answered, so that it did not trap.
pub fn refused() {
    USED_AT[0].store(USED_AT[1].load(Relaxed), Relaxed);
    USED_AT[1].store(step(), Relaxed);
}

extern "C" fn trapped(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    step();
}

fn step() -> u64 {
    let steps = STEPS.fetch_add(1, Relaxed) + 1;
    if steps == UPDATE_AT.load(Relaxed) {
        machine::update();
    }
    steps
}

/// Runs work step by step and returns its result and how many instructions it took, those that end it included.
#[inline(always)]
fn stepped<T>(update_at: u64, work: impl FnOnce() -> T) -> (T, u64) {
    machine::handle(libc::SIGTRAP, trapped);
    UPDATE_AT.store(update_at, Relaxed);
    STEPS.store(0, Relaxed);
    // SAFETY: changes the trap flag only, which the handler is prepared for; the red zone is the compiler's to keep,
    // as the block may use the stack.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let value = work();
    // SAFETY: as above.
    unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    UPDATE_AT.store(u64::MAX, Relaxed);
    (value, STEPS.load(Relaxed))
}

#[test]
fn a_retry_is_the_whole_protocol_and_within_the_budget() {
    let machine = Machine::take();
    machine.update();
    // An update just before the RDPMC that has to be noticed after it: the first read's steps tell when that is.
    let page = machine.page();
    stepped(u64::MAX, || page.read()).0.unwrap();
    let first = USED_AT[1].load(Relaxed);
    let uses = machine.uses();
    let (count, _) = stepped(first, || page.read());
    assert!(machine::is_whole(count.unwrap()));
    assert_eq!(machine.uses() - uses, 2, "the lock had changed");
    let body = USED_AT[1].load(Relaxed) - USED_AT[0].load(Relaxed);
    assert_eq!(body, 18);
    // The test of the result.
    assert!(body + 2 <= BUDGET);
}

#[test]
fn an_update_before_any_instruction_tears_no_value() {
    let machine = Machine::take();
    machine.update();
    let page = machine.page();
    let (_, whole) = stepped(u64::MAX, || page.read().unwrap());
    let uses = machine.uses();
    for at in 1..=whole {
        let (count, _) = stepped(at, || page.read().unwrap());
        assert!(machine::is_whole(count), "torn by an update before instruction {at}: {count:x}");
    }
    assert!(machine.uses() - uses > whole, "no update made a read begin again");
}

/// Without optimisation, what is about the protocol takes more.
#[cfg(not(debug_assertions))]
#[test]
fn a_read_is_within_the_budget() {
    let machine = Machine::take();
    machine.update();
    let page = machine.page();
    let (_, nothing) = stepped(u64::MAX, || ());
    let (count, read) = stepped(u64::MAX, || page.read());
    assert!(count.is_ok());
    assert!(read - nothing <= BUDGET, "{} instructions", read - nothing);
}
