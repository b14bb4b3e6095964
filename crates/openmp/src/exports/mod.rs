//! The functions that programs import, each of which jumps to the target that the decision has chosen.

mod jump;
mod real;
mod table;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8};

pub use real::{absent, own};
use table::TABLE;

use crate::decide::guests;
use crate::{affinity, here, openings, thread};

/// Whose functions are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Ours,
    /// The program's own runtime's.
    Own,
}

/// An exported function.
struct Export {
    /// Ends with a zero.
    name: &'static str,
    /// Null if each call must ask which function it means.
    aim: &'static AtomicPtr<c_void>,
    ours: *const c_void,
    /// The function of the program's own runtime: null until it is resolved, and if there is none.
    own: AtomicPtr<c_void>,
}

// SAFETY: the pointer is a function's.
unsafe impl Sync for Export {}

impl Export {
    fn name(&self) -> &'static str {
        &self.name[..self.name.len() - 1]
    }

    /// The function that the decision has chosen.
    fn chosen(&self) -> *mut c_void {
        match TARGET.load(Acquire) {
            OURS => self.ours.cast_mut(),
            OWN if !self.own.load(Relaxed).is_null() => self.own.load(Relaxed),
            _ => real::absent(self.name()),
        }
    }
}

/// What has been decided.
static TARGET: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
const OURS: u8 = 1;
const OWN: u8 = 2;

pub fn is_decided() -> bool {
    TARGET.load(Acquire) != UNDECIDED
}

/// Whether a function of this name is exported; its place in the table.
pub fn find(name: &str) -> Option<usize> {
    TABLE.iter().position(|export| export.name() == name)
}

/// Finds the functions of the program's own runtime; returns whether there is one. It waits for the loader, which may wait
/// for a library's constructor.
pub fn resolve() -> bool {
    if own("omp_get_max_threads\0").is_none() {
        return false;
    }
    for export in &TABLE {
        export.own.store(own(export.name).unwrap_or_default(), Relaxed);
    }
    affinity::resolve();
    true
}

/// A function of the program's own runtime, once its functions are resolved. `name` ends with a zero.
pub fn resolved(name: &str) -> Option<*mut c_void> {
    let export = TABLE.iter().find(|export| export.name == name)?;
    let function = export.own.load(Relaxed);
    (!function.is_null()).then_some(function)
}

/// Makes all functions jump there.
pub fn aim(target: Target) {
    TARGET.store(if target == Target::Ours { OURS } else { OWN }, Release);
    aim_again();
}

/// Makes all functions jump to the chosen targets, if all opened libraries have been inspected; functions that some
/// library has for itself are asked for on each call.
pub fn aim_again() {
    let begun = openings::begun();
    for (at, export) in TABLE.iter().enumerate() {
        // Without a runtime, its functions other than queries are not called; a caller of one shows that there is one. With
        // one, the decision may not have been needed yet.
        let waits = !is_decided() && (begins_with_runtime() || !export.name.starts_with("omp_"));
        let asks = waits || !openings::are_seen() || guests::import(at);
        export.aim.store(if asks { ptr::null_mut() } else { export.chosen() }, SeqCst);
    }
    if openings::begun() != begun {
        ask();
    }
}

/// Makes every call ask which function it means.
pub fn ask() {
    for export in &TABLE {
        export.aim.store(ptr::null_mut(), SeqCst);
    }
}

/// Has this thread's calls that ask which function they mean mean the program's own runtime's.
pub fn with_own<T>(ask: impl FnOnce() -> T) -> T {
    let before = thread::this().asks_own.replace(true);
    let answer = ask();
    thread::this().asks_own.set(before);
    answer
}

/// The function that a call from this address means.
fn meant(at: usize, caller: usize) -> *mut c_void {
    if thread::this().asks_own.get() {
        return own(TABLE[at].name).unwrap_or_else(|| real::absent(TABLE[at].name()));
    }
    // A team's members must not wait for the loader: the team may have been opened by a library's constructor.
    let is_free = !here::is_within_region();
    if is_free {
        openings::see();
    }
    guests::function(at, caller).unwrap_or_else(|| {
        if is_free {
            crate::decide::decide();
        }
        TABLE[at].chosen()
    })
}

/// The function that the decision has chosen.
pub fn chosen(name: &str) -> *mut c_void {
    find(name).map_or(ptr::null_mut(), |at| TABLE[at].chosen())
}

/// Whether the program started with a runtime, libgomp or another, which all libraries that it opens then use.
pub fn begins_with_runtime() -> bool {
    BEGINS_WITH_RUNTIME.load(Relaxed)
}

static BEGINS_WITH_RUNTIME: AtomicBool = AtomicBool::new(false);

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    let found = coho_preload::real(c"omp_get_max_threads");
    BEGINS_WITH_RUNTIME.store(!found.is_null(), Relaxed);
    // LLVM's runtime reads the environment when it is first used, which the program may have changed by then.
    if found.is_null() || crate::decide::is_of_libgomp(found as usize) {
        crate::decide::decide_early();
    }
}
