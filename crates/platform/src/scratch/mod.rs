//! A private folder for files that must not outlive the process, whatever ends it.
//!
//! The folder is removed when it is dropped. If a signal ends the owner, even SIGKILL, a keeper removes it: a small
//! shell that waits for the owner's end. If no keeper could be started, or that is killed too, the next run removes the
//! folder: a lock shows that the owner is gone.

use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::{filesystem, trust};

/// What each folder's name begins with.
const PREFIX: &str = "coho-";
/// How long to wait for the keeper to begin, and to remove the folder.
const KEEPING: Duration = Duration::from_secs(60);
/// The time between two checks whether it has ended.
const LOOK: Duration = Duration::from_millis(1);
/// A folder may be so new that its owner has not locked it yet.
const NEW: Duration = Duration::from_secs(60);

/// Names to try for a folder.
const TRIES: u32 = 16;

/// Ignores signals and says that it is ready, then waits until its owner writes a word or is gone, for whatever reason;
/// then ends what is left in its process group, and removes the folder.
const KEEPER: &str = r#"
trap '' HUP INT QUIT TERM
echo
read -r _
kill -TERM 0
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"#;

/// What a folder is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wish<'a> {
    /// A word for its name: `coho-WORD-PROCESS-…`.
    pub name: &'a str,
    /// Its parent folder; if `None`, one in memory or, if there is no such place, that of the temporary files.
    pub parent: Option<&'a Path>,
    /// Whether programs in it are to be run.
    pub runs_programs: bool,
}

/// Why there is no folder: the error for each place that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    refused: Vec<(PathBuf, String)>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<_> =
            self.refused.iter().map(|(place, why)| format!("{}: {why}", place.display())).collect();
        write!(f, "no folder for scratch files ({})", reasons.join("; "))
    }
}

impl std::error::Error for Error {}

/// Why nothing removes a folder, or ends the processes in it, if this process is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoKeeper(String);

impl fmt::Display for NoKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/bin/sh: {}", self.0)
    }
}

impl std::error::Error for NoKeeper {}

/// The folder, which is this user's alone; gone when dropped, or soon after the process is.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    filesystem: String,
    keeper: Result<Child, NoKeeper>,
    /// Held for as long as the process lives; forked children hold it, too.
    _lock: Option<File>,
}

impl Folder {
    /// Creates a folder, and removes those of earlier runs whose owners are gone.
    ///
    /// # Errors
    /// If it can be created nowhere, or nowhere that programs may be run, if that is wanted.
    pub fn create(wish: Wish<'_>) -> Result<Self, Error> {
        let places: Vec<PathBuf> = match wish.parent {
            Some(parent) => vec![parent.to_owned()],
            None => filesystem::temporary().collect(),
        };
        let mut refused = Vec::new();
        for place in places {
            match Self::within(&place, wish) {
                Ok(folder) => return Ok(folder),
                Err(why) => refused.push((place, why)),
            }
        }
        Err(Error { refused })
    }

    fn within(parent: &Path, wish: Wish<'_>) -> Result<Self, String> {
        if !parent.is_dir() {
            return Err("there is no such folder".into());
        }
        if wish.runs_programs && !filesystem::runs_programs(parent) {
            return Err("programs may not run there".into());
        }
        sweep(parent);
        for _ in 0..TRIES {
            let path = parent.join(name(wish.name).map_err(|error| error.to_string())?);
            // The keeper starts before there is a folder, so that none is left behind whenever this process is killed.
            let mut keeper = keep(&path).map_err(|error| NoKeeper(error.to_string()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let lock = open(&path).ok().filter(lock);
                    let filesystem = filesystem::name(&path).unwrap_or_else(|_| "unknown".into());
                    return Ok(Self { path, filesystem, keeper, _lock: lock });
                }
                Err(error) => {
                    // The keeper must not remove somebody else's folder.
                    if let Ok(keeper) = &mut keeper {
                        let _ = keeper.kill();
                        let _ = keeper.wait();
                    }
                    if error.kind() != ErrorKind::AlreadyExists {
                        return Err(error.to_string());
                    }
                }
            }
        }
        Err("every name that was tried is taken".into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file system's name.
    pub fn filesystem(&self) -> &str {
        &self.filesystem
    }

    /// Whether its files live in memory alone.
    pub fn is_in_memory(&self) -> bool {
        filesystem::is_in_memory(&self.filesystem)
    }

    /// The keeper's process group: processes that join it end with the folder.
    ///
    /// # Errors
    /// Why there is no keeper.
    pub fn group(&self) -> Result<i32, NoKeeper> {
        self.keeper.as_ref().map(|keeper| keeper.id() as i32).map_err(Clone::clone)
    }

    /// Asks all processes of the keeper's group to end.
    pub fn end_group(&self) {
        if let Ok(group) = self.group() {
            // SAFETY: no pointers; the keeper has not been waited for, so the number is its own.
            unsafe { libc::kill(-group, libc::SIGTERM) };
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Ok(keeper) = &mut self.keeper {
            // A word, not the pipe's end alone: a process that was forked meanwhile holds the pipe open for as long as
            // it lives.
            if let Some(mut pipe) = keeper.stdin.take() {
                let _ = pipe.write_all(b"\n");
            }
            let start = Instant::now();
            while matches!(keeper.try_wait(), Ok(None)) && start.elapsed() < KEEPING {
                sleep(LOOK);
            }
            // Something is left only if the keeper was killed or has not finished.
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A name that nobody can predict.
fn name(word: &str) -> io::Result<String> {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut bytes = [0u8; 6];
    // SAFETY: the buffer has that many bytes. glibc has `getrandom` only from 2.25 on.
    let filled = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) };
    if filled != bytes.len() as libc::c_long {
        return Err(io::Error::last_os_error());
    }
    let letters: String = bytes.iter().map(|&byte| char::from(LETTERS[usize::from(byte) % 62])).collect();
    Ok(format!("{PREFIX}{word}-{}-{letters}", std::process::id()))
}

/// Opens a folder without following a link.
fn open(folder: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(folder)
}

/// Takes the lock if nobody else holds it; the kernel releases it when the last process that holds it ends.
fn lock(folder: &File) -> bool {
    // SAFETY: a call without memory arguments on an open file.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes this user's folders whose owners are gone.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !is_name(entry.file_name().as_bytes()) {
            continue;
        }
        let path = entry.path();
        let Ok(folder) = open(&path) else { continue };
        let old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age > NEW);
        let gone = folder.metadata().is_ok_and(|found| {
            trust::is_mine(&found) && found.mode() & 0o777 == 0o700 && found.modified().is_ok_and(old)
        });
        if gone && lock(&folder) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether a name is one that [`name`] makes.
fn is_name(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX.as_bytes()) else { return false };
    let parts: Vec<_> = rest.split(|&byte| byte == b'-').collect();
    let all = |part: &[u8], allowed: fn(&u8) -> bool| !part.is_empty() && part.iter().all(allowed);
    matches!(parts[..], [word, process, letters] if all(word, u8::is_ascii_lowercase)
        && all(process, u8::is_ascii_digit)
        && letters.len() == 6
        && all(letters, u8::is_ascii_alphanumeric))
}

/// Starts a folder's keeper, in a process group of its own.
fn keep(folder: &Path) -> io::Result<Child> {
    let mut keeper = Command::new("/bin/sh")
        .args(["-c", KEEPER, "coho"])
        .arg(folder)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    if keeper.stdout.take().is_some_and(says_something) {
        return Ok(keeper);
    }
    let _ = keeper.kill();
    let _ = keeper.wait();
    Err(io::Error::new(ErrorKind::TimedOut, "it did not begin in time"))
}

/// Whether something arrives through a pipe in time.
fn says_something(mut pipe: ChildStdout) -> bool {
    let mut entry = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let end = Instant::now() + KEEPING;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // SAFETY: one entry, which is valid for writes.
        match unsafe { libc::poll(&raw mut entry, 1, left.as_millis() as i32) } {
            1 => return pipe.read_exact(&mut [0]).is_ok(),
            -1 if io::Error::last_os_error().kind() == ErrorKind::Interrupted => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests;
