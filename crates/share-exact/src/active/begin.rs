//! What happens when the library is loaded.

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::{Errno, on_fork, setting};
use coho_recording::Recorder;
use libc::pthread_key_t;

use super::{slots, thread};

/// Records what lies at an address, in the library that sees allocations.
type Report = extern "C" fn(u64);

/// What the process is recorded with.
#[derive(Debug)]
pub struct Process {
    pub recorder: Recorder,
    pub report: Option<Report>,
    /// By the time-stamp counter.
    pub started: u64,
}

static PROCESS: OnceLock<Process> = OnceLock::new();
/// Its value has a thread's end noticed.
static END: AtomicU32 = AtomicU32::new(u32::MAX);

const FILE: &CStr = c"COHO_SHARE";
const _: () = assert!(coho_recording::FILE.len() == FILE.count_bytes());

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    let _errno = Errno::kept();
    let Some(path) = setting(FILE) else { return };
    let Ok(file) = File::options().read(true).write(true).open(OsStr::from_bytes(path)) else { return };
    let Some(recorder) = Recorder::open(&file) else { return };
    let mut key: pthread_key_t = 0;
    // SAFETY: the function lives as long as the library, which is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread::ended)) } == 0 {
        END.store(key, Relaxed);
    }
    // SAFETY: a string that ends with a zero; the function is that library's, and takes this.
    let report = unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"coho_share_report".as_ptr());
        libc::dlerror();
        std::mem::transmute::<*mut c_void, Option<Report>>(found)
    };
    on_fork(thread::forked);
    let _ = PROCESS.set(Process { recorder, report, started: slots::now() });
}

/// What the process is recorded with, if it is.
pub fn process() -> Option<&'static Process> {
    PROCESS.get()
}

/// Has the calling thread's end noticed.
pub fn notice_end() {
    let key = END.load(Relaxed);
    if key != u32::MAX {
        // SAFETY: the key was created; its function uses no value.
        unsafe { libc::pthread_setspecific(key, (&raw const END).cast()) };
    }
}
