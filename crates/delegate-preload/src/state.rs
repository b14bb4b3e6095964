//! What is delegated now, and why a thread or process makes its calls itself.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use crate::teams::Teams;
use crate::thread::{FIRST_CALLS, this};

/// Among the calls: writes return before they are done.
pub const LATER: u32 = 1 << 31;
/// Those that gain are delegated.
pub const AUTO: u32 = 1 << 30;
/// How long a write stays on its way while the program writes more, by default.
pub const FLUSH: Duration = Duration::from_millis(1);

/// The calls that are delegated now: none before the program begins, nor after delegation has ended.
static CALLS: AtomicU32 = AtomicU32::new(0);
static SETTINGS: OnceLock<Settings> = OnceLock::new();
/// This process is a child of the one that the program began as.
static FORKED: AtomicBool = AtomicBool::new(false);

/// What the program's environment says.
pub struct Settings {
    /// Where hosts are to be.
    pub teams: Teams,
    /// The file by which processes take turns, if each has hosts of its own.
    pub turns: Option<CString>,
    /// For how long callers wait for a host to begin, if it is said.
    pub patience: Option<Duration>,
    /// For how long a write may be on its way while the program writes more.
    pub flush: Duration,
    /// Whether to say what is done.
    pub verbose: bool,
}

/// The settings hold from now on; whether they are the first.
pub fn set(settings: Settings) -> bool {
    SETTINGS.set(settings).is_ok()
}

/// Whether there are settings: without, the library does nothing.
pub fn is_set() -> bool {
    SETTINGS.get().is_some()
}

/// These calls are delegated from now on.
pub fn delegate(calls: u32) {
    CALLS.store(calls, Relaxed);
}

/// Has the program make its calls itself from now on; returns what was delegated.
pub fn delegate_none() -> u32 {
    CALLS.swap(0, Relaxed)
}

/// Has writes done at once from now on.
pub fn write_at_once() {
    CALLS.fetch_and(!LATER, Relaxed);
}

/// The calls that are delegated now, with [`LATER`] and [`AUTO`].
#[inline(always)]
pub fn calls() -> u32 {
    CALLS.load(Relaxed)
}

/// This process is a forked one.
pub fn is_now_forked() {
    FORKED.store(true, Relaxed);
    delegate_none();
}

/// Whether this process is a child of the one that the program began as.
pub fn is_forked() -> bool {
    FORKED.load(Relaxed)
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

/// Where hosts are to be. Only asked by who has been told that calls are delegated.
pub fn teams() -> &'static Teams {
    &SETTINGS.get().expect("the settings come before the first delegated call").teams
}

/// The file by which processes take turns, if they do.
pub fn turns() -> Option<&'static CStr> {
    SETTINGS.get()?.turns.as_deref()
}

/// For how long callers wait for a host to begin, if it is said.
pub fn patience() -> Option<Duration> {
    SETTINGS.get()?.patience
}

/// For how long a write may be on its way while the program writes more.
pub fn flush() -> Duration {
    SETTINGS.get().map_or(FLUSH, |settings| settings.flush)
}

/// Whether to say what is done.
pub fn is_verbose() -> bool {
    SETTINGS.get().is_some_and(|settings| settings.verbose)
}

/// Whether hosts that nobody uses end.
pub fn ends_idle_hosts() -> bool {
    CALLS.load(Relaxed) & AUTO != 0
}

/// Whether writes may return before they are done.
pub fn may_write_later() -> bool {
    CALLS.load(Relaxed) & LATER != 0 && !is_vforked()
}
