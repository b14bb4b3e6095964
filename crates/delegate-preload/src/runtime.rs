//! Whether calls are delegated, and by whom.

use std::cell::RefCell;
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::time::Duration;

use coho_delegate::{Caller, Executor, Request};
use coho_preload::{is_privileged, line, setting};

use crate::auto::Trials;
use crate::behind::guards::Blocked;
use crate::calls::{Call, Chosen};
use crate::hosts::Way;
use crate::teams::Teams;
use crate::thread::this;
use crate::{auto, behind, cpus, hooks, hosts};

/// A thread's calls before it has a caller: what makes few gains nothing.
const FIRST_CALLS: u32 = 64;

/// Among the calls: writes return before they are done.
const LATER: u32 = 1 << 31;
/// Those that gain are delegated.
const AUTO: u32 = 1 << 30;

/// The calls that are delegated now: none before the program begins, nor after delegation has ended.
static CALLS: AtomicU32 = AtomicU32::new(0);
/// What its other threads know the program's first one by; 0 if another one loaded the library.
static FIRST_THREAD: AtomicUsize = AtomicUsize::new(0);
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static SETTINGS: OnceLock<Settings> = OnceLock::new();
/// This process is a child of the one that the program began as.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Delegated calls of threads that have ended.
static AWAY: AtomicU64 = AtomicU64::new(0);

struct Settings {
    /// Where hosts are to be.
    teams: Teams,
    patience: Option<Duration>,
    flush: Duration,
}

/// How long a write stays on its way while the program writes more, by default.
const FLUSH: Duration = Duration::from_millis(1);

/// A thread's.
pub struct Mine {
    /// One to each team, or none.
    pub ways: Vec<Way>,
    /// Not in the thread's own storage, of which a library that is opened late has little. There once it is ready.
    pub trials: Option<Box<Trials>>,
    away: u64,
}

impl Drop for Mine {
    fn drop(&mut self) {
        AWAY.fetch_add(self.away, Relaxed);
        cpus::forget();
        if FORKED.load(Relaxed) {
            // The host's thread runs in the parent alone: here nobody would answer.
            std::mem::forget(std::mem::take(&mut self.ways));
        } else {
            self.trials.iter().for_each(|trials| auto::gather(trials));
        }
    }
}

thread_local! {
    static MINE: RefCell<Mine> = const { RefCell::new(Mine { ways: Vec::new(), trials: None, away: 0 }) };
}

/// When the library is loaded.
pub extern "C" fn begin() {
    if is_first_thread() {
        // SAFETY: no arguments.
        FIRST_THREAD.store(unsafe { libc::pthread_self() } as usize, Relaxed);
    }
    read_settings();
    HAS_BEGUN.store(true, Relaxed);
}

fn is_first_thread() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Called when a thread is about to end. Once the first one has left, no host may stay behind as the last: as hosts block all
/// signals, only SIGKILL would end the process.
pub fn leave() {
    if is_first_thread() {
        end();
    }
}

/// A thread is about to be cancelled.
pub fn leaves(thread: libc::pthread_t) {
    if thread as usize == FIRST_THREAD.load(Relaxed) {
        end();
    }
}

/// Whether the C library's functions are as they will be.
pub fn has_begun() -> bool {
    HAS_BEGUN.load(Relaxed)
}

fn read_settings() {
    let Some(list) = setting(c"COHO_DELEGATE") else { return };
    if is_privileged() {
        return;
    }
    let chosen = match Chosen::parse(list) {
        Ok(chosen) => chosen,
        Err(name) => return line("delegate", format_args!("COHO_DELEGATE: \"{name}\" cannot be delegated")),
    };
    let Some(teams) = Teams::parse(setting(c"COHO_DELEGATE_CPUS").unwrap_or_default()) else {
        return line("delegate", "COHO_DELEGATE_CPUS must be a list of CPUs, such as 2,3 or 2,3 write=4");
    };
    let (Some(patience), Some(flush)) = (time(c"COHO_DELEGATE_PATIENCE"), time(c"COHO_DELEGATE_FLUSH"))
    else {
        return line(
            "delegate",
            "COHO_DELEGATE_PATIENCE and COHO_DELEGATE_FLUSH must be numbers of microseconds",
        );
    };
    let Some(shared) = numbers(c"COHO_DELEGATE_LEAVES") else {
        return line("delegate", "COHO_DELEGATE_LEAVES must be a list of CPUs, such as 2,3");
    };
    if chosen.is_auto {
        cpus::share(&shared);
    }
    let flush = flush.unwrap_or(FLUSH);
    let calls =
        chosen.calls | if chosen.writes_later { LATER } else { 0 } | if chosen.is_auto { AUTO } else { 0 };
    if SETTINGS.set(Settings { teams, patience, flush }).is_ok() {
        // SAFETY: the functions live as long as the library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(before_fork), None, Some(forked)) };
        if chosen.writes_later {
            // SAFETY: as above.
            unsafe { libc::atexit(settle) };
        }
        if chosen.verbose {
            // SAFETY: the function lives as long as the library, which is never unloaded.
            unsafe { libc::atexit(report) };
        }
        hooks::install();
        if chosen.verbose && !hooks::see_stdio() {
            line("delegate", "calls that the C library makes for itself are not seen");
        }
        CALLS.store(calls, Relaxed);
    }
}

/// The numbers that a variable lists; `None` if it lists something else.
fn numbers(name: &CStr) -> Option<Vec<u32>> {
    let list = setting(name).unwrap_or_default();
    let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse().ok();
    if list.is_empty() { Some(Vec::new()) } else { list.split(|&byte| byte == b',').map(number).collect() }
}

/// The microseconds that a variable says, if it is set; `None` if it says something else.
fn time(name: &CStr) -> Option<Option<Duration>> {
    let times = numbers(name).filter(|numbers| numbers.len() < 2)?;
    Some(times.first().map(|&time| Duration::from_micros(time.into())))
}

/// The child begins with all done that its parent has asked for, and with its parent's CPUs.
unsafe extern "C" fn before_fork() {
    behind::drain();
    cpus::give_back();
}

/// In a forked process.
pub unsafe extern "C" fn forked() {
    FORKED.store(true, Relaxed);
    CALLS.store(0, Relaxed);
    behind::is_empty();
}

/// Whether this process is a child of the one that the program began as.
pub fn is_forked() -> bool {
    FORKED.load(Relaxed)
}

/// Has this process make its calls itself from now on.
pub fn end() {
    if is_vforked() {
        return;
    }
    CALLS.store(0, Relaxed);
    if !FORKED.load(Relaxed) {
        behind::drain();
        hosts::end();
        cpus::give_back();
    }
}

/// Has writes done at once from now on, and waits for what was accepted: the process is about to end.
pub fn finish() {
    if !is_vforked() {
        CALLS.fetch_and(!LATER, Relaxed);
    }
    behind::drain();
}

/// A reason for a thread to make its calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AtHome {
    /// It can be cancelled anywhere, so also between a request and its answer.
    Cancellable = 1,
    /// It is the child of a `vfork`, in its parent's memory and with descriptors of its own.
    Vforked = 2,
}

/// The calling thread makes its calls itself from now on, or no longer for this reason.
pub fn stay_at_home(reason: AtHome, stays: bool) {
    let others = this().at_home.get() & !(reason as u8);
    this().at_home.set(if stays { others | reason as u8 } else { others });
    // The next call looks why. A thread that has a caller keeps it.
    this().count.set(this().count.get().min(FIRST_CALLS));
}

/// Whether the calling thread makes its calls itself.
pub fn is_at_home() -> bool {
    this().at_home.get() != 0
}

/// Whether this is a child in its parent's memory.
pub fn is_vforked() -> bool {
    this().at_home.get() & AtHome::Vforked as u8 != 0
}

/// Has the program make its calls itself: there are no hosts.
pub fn do_without_hosts() {
    CALLS.store(0, Relaxed);
}

/// Where hosts are to be. Only asked by who has been told that calls are delegated.
pub fn teams() -> &'static Teams {
    &SETTINGS.get().expect("the settings come before the first delegated call").teams
}

/// For how long callers wait for a host to begin, if it is said.
pub fn patience() -> Option<Duration> {
    SETTINGS.get()?.patience
}

/// For how long a write may be on its way while the program writes more.
pub fn flush() -> Duration {
    SETTINGS.get().map_or(FLUSH, |settings| settings.flush)
}

/// Whether hosts that nobody uses end.
pub fn ends_idle_hosts() -> bool {
    CALLS.load(Relaxed) & AUTO != 0
}

/// Whether this call, with so long a payload, is made at home whatever it is on.
#[inline(always)]
pub fn stays_home(call: Call, payload_bytes: usize) -> bool {
    let calls = CALLS.load(Relaxed);
    calls & call.bit() == 0 || calls & AUTO != 0 && auto::waits(call, payload_bytes)
}

/// Whether this call, with so long a payload, is delegated. Each call that does not [stay](stays_home) asks once.
#[inline(always)]
pub fn delegates(call: Call, payload_bytes: usize) -> bool {
    let calls = CALLS.load(Relaxed);
    calls & call.bit() != 0 && (calls & AUTO == 0 || auto::is_away(call, payload_bytes))
}

/// Whether writes may return before they are done.
pub fn may_write_later() -> bool {
    CALLS.load(Relaxed) & LATER != 0 && !is_vforked()
}

/// Whether writes return before they are done, and this thread is ready for it.
#[inline(always)]
pub fn writes_later() -> bool {
    CALLS.load(Relaxed) & LATER != 0 && is_set_up()
}

/// Has a host execute a request, and waits. `None`: it is to be made at home.
///
/// # Safety
/// As the request's.
#[inline]
pub unsafe fn away(call: Call, request: Request) -> Option<isize> {
    // SAFETY: handed on.
    unsafe { away_by(call, request) }.map(|(answer, _)| answer)
}

/// As [`away`]; also by whom it was executed, as a caller may take back what its host is late for.
///
/// # Safety
/// As the request's.
#[inline]
pub unsafe fn away_by(call: Call, request: Request) -> Option<(isize, Executor)> {
    if is_at_home() || CALLS.load(Relaxed) & AUTO == 0 && !is_set_up() {
        return None;
    }
    // SAFETY: handed on.
    with_caller(call, |caller| unsafe { caller.call_by(request) })
        .map(|(answer, executor)| (answer.raw(), executor))
}

/// Where a thread can be cancelled. Nothing that is the library's needs cleaning up then.
#[inline]
pub fn cancellation_point() {
    unsafe extern "C-unwind" {
        fn pthread_testcancel();
    }
    // SAFETY: as in the place of the call that the program makes.
    unsafe { pthread_testcancel() };
}

fn with_caller<T>(call: Call, work: impl FnOnce(&mut Caller) -> T) -> Option<T> {
    if !this().is_ready.get() {
        return None;
    }
    let done = MINE.try_with(|mine| {
        // Borrowed: this is a handler that has interrupted a call.
        let mut mine = mine.try_borrow_mut().ok()?;
        let answer = work(&mut mine.ways.get_mut(teams().of(call))?.caller);
        mine.away += 1;
        Some(answer)
    });
    done.ok().flatten()
}

/// What this thread has. `None`: a handler has interrupted the thread where it uses that already, or the thread ends.
pub fn with_mine<T>(work: impl FnOnce(&mut Mine) -> T) -> Option<T> {
    if !this().is_ready.get() {
        if this().is_becoming_ready.get() || may_be_handler() || !hosts::has_memory(0) {
            return None;
        }
        this().is_becoming_ready.set(true);
        let trials = Some(Box::new(Trials::new()));
        let is_ready = MINE.try_with(|mine| mine.borrow_mut().trials = trials).is_ok();
        this().is_becoming_ready.set(false);
        this().is_ready.set(is_ready);
    }
    MINE.try_with(|mine| Some(work(&mut *mine.try_borrow_mut().ok()?))).ok().flatten()
}

/// Whether this thread has a caller, for which it may be time now.
#[inline(always)]
fn is_set_up() -> bool {
    let count = this().count.get();
    count > FIRST_CALLS || set_up(count)
}

#[cold]
fn set_up(count: u32) -> bool {
    if is_at_home() {
        return false;
    }
    this().count.set(count + 1);
    // To set up takes memory, which a handler may not.
    if count < FIRST_CALLS || may_be_handler() {
        this().count.set((count + 1).min(FIRST_CALLS));
        return false;
    }
    // Writes that are done later have a way of their own.
    let wants_ways = CALLS.load(Relaxed) & (AUTO - 1) != 0;
    if wants_ways && with_mine(|mine| mine.ways.is_empty()) == Some(true) {
        // A handler that ends the process would wait for the lock that is held meanwhile.
        let _blocked = Blocked::all();
        with_mine(|mine| mine.ways = hosts::ways());
    }
    true
}

/// A handler runs with its own signal blocked, at least.
pub fn may_be_handler() -> bool {
    let mut blocked = 0u64;
    let at = (&raw mut blocked) as usize;
    // SAFETY: the kernel writes the set, of 8 bytes.
    let asked = unsafe { Request::system(libc::SYS_rt_sigprocmask, [0, 0, at, 8, 0, 0]).execute() };
    asked.result().is_err() || blocked != 0
}

/// What comes now, as stdio's last writes, nobody would wait for.
extern "C" fn settle() {
    finish();
    behind::end();
}

extern "C" fn report() {
    behind::drain();
    let own = with_mine(|mine| mine.away).unwrap_or(0);
    let away = AWAY.load(Acquire) + own;
    if !FORKED.load(Relaxed) {
        // Not counting what nobody waited for, nor what has only woken them.
        let later = behind::accepted();
        let by_hosts = hosts::served().saturating_sub(later).min(away);
        line("delegate", format_args!("{away} calls delegated, {by_hosts} of them executed by hosts"));
        if later > 0 {
            line("delegate", format_args!("{later} writes done later"));
            behind::print();
        }
        auto::print();
    }
}
