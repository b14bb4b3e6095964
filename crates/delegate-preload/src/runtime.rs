//! Whether calls are delegated, and by whom.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::time::Duration;

use coho_delegate::{Caller, Host, Request};
use coho_preload::{is_privileged, line, setting};

use crate::behind;
use crate::calls::{Call, Chosen};

/// A thread's calls before it has a caller: what makes few gains nothing.
const FIRST_CALLS: u32 = 64;

/// Among the calls: writes return before they are done.
const LATER: u32 = 1 << 31;

/// The calls that are delegated now: none before the program begins, nor after delegation has ended.
static CALLS: AtomicU32 = AtomicU32::new(0);
static SETTINGS: OnceLock<Settings> = OnceLock::new();
static HOSTS: OnceLock<Vec<Host>> = OnceLock::new();
static NEXT_HOST: AtomicUsize = AtomicUsize::new(0);
/// This process is a child of the one that the program began as.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Delegated calls of threads that have ended.
static AWAY: AtomicU64 = AtomicU64::new(0);

struct Settings {
    /// Where hosts are to be; empty: anywhere.
    cpus: Vec<u32>,
    patience: Option<Duration>,
}

/// A thread's way to its host.
struct Mine {
    caller: Option<Caller>,
    away: u64,
}

impl Drop for Mine {
    fn drop(&mut self) {
        AWAY.fetch_add(self.away, Relaxed);
        if FORKED.load(Relaxed) {
            // The host's thread runs in the parent alone: here nobody would answer.
            std::mem::forget(self.caller.take());
        }
    }
}

thread_local! {
    // Needs no destructor: a handler may be the first to come here.
    static COUNT: Cell<u32> = const { Cell::new(0) };
    static IS_HOST: Cell<bool> = const { Cell::new(false) };
    static MINE: RefCell<Mine> = const { RefCell::new(Mine { caller: None, away: 0 }) };
}

/// Reads the settings.
pub extern "C" fn begin() {
    let Some(list) = setting(c"COHO_DELEGATE") else { return };
    if is_privileged() {
        return;
    }
    let chosen = match Chosen::parse(list) {
        Ok(chosen) => chosen,
        Err(name) => return line("delegate", format_args!("COHO_DELEGATE: there is no call \"{name}\"")),
    };
    let Some(cpus) = numbers(c"COHO_DELEGATE_CPUS") else {
        return line("delegate", "COHO_DELEGATE_CPUS: a list of CPUs is like 2,3");
    };
    let Some(patience) = numbers(c"COHO_DELEGATE_PATIENCE").filter(|numbers| numbers.len() < 2) else {
        return line("delegate", "COHO_DELEGATE_PATIENCE: a number of microseconds");
    };
    let patience = patience.first().map(|&time| Duration::from_micros(time.into()));
    let calls = chosen.calls | if chosen.writes_later { LATER } else { 0 };
    if SETTINGS.set(Settings { cpus, patience }).is_ok() {
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
        CALLS.store(calls, Relaxed);
    }
}

/// The numbers that a variable lists; `None` if it lists something else.
fn numbers(name: &CStr) -> Option<Vec<u32>> {
    let list = setting(name).unwrap_or_default();
    let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse().ok();
    if list.is_empty() { Some(Vec::new()) } else { list.split(|&byte| byte == b',').map(number).collect() }
}

/// The child begins with all done that its parent has asked for.
unsafe extern "C" fn before_fork() {
    behind::drain();
}

/// In a forked process.
unsafe extern "C" fn forked() {
    FORKED.store(true, Relaxed);
    CALLS.store(0, Relaxed);
    behind::PENDING.store(false, Relaxed);
}

/// Whether this process is a child of the one that the program began as.
pub fn is_forked() -> bool {
    FORKED.load(Relaxed)
}

/// Whether the calling thread executes calls: it does not wait for any.
pub fn is_host() -> bool {
    IS_HOST.get()
}

unsafe fn become_host(_: [usize; 5]) -> isize {
    IS_HOST.set(true);
    0
}

/// Has this process make its calls itself from now on.
pub fn end() {
    CALLS.store(0, Relaxed);
    if !FORKED.load(Relaxed) {
        behind::drain();
        for host in HOSTS.get().into_iter().flatten() {
            host.end();
        }
    }
}

/// Whether any are.
pub fn is_on() -> bool {
    CALLS.load(Relaxed) != 0
}

/// Whether calls of this kind are delegated.
#[inline(always)]
pub fn delegates(call: Call) -> bool {
    CALLS.load(Relaxed) & call.bit() != 0
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
pub unsafe fn away(request: Request) -> Option<isize> {
    unsafe extern "C-unwind" {
        fn pthread_testcancel();
    }
    if !is_set_up() {
        return None;
    }
    // The calls are cancellation points. Nothing here needs cleaning up.
    // SAFETY: as in the call's own place.
    unsafe { pthread_testcancel() };
    // SAFETY: handed on.
    with_caller(|caller| unsafe { caller.call(request) }.raw())
}

fn with_caller(work: impl FnOnce(&mut Caller) -> isize) -> Option<isize> {
    let done = MINE.try_with(|mine| {
        // Borrowed: this is a handler that has interrupted a call.
        let mut mine = mine.try_borrow_mut().ok()?;
        let answer = work(mine.caller.as_mut()?);
        mine.away += 1;
        Some(answer)
    });
    done.ok().flatten()
}

/// Whether this thread has a caller, for which it may be time now.
#[inline(always)]
fn is_set_up() -> bool {
    let count = COUNT.get();
    count > FIRST_CALLS || set_up(count)
}

#[cold]
fn set_up(count: u32) -> bool {
    COUNT.set(count + 1);
    // To set up takes memory, which a handler may not.
    if count < FIRST_CALLS || may_be_handler() {
        COUNT.set((count + 1).min(FIRST_CALLS));
        return false;
    }
    let _ = MINE.try_with(|mine| {
        if let Ok(mut mine) = mine.try_borrow_mut() {
            mine.caller = new_caller(1, 0).map(|mut caller| {
                if let Some(patience) = SETTINGS.get().and_then(|settings| settings.patience) {
                    caller.set_patience(patience);
                }
                caller
            });
        }
    });
    true
}

/// A way to the next host, with so many lines and slots of so many bytes.
pub fn new_caller(lines: usize, slot_bytes: usize) -> Option<Caller> {
    let hosts = HOSTS.get_or_init(start);
    let number = NEXT_HOST.fetch_add(1, Relaxed) % hosts.len().max(1);
    Some(hosts.get(number)?.caller_with(lines, slot_bytes))
}

/// A handler runs with its own signal blocked, at least.
fn may_be_handler() -> bool {
    let mut blocked = 0u64;
    let at = (&raw mut blocked) as usize;
    // SAFETY: the kernel writes the set, of 8 bytes.
    let asked = unsafe { Request::system(libc::SYS_rt_sigprocmask, [0, 0, at, 8, 0, 0]).execute() };
    asked.result().is_err() || blocked != 0
}

fn start() -> Vec<Host> {
    let builders = match SETTINGS.get().map_or(&[][..], |settings| &settings.cpus) {
        [] => vec![Host::builder()],
        cpus => cpus.iter().map(|&cpu| Host::builder().cpu(cpu)).collect(),
    };
    let hosts: Result<Vec<_>, _> = builders.into_iter().map(coho_delegate::HostBuilder::start).collect();
    for host in hosts.iter().flatten() {
        let mut caller = host.caller();
        caller.set_patience(Duration::MAX);
        // SAFETY: the function takes any arguments.
        unsafe { caller.post(Request::function(become_host, [0; 5])) };
    }
    hosts.unwrap_or_else(|error| {
        CALLS.store(0, Relaxed);
        line("delegate", format_args!("{error}: the program makes its calls itself"));
        Vec::new()
    })
}

extern "C" fn settle() {
    behind::end();
}

extern "C" fn report() {
    behind::drain();
    let own = MINE.try_with(|mine| mine.try_borrow().map_or(0, |mine| mine.away)).unwrap_or(0);
    let away = AWAY.load(Acquire) + own;
    if !FORKED.load(Relaxed) {
        let by_hosts: u64 = HOSTS.get().into_iter().flatten().map(Host::served).sum();
        // Not counting what has made them hosts, and what nobody waited for.
        let (hosts, later) = (HOSTS.get().map_or(0, Vec::len) as u64, behind::accepted());
        let by_hosts = by_hosts.saturating_sub(hosts + later);
        line("delegate", format_args!("{away} calls delegated, {by_hosts} of them executed by hosts"));
        if later > 0 {
            line("delegate", format_args!("{later} writes done later"));
        }
    }
}
