//! What happens when the library is loaded.

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::{Errno, on_fork, range_of, setting};
use coho_recording::Recorder;
use libc::pthread_key_t;

use super::{memory, slots, thread};

/// Records what lies at an address, in the library that sees allocations.
type Report = extern "C" fn(u64);

/// What the process is recorded with.
#[derive(Debug)]
pub struct Process {
    pub recorder: Recorder,
    pub report: Option<Report>,
    /// By the time-stamp counter.
    pub started: u64,
    /// The code of this library, and of that one.
    own: [Range<usize>; 2],
}

impl Process {
    /// Whether code is coho's.
    pub fn is_own(&self, pc: u64) -> bool {
        self.own.iter().any(|own| own.contains(&(pc as usize)))
    }
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
    memory::look_up_all();
    let Some(path) = setting(FILE) else { return };
    let Ok(file) = File::options().read(true).write(true).open(OsStr::from_bytes(path)) else { return };
    let Some(recorder) = Recorder::open(&file) else { return };
    let mut key: pthread_key_t = 0;
    // SAFETY: the function lives as long as the library, which is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread::ended)) } == 0 {
        END.store(key, Relaxed);
    }
    // SAFETY: a string that ends with a zero.
    let found = unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"coho_share_report".as_ptr());
        libc::dlerror();
        found
    };
    // SAFETY: the function is that library's, and takes this.
    let report = unsafe { std::mem::transmute::<*mut c_void, Option<Report>>(found) };
    let own = [begin as *const () as usize, found as usize].map(range_of);
    on_fork(thread::forked);
    let _ = PROCESS.set(Process { recorder, report, started: slots::now(), own });
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
