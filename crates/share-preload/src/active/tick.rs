//! The timers of the threads, and the handler of their signal.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

use coho_operands::{Operand, ProcessMemory, Registers};
use coho_preload::{Errno, call_next};
use coho_recording::{Record, Writer, every_ns};
use libc::{pid_t, siginfo_t, timespec, ucontext_t};

use super::handlers::on_own_stack;
use super::slot::{self, Handler, Slot};
use super::thread::this;
use super::{allocations, begin, next, steps};

/// The signal, once it is chosen; 0 if there is none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Timers carry this address: what else sends the signal does not.
static MARK: u8 = 0;

pub fn signal() -> c_int {
    SIGNAL.load(Relaxed)
}

/// When, by the time-stamp counter.
pub fn time() -> u64 {
    // SAFETY: every x86-64 CPU has the counter; a process that has forbidden itself to read it does not get here.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Takes the last real-time signal that the program leaves to the system; false if it uses them all.
pub fn choose_signal() -> bool {
    for signal in (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev() {
        // SAFETY: zeroed values are valid, and the C library's function writes to `action` alone.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let asked = call_next!(next::sigaction; signal, std::ptr::null(), &raw mut action;
                c_int, *const libc::sigaction, *mut libc::sigaction; c_int);
            if asked != 0 || action.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            action.sa_sigaction = handle_tick as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigfillset(&raw mut action.sa_mask);
            let set = call_next!(next::sigaction; signal, &raw const action, std::ptr::null_mut();
                c_int, *const libc::sigaction, *mut libc::sigaction; c_int);
            if set == 0 {
                SIGNAL.store(signal, Relaxed);
                return true;
            }
        }
    }
    false
}

/// The timers' signal is the program's from now on: no timer goes on, and no tick of one is left.
pub fn give_up_signal() {
    let signal = SIGNAL.swap(0, Relaxed);
    // An ignored signal that is pending is forgotten: before and after the timers' end.
    // SAFETY: the C library's function, and a signal that no function of the program's handles.
    let ignore = || unsafe {
        call_next!(next::signal; signal, libc::SIG_IGN; c_int, libc::sighandler_t; libc::sighandler_t)
    };
    ignore();
    slot::all().filter(|slot| slot.is_used()).for_each(Slot::stop_timer);
    ignore();
    // SAFETY: as above.
    unsafe { call_next!(next::signal; signal, libc::SIG_DFL; c_int, libc::sighandler_t; libc::sighandler_t) };
}

/// Starts the calling thread's timer.
pub fn start(thread: pid_t) -> Option<i32> {
    let signal = signal();
    if signal == 0 {
        return None;
    }
    // SAFETY: zeroed values are valid, and the calls read and write what they are given. By number: the C library's
    // functions would allocate.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_value.sival_ptr = (&raw const MARK).cast_mut().cast();
        event.sigev_notify_thread_id = thread;
        let mut timer: c_int = -1;
        let clock = libc::CLOCK_THREAD_CPUTIME_ID;
        if libc::syscall(libc::SYS_timer_create, clock, &raw const event, &raw mut timer) != 0 {
            return None;
        }
        let every = |ns: u64| timespec { tv_sec: 0, tv_nsec: ns as i64 };
        // At the kernel's next tick already, so that threads which end before their second one are seen as often as
        // others are in the same time.
        let times = libc::itimerspec { it_interval: every(every_ns()), it_value: every(1) };
        let none = std::ptr::null_mut::<c_void>();
        libc::syscall(libc::SYS_timer_settime, timer, 0, &raw const times, none);
        Some(timer)
    }
}

/// Ends a timer, if it is one.
pub fn stop(timer: i32) {
    if timer >= 0 {
        // SAFETY: a number, which the kernel checks.
        unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
    }
}

on_own_stack! { handle_tick => ticked }

/// The handler: all signals are blocked within it.
extern "C" fn ticked(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let _errno = Errno::kept();
    // SAFETY: the kernel's, as the handler was set with SA_SIGINFO.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<ucontext_t>()) };
    // SAFETY: what sends the signal has a value there, or zeros.
    let value = unsafe { info.si_value() }.sival_ptr;
    if info.si_code != libc::SI_TIMER || value.cast_const() != (&raw const MARK).cast() {
        return as_without(signal);
    }
    let Some(slot) = this().slot() else { return };
    // SAFETY: the thread's own, which nothing but this handler uses; it does not interrupt itself.
    let handler = unsafe { &mut *slot.handler.get() };
    let pc = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    if begin::is_own(pc) {
        return;
    }
    let Handler { writer, follower, is_brief, .. } = handler;
    let Some(writer) = introduced(writer, slot) else { return };
    writer.write(Record::Tick { time: time(), pc });
    *is_brief = !*is_brief;
    if !*is_brief {
        return;
    }
    let mut memory = ProcessMemory::of(slot.thread.get());
    let registers = registers(context);
    follower.look_behind(&registers, pc, &mut memory, |operand| record(slot, writer, &operand));
    let enters = |pc| !begin::is_own(pc);
    let is_followed =
        follower.follow(registers, pc, &mut memory, enters, |operand| record(slot, writer, &operand));
    if !is_followed {
        steps::burst(handler, slot, context);
    }
}

/// The registers of the thread that a signal's handler has interrupted.
pub fn registers(context: &ucontext_t) -> Registers {
    use libc::{
        REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RBP, REG_RBX,
        REG_RCX, REG_RDI, REG_RDX, REG_RSI, REG_RSP,
    };
    let order = [
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10,
        REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    ];
    let values = order.map(|register| context.uc_mcontext.gregs[register as usize] as u64);
    let fs: u64;
    // SAFETY: the C library keeps FS's base in the first word there.
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) fs, options(nostack, readonly, pure)) };
    Registers::new(values, fs)
}

/// Records an operand that the thread is about to use.
pub fn record(slot: &Slot, writer: &mut Writer, operand: &Operand) {
    let (stack, stack_end) = slot.stack.get();
    // Before the operand's time: whoever else names the block finds it reported by then.
    if !(stack..stack_end).contains(&operand.address) {
        allocations::report(operand.address, writer);
    }
    writer.write(operand.record(time()));
}

/// A thread's first tick says what its stack is and how often it ticks: one without ticks takes no room.
fn introduced<'a>(writer: &'a mut Option<Writer>, slot: &Slot) -> Option<&'a mut Writer> {
    if writer.is_none() {
        let new = begin::recorder()?.writer(slot.process.get(), slot.thread.get());
        let new = writer.insert(new);
        let (start, end) = slot.stack.get();
        new.write(Record::Stack { start, end });
        new.write(Record::Timer { every_ns: every_ns(), begun: slot.begun.get() });
    }
    writer.as_mut()
}

/// A signal that does not come from this library ends the process, as without it.
pub fn as_without(signal: c_int) {
    // SAFETY: plain calls; the signal is blocked until the handler returns.
    unsafe {
        call_next!(next::signal; signal, libc::SIG_DFL; c_int, libc::sighandler_t; libc::sighandler_t);
        libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal);
    }
}
