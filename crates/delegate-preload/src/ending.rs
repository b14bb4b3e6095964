//! Where delegation ends: with the process, its first thread, a fork or a change of rights.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use coho_preload::{Errno, line};

use libc::c_uint;

use crate::descriptors::errors;
use crate::guards::{FloatingPoint, NotCancelled, may_be_handler};
use crate::state::is_vforked;
use crate::{auto, cpus, hosts, mine, sharing, state, write_queue};

/// What its other threads know the program's first one by; 0 if another one loaded the library.
static FIRST_THREAD: AtomicUsize = AtomicUsize::new(0);

/// The library is loaded, by the program's first thread unless it was opened later.
pub fn remember_first_thread() {
    if is_first_thread() {
        // SAFETY: no arguments.
        FIRST_THREAD.store(unsafe { libc::pthread_self() } as usize, Relaxed);
    }
}

fn is_first_thread() -> bool {
    // SAFETY: no arguments.
    sharing::own_thread() == unsafe { libc::getpid() } as usize
}

/// Called when a thread is about to end. Once the first one has left, no host may stay behind as the last: as hosts block all
/// signals, only SIGKILL would end the process.
pub fn leave() {
    if is_first_thread() {
        end("pthread_exit");
    }
}

/// A thread is about to be cancelled.
pub fn leaves(thread: libc::pthread_t) {
    if thread as usize == FIRST_THREAD.load(Relaxed) {
        end("pthread_cancel");
    }
}

/// The child begins with all done that its parent has asked for, and with its parent's CPUs.
pub unsafe extern "C" fn before_fork() {
    write_queue::drain();
    cpus::give_back();
}

/// In a forked process.
pub unsafe extern "C" fn forked() {
    state::is_now_forked();
    write_queue::is_empty();
    errors::forget_all();
}

/// Has this process make its calls itself from now on, because it calls a function.
pub fn end(function: &str) {
    end_as(format_args!("the program calls {function}"));
}

/// The same, for another reason.
#[cold]
pub fn end_as(why: std::fmt::Arguments<'_>) {
    if is_vforked() {
        return;
    }
    let _errno = Errno::kept();
    let _not_cancelled = NotCancelled::now();
    if state::delegate_none() != 0 && hosts::has_memory(0) {
        let _ = WHY.set(why.to_string());
        if state::is_verbose() {
            line("delegate", format_args!("{why}: it makes its calls itself from now on"));
        }
    }
    if !state::is_forked() {
        write_queue::drain();
        hosts::end();
        cpus::give_back();
    }
}

/// Has writes done at once from now on, and waits for what was accepted: the process is about to end.
pub fn finish() {
    if !is_vforked() {
        state::write_at_once();
    }
    write_queue::drain();
}

/// What comes now, as stdio's last writes, nobody would wait for.
pub extern "C" fn settle() {
    finish();
    write_queue::end();
}

/// Why it has ended before the process does.
static WHY: OnceLock<String> = OnceLock::new();
/// What was delegated has been printed.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Nothing is delegated from the beginning.
pub fn will_not_begin(why: String) {
    let _ = WHY.set(why);
}

/// Before `_exit`, which a handler may call: it prints nothing.
pub fn leave_process() {
    if state::is_set() && !is_vforked() && !may_be_handler() {
        report();
    }
    finish();
}

/// Standard error is about to be closed, which many programs do when they exit.
pub fn standard_error_closes(first: c_uint, last: c_uint) {
    let closes = (first..=last).contains(&(libc::STDERR_FILENO as c_uint));
    if closes && state::is_verbose() && !is_vforked() && !state::is_forked() {
        report();
    }
}

/// Prints what was delegated, at exit.
pub extern "C" fn report() {
    let (_errno, _floating_point) = (Errno::kept(), FloatingPoint::own());
    write_queue::drain();
    // Without memory nothing can be said.
    if IS_REPORTED.swap(true, Relaxed) || !hosts::has_memory(0) {
        return;
    }
    let (away, later) =
        if state::is_forked() { (0, 0) } else { (mine::delegated(), write_queue::accepted()) };
    if away == 0 && later == 0 {
        say_idle();
    }
    if state::is_forked() || !state::is_verbose() {
        return;
    }
    // Not counting what nobody waited for, nor what has only woken them.
    let by_hosts = hosts::served().saturating_sub(later).min(away);
    line("delegate", format_args!("{away} calls delegated, {by_hosts} of them executed by hosts"));
    if let cpus @ [_, ..] = &hosts::own_cpus()[..] {
        line("delegate", format_args!("this process's hosts are on CPUs {cpus:?}"));
    }
    if later > 0 {
        line("delegate", format_args!("{later} writes done later"));
        write_queue::print();
    }
    auto::print();
}

/// Warns if the process delegated nothing while CPUs were kept free for hosts.
fn say_idle() {
    /// A process that takes less has lost little.
    const NOTICEABLE: Duration = Duration::from_millis(100);
    let cpus = cpus::left_to_hosts();
    let Some(took) = auto::processor_time().filter(|&took| took >= NOTICEABLE) else { return };
    if cpus.is_empty() {
        return;
    }
    let why = match WHY.get() {
        _ if state::is_forked() => "a forked process makes its calls itself",
        Some(why) => why,
        None => "it made too few calls that can be",
    };
    let (list, s, was) = match &cpus[..] {
        [cpu] => (cpu.to_string(), "", "was"),
        more => (more.iter().map(u32::to_string).collect::<Vec<_>>().join(","), "s", "were"),
    };
    let (process, took) = (std::process::id(), took.as_secs_f64());
    line(
        "delegate",
        format_args!(
            "process {process} delegated nothing in {took:.1} s of processor time ({why}), though CPU{s} {list} \
             {was} kept free for hosts"
        ),
    );
}
