//! What happens when the library is loaded, and when the process ends.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::{Errno, look_up_all, range_of, setting};
use coho_recording::Recorder;

use super::{allocations, modules, next, thread};

struct Process {
    recorder: Recorder,
    /// This library's own code.
    own: Range<usize>,
}

static PROCESS: OnceLock<Process> = OnceLock::new();
/// Whether threads are interrupted.
static HAVE_TICKS: AtomicBool = AtomicBool::new(true);

const FILE: &CStr = c"COHO_SHARE";
const PAD: &CStr = c"COHO_SHARE_PAD";
const COUNT: &CStr = c"COHO_SHARE_COUNT";
const _: () = assert!(coho_recording::FILE.len() == FILE.count_bytes());
const _: () = assert!(coho_recording::PAD.len() == PAD.count_bytes());
const _: () = assert!(coho_recording::COUNT.len() == COUNT.count_bytes());

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Run when the process ends.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn begin() {
    let _errno = Errno::kept();
    thread::this().on_its_own(begin_here);
}

fn begin_here() {
    look_up_all(next::ALL);
    allocations::look_up_all();
    modules::remember();
    if setting(PAD).is_some_and(allocations::pad) {
        thread::introduce_first();
        allocations::begin();
    }
    let Some(path) = setting(FILE) else { return };
    let Ok(file) = File::options().read(true).write(true).open(OsStr::from_bytes(path)) else { return };
    let Some(recorder) = Recorder::open(&file) else { return };
    HAVE_TICKS.store(setting(COUNT).is_none(), Relaxed);
    let _ = PROCESS.set(Process { recorder, own: range_of(begin as *const () as usize) });
    if thread::this().slot().is_none() {
        thread::introduce_first();
    }
    allocations::begin();
}

extern "C" fn end() {
    if thread::is_recorded() {
        let _errno = Errno::kept();
        modules::record();
    }
}

/// Whether threads are interrupted; not if another library counts what they do.
pub fn have_ticks() -> bool {
    HAVE_TICKS.load(Relaxed)
}

/// What the process is recorded with, if it is.
pub fn recorder() -> Option<&'static Recorder> {
    PROCESS.get().map(|process| &process.recorder)
}

/// Whether an address is in this library.
pub fn is_own(address: u64) -> bool {
    PROCESS.get().is_some_and(|process| process.own.contains(&(address as usize)))
}
