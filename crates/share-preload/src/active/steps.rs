//! Bursts of single steps, where the next instructions cannot be followed from the registers: the trap flag has the kernel
//! send SIGTRAP after each instruction, whose handler looks at the next one.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use coho_operands::ProcessMemory;
use coho_preload::{Errno, call_next};
use coho_recording::every_ns;
use libc::{siginfo_t, ucontext_t};

use super::handlers::on_own_stack;
use super::slot::{Handler, Slot};
use super::thread::this;
use super::{begin, next, tick};

/// Steps of a burst.
const MOST: u8 = 32;
/// CPU time between two bursts of a thread. A step is two ways into the kernel and, in a guest, into its host: tens of
/// microseconds.
const EVERY_NS: u64 = 200_000_000;
/// The flag of x86 that traps after each instruction.
const TRAP: i64 = 1 << 8;
/// What the kernel says of a trap after an instruction.
const TRAP_TRACE: c_int = 2;

/// Whether this library handles SIGTRAP.
static IS_SET: AtomicBool = AtomicBool::new(false);

pub fn is_handler(action: usize) -> bool {
    action == handle_step as *const () as usize
}

/// Takes SIGTRAP, once in a process, unless the program or a debugger uses it.
pub fn begin() {
    if IS_SET.load(Relaxed) || is_traced() || !acts(libc::SIG_DFL) {
        return;
    }
    // SAFETY: zeroed values are valid, and the C library's function.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle_step as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigfillset(&raw mut action.sa_mask);
        let set = call_next!(next::sigaction; libc::SIGTRAP, &raw const action, std::ptr::null_mut();
            c_int, *const libc::sigaction, *mut libc::sigaction; c_int);
        IS_SET.store(set == 0, Relaxed);
    }
}

/// Whether SIGTRAP has this action now.
fn acts(handler: usize) -> bool {
    // SAFETY: zeroed values are valid, and the C library's function writes there alone.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let asked = call_next!(next::sigaction; libc::SIGTRAP, std::ptr::null(), &raw mut action;
            c_int, *const libc::sigaction, *mut libc::sigaction; c_int);
        asked == 0 && action.sa_sigaction == handler
    }
}

/// A debugger takes traps for its own; so it counts as one if that cannot be told.
fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    !status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() == "0"))
}

/// Begins a burst as a tick's handler returns, if it is time for one.
pub fn burst(handler: &mut Handler, slot: &Slot, context: &mut ucontext_t) {
    handler.ticks += 1;
    // Every other tick is followed.
    let is_due = 2 * u64::from(handler.ticks) * every_ns() >= EVERY_NS;
    if !is_due || !IS_SET.load(Relaxed) {
        return;
    }
    // A trap that is blocked ends the process.
    // SAFETY: the mask that the thread had.
    let is_blocked = unsafe { libc::sigismember(&raw const context.uc_sigmask, libc::SIGTRAP) } != 0;
    if is_blocked || !acts(handle_step as *const () as usize) {
        return;
    }
    handler.ticks = 0;
    let pc = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    let memory = &mut ProcessMemory::of(slot.thread.get());
    if handler.follower.look_at(&tick::registers(context), pc, memory, |_| {}) {
        handler.steps = MOST;
        context.uc_mcontext.gregs[libc::REG_EFL as usize] |= TRAP;
    }
}

on_own_stack! { handle_step => stepped }

/// The handler of SIGTRAP: all signals are blocked within it.
extern "C" fn stepped(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let _errno = Errno::kept();
    // SAFETY: the kernel's, as the handler was set with SA_SIGINFO.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<ucontext_t>()) };
    let flags = &mut context.uc_mcontext.gregs[libc::REG_EFL as usize];
    if info.si_code != TRAP_TRACE || *flags & TRAP == 0 {
        return tick::as_without(signal);
    }
    *flags &= !TRAP;
    let Some(slot) = this().slot() else { return };
    // SAFETY: the thread's own, which handlers alone use; none interrupts another.
    let Handler { writer, follower, steps, .. } = unsafe { &mut *slot.handler.get() };
    let pc = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    let (Some(writer), false) = (writer, *steps == 0 || begin::is_own(pc)) else { return };
    *steps -= 1;
    let memory = &mut ProcessMemory::of(slot.thread.get());
    let goes_on = follower
        .look_at(&tick::registers(context), pc, memory, |operand| tick::record(slot, writer, &operand));
    if goes_on && *steps > 0 {
        context.uc_mcontext.gregs[libc::REG_EFL as usize] |= TRAP;
    }
}
