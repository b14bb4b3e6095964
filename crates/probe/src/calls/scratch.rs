//! A private folder in memory for the calls' files, which does not outlive the process whatever ends it (but SIGKILL).

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use crate::{Error, filesystem, stop};

/// The only file in it.
const FILE: &str = "file";

/// The folder; removed with its file when dropped.
pub(super) struct Scratch {
    folder: PathBuf,
    slot: Option<usize>,
    filesystem: String,
}

impl Scratch {
    /// Creates it on a tmpfs (/dev/shm or `XDG_RUNTIME_DIR`) or, where none is writable, among the temporary files.
    ///
    /// # Errors
    /// If none of them can be written.
    pub(super) fn create() -> Result<Self, Error> {
        let mut refused = Vec::new();
        for parent in filesystem::temporary() {
            match Self::within(&parent) {
                Ok(scratch) => return Ok(scratch),
                Err(error) => refused.push(format!("{}: {error}", parent.display())),
            }
        }
        Err(Error::other(format!("no folder for the calls' files ({})", refused.join("; "))))
    }

    fn within(parent: &Path) -> io::Result<Self> {
        let mut template = parent.join("coho-calls-XXXXXX").into_os_string().into_vec();
        template.push(0);
        // SAFETY: the template ends with a zero; mkdtemp writes over its X's. The folder is the user's alone (0700).
        if unsafe { libc::mkdtemp(template.as_mut_ptr().cast()) }.is_null() {
            return Err(io::Error::last_os_error());
        }
        template.pop();
        let folder = PathBuf::from(OsString::from_vec(template));
        let slot = register(&folder.join(FILE), &folder);
        let filesystem = filesystem::name(&folder)?;
        Ok(Self { folder, slot, filesystem })
    }

    /// Path of the file, which the caller creates.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// The file system's name.
    pub(super) fn filesystem(&self) -> &str {
        &self.filesystem
    }

    /// Whether its files live in memory alone.
    pub(super) fn is_in_memory(&self) -> bool {
        filesystem::is_in_memory(&self.filesystem)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been created.
        let _ = fs::remove_file(self.file());
        // What somebody else has put there is not ours to remove.
        let _ = fs::remove_dir(&self.folder);
        if let Some(slot) = self.slot {
            unregister(slot);
        }
    }
}

/// File and folder of each scratch that exists, for signal handlers. The strings are never freed, as a handler may be
/// reading them: two short ones a measurement.
static DOOMED: [[AtomicPtr<libc::c_char>; 2]; 8] =
    [const { [const { AtomicPtr::new(std::ptr::null_mut()) }; 2] }; 8];
/// Signals that end the process unless somebody handles them.
const FATAL: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
/// Scratches that are registered.
static REGISTERED: Mutex<usize> = Mutex::new(0);

extern "C" fn remove_all() {
    for [file, folder] in &DOOMED {
        let (file, folder) = (file.load(SeqCst), folder.load(SeqCst));
        if !file.is_null() && !folder.is_null() {
            // SAFETY: both calls are async-signal-safe, and the strings are never freed.
            unsafe {
                libc::unlink(file);
                libc::rmdir(folder);
            }
        }
    }
}

extern "C" fn end(signal: libc::c_int) {
    remove_all();
    // SAFETY: both calls are async-signal-safe; the default action of these signals ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Has the paths removed if a signal ends the process; the slot they stand in, `None` where eight others do.
fn register(file: &Path, folder: &Path) -> Option<usize> {
    let mut registered = REGISTERED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let slot = DOOMED.iter().position(|slot| slot[0].load(SeqCst).is_null())?;
    for (place, path) in DOOMED[slot].iter().zip([file, folder]) {
        place.store(CString::new(path.as_os_str().as_bytes()).ok()?.into_raw(), SeqCst);
    }
    if *registered == 0 {
        stop::before_death(remove_all);
        exchange_handlers(libc::SIG_DFL, end as *const () as libc::sighandler_t);
    }
    *registered += 1;
    Some(slot)
}

fn unregister(slot: usize) {
    let mut registered = REGISTERED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    DOOMED[slot].iter().for_each(|place| place.store(std::ptr::null_mut(), SeqCst));
    *registered -= 1;
    if *registered == 0 {
        exchange_handlers(end as *const () as libc::sighandler_t, libc::SIG_DFL);
    }
}

/// Gives the fatal signals a new handler where they have the old one: handlers of others are left alone.
fn exchange_handlers(old: libc::sighandler_t, new: libc::sighandler_t) {
    for signal in FATAL {
        // SAFETY: zeroed sigactions are valid, and `end` only makes async-signal-safe calls.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == old {
                action.sa_sigaction = new;
                action.sa_flags = 0;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn is_private_and_goes_away() {
        let scratch = Scratch::create().unwrap();
        let folder = scratch.folder.clone();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(scratch.file(), "x").unwrap();
        drop(scratch);
        assert!(!folder.exists());
        let panicked = std::panic::catch_unwind(|| {
            let scratch = Scratch::create().unwrap();
            fs::write(scratch.file(), "x").unwrap();
            std::panic::panic_any(scratch.folder.clone());
        });
        assert!(!panicked.unwrap_err().downcast::<PathBuf>().unwrap().exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        assert!(Scratch::within(Path::new("/proc")).is_err());
    }
}
