//! A private folder in memory for the calls' files, which does not outlive the process whatever ends it (but SIGKILL).

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use crate::{Error, stop};

/// The only file in it.
const FILE: &str = "file";
/// `f_type` of tmpfs in statfs(2).
const TMPFS: i64 = 0x0102_1994;
/// Names of what else a temporary folder may lie on.
const FILE_SYSTEMS: [(i64, &str); 6] = [
    (TMPFS, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x794c_7630, "overlay"),
];

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
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let in_memory = [Some(PathBuf::from("/dev/shm")), runtime].into_iter().flatten();
        let in_memory = in_memory.filter(|parent| type_of(parent).is_ok_and(|kind| kind == TMPFS));
        let mut refused = Vec::new();
        for parent in in_memory.chain([std::env::temp_dir()]) {
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
        let kind = type_of(&folder)?;
        let name = FILE_SYSTEMS.iter().find(|(known, _)| *known == kind);
        let filesystem = name.map_or_else(|| format!("type {kind:#x}"), |(_, name)| (*name).to_owned());
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
        ["tmpfs", "ramfs"].contains(&self.filesystem())
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

fn type_of(path: &Path) -> io::Result<i64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a zeroed statfs is a valid one, which the kernel fills; the path ends with a zero.
    unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        if libc::statfs(path.as_ptr(), &mut found) != 0 {
            return Err(io::Error::last_os_error());
        }
        // As its unsigned 32 bits: the field's own type differs between architectures.
        Ok(found.f_type as i64 & 0xffff_ffff)
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
        assert!(type_of(Path::new("/nonexistent")).is_err());
    }
}
