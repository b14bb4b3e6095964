//! A small file in the state folder that several runs of coho change, one after the other.
//!
//! A file that another user could have put there is not trusted: a symbolic link, a file that belongs to somebody else
//! or that others may write, one that is not a regular file or is too long. Such a file is left as it is, and so is one
//! that `change` refuses.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{state, trust};

/// How long to wait for other runs: a change takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two attempts to take the lock.
const LOOK: Duration = Duration::from_millis(2);

/// Why a file is neither read nor written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no folder for it.
    State(state::Error),
    /// It is a symbolic link, a folder, a device or a pipe.
    NoFile(PathBuf),
    /// Others may have written it.
    Unsafe(trust::Distrust),
    /// It is longer than this many bytes.
    TooLong(PathBuf, u64),
    /// It cannot be read or written.
    Io(PathBuf, io::Error),
    /// Other runs have held its lock all the time.
    Busy(PathBuf),
    /// Its contents are not as expected; the text says how.
    Unfit(PathBuf, String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(why) => why.fmt(f),
            Self::NoFile(path) => {
                write!(f, "{} is a link, a folder or a device, not a regular file", path.display())
            }
            Self::Unsafe(why) => why.fmt(f),
            Self::TooLong(path, most) => write!(f, "{} is longer than {} KiB", path.display(), most >> 10),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Busy(path) => {
                write!(f, "{}: other runs have held it for {} s", path.display(), PATIENCE.as_secs())
            }
            Self::Unfit(path, why) => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl From<state::Error> for Error {
    fn from(error: state::Error) -> Self {
        Self::State(error)
    }
}

/// The text of the file of this name, at most `most` bytes of it; `None` if there is none.
///
/// # Errors
/// [`Error`]; the file is left alone.
pub fn read(name: &str, most: u64) -> Result<Option<String>, Error> {
    read_in(&state::folder()?, name, most)
}

/// Replaces the text with what `change` makes of it, under a lock, so that no concurrent change is lost. Creates the
/// folder if necessary.
///
/// # Errors
/// [`Error`], [`Error::Unfit`] with what `change` says; the file is then as it was.
pub fn update<E: fmt::Display>(
    name: &str,
    most: u64,
    change: impl FnOnce(Option<&str>) -> Result<String, E>,
) -> Result<(), Error> {
    update_in(&state::create()?, name, most, change)
}

/// The path of a file of this name in a folder for state that holds exactly these bytes. Writes it if it is not there,
/// or holds others: as a whole, so that nobody ever sees a part of it.
///
/// # Errors
/// [`Error`]; a file that is not trusted is left alone.
pub fn exactly_in(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
    let is_there = || match bytes_in(folder, name, bytes.len() as u64) {
        Ok(found) => Ok(found.as_deref() == Some(bytes)),
        Err(Error::TooLong(..)) => Ok(false),
        Err(error) => Err(error),
    };
    if !is_there()? {
        let _held = lock(&folder.join(format!(".{name}.lock")))?;
        // Another run may have written it meanwhile.
        if !is_there()? {
            write_in(folder, name, bytes)?;
        }
    }
    Ok(folder.join(name))
}

fn read_in(folder: &Path, name: &str, most: u64) -> Result<Option<String>, Error> {
    let text = bytes_in(folder, name, most)?.map(String::from_utf8).transpose();
    text.map_err(|_| Error::Unfit(folder.join(name), "it is not UTF-8".into()))
}

fn bytes_in(folder: &Path, name: &str, most: u64) -> Result<Option<Vec<u8>>, Error> {
    let path = folder.join(name);
    let failed = |error| Error::Io(path.clone(), error);
    // Opening a pipe must not block.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = match options.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err(Error::NoFile(path)),
        other => other.map_err(failed)?,
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::NoFile(path));
    }
    trust::check_one(&path, &metadata).map_err(Error::Unsafe)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(Error::TooLong(path, most));
    }
    Ok(Some(bytes))
}

fn update_in<E: fmt::Display>(
    folder: &Path,
    name: &str,
    most: u64,
    change: impl FnOnce(Option<&str>) -> Result<String, E>,
) -> Result<(), Error> {
    let path = folder.join(name);
    let _held = lock(&folder.join(format!(".{name}.lock")))?;
    let earlier = read_in(folder, name, most)?;
    let text = change(earlier.as_deref()).map_err(|why| Error::Unfit(path.clone(), why.to_string()))?;
    if text.len() as u64 > most {
        return Err(Error::TooLong(path, most));
    }
    write_in(folder, name, text.as_bytes())
}

/// Replaces the file, whose lock the caller holds.
fn write_in(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    // This happens under the lock, so a draft that exists can only be left over from a killed run.
    let draft = folder.join(format!(".{name}.draft"));
    let failed = |error| Error::Io(draft.clone(), error);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    let path = folder.join(name);
    fs::rename(&draft, &path).map_err(|error| Error::Io(path, error))
}

/// Takes the lock, which lasts as long as the file is open.
fn lock(path: &Path) -> Result<File, Error> {
    let failed = |error| Error::Io(path.to_owned(), error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::NoFile(path.to_owned()));
    }
    trust::check_one(path, &metadata).map_err(Error::Unsafe)?;
    let end = Instant::now() + PATIENCE;
    loop {
        // SAFETY: no pointers, and the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(file);
        }
        match io::Error::last_os_error() {
            error if !matches!(error.raw_os_error(), Some(libc::EWOULDBLOCK | libc::EINTR)) => {
                return Err(failed(error));
            }
            _ if Instant::now() >= end => return Err(Error::Busy(path.to_owned())),
            _ => sleep(LOOK),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use coho_testing::{Capability, needs};

    use super::*;

    const NAME: &str = "kept";

    fn add(folder: &Path, line: &str) -> Result<(), Error> {
        update_in(folder, NAME, 1000, |text| Ok::<_, Infallible>(text.unwrap_or_default().to_owned() + line))
    }

    #[test]
    fn bytes_are_written_once_and_mended() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let path = exactly_in(folder, NAME, b"library").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"library");
        let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
        let first = inode();
        assert_eq!(exactly_in(folder, NAME, b"library").unwrap(), path);
        assert_eq!(inode(), first, "it is not written again");
        // Cut short, changed, or longer; and what a killed run left behind.
        for other in [&b"lib"[..], b"libraRy", b"library and more"] {
            fs::write(&path, other).unwrap();
            fs::write(folder.join(".kept.draft"), "half").unwrap();
            exactly_in(folder, NAME, b"library").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"library");
            assert!(!folder.join(".kept.draft").exists());
        }
        // A link or a file that others may write is neither believed nor replaced.
        fs::rename(&path, folder.join("elsewhere")).unwrap();
        symlink(folder.join("elsewhere"), &path).unwrap();
        assert!(matches!(exactly_in(folder, NAME, b"library"), Err(Error::NoFile(_))));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "library").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(exactly_in(folder, NAME, b"library"), Err(Error::Unsafe(_))));
    }

    #[test]
    fn another_users_bytes_are_not_believed() {
        needs!(Capability::Root);
        let folder = tempfile::tempdir().unwrap();
        let path = exactly_in(folder.path(), NAME, b"library").unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
        assert!(matches!(exactly_in(folder.path(), NAME, b"library"), Err(Error::Unsafe(_))));
    }

    #[test]
    fn a_text_is_changed_as_a_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let read = || read_in(folder.path(), NAME, 1000).unwrap();
        assert_eq!(read(), None);
        add(folder.path(), "one\n").unwrap();
        add(folder.path(), "two\n").unwrap();
        assert_eq!(read().as_deref(), Some("one\ntwo\n"));
        let refused = update_in(folder.path(), NAME, 1000, |_| Err("no such thing"));
        assert!(matches!(refused, Err(Error::Unfit(_, why)) if why == "no such thing"));
        let long = update_in(folder.path(), NAME, 1000, |_| Ok::<_, Infallible>("x".repeat(1001)));
        assert!(matches!(long, Err(Error::TooLong(_, 1000))));
        assert_eq!(read().as_deref(), Some("one\ntwo\n"));
        let mode = fs::metadata(folder.path().join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // What a killed run left behind does not get in the way.
        fs::write(folder.path().join(".kept.draft"), "half").unwrap();
        add(folder.path(), "three\n").unwrap();
        assert_eq!(read().as_deref(), Some("one\ntwo\nthree\n"));
    }

    #[test]
    fn of_changes_at_once_none_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let folder = folder.path();
                scope.spawn(move || (0..5).for_each(|i| add(folder, &format!("{writer}.{i}\n")).unwrap()));
            }
        });
        let text = read_in(folder.path(), NAME, 1000).unwrap().unwrap();
        let lines: std::collections::BTreeSet<&str> = text.lines().collect();
        assert_eq!(lines.len(), 40);
    }

    #[test]
    fn what_another_could_have_put_there_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "not mine to change").unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(matches!(read_in(folder.path(), NAME, 1000), Err(Error::NoFile(_))));
        assert!(matches!(add(folder.path(), "x"), Err(Error::NoFile(_))));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "not mine to change");
        assert!(path.is_symlink());
        fs::remove_file(&path).unwrap();

        fs::write(&path, "x".repeat(1001)).unwrap();
        assert!(matches!(add(folder.path(), "x"), Err(Error::TooLong(..))));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(add(folder.path(), "x"), Err(Error::Unfit(..))));
        fs::write(&path, "fit").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(add(folder.path(), "x"), Err(Error::Unsafe(_))));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(add(folder.path(), "x"), Err(Error::NoFile(_))));
    }

    #[test]
    fn another_users_file_is_not_read() {
        needs!(Capability::Root);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        fs::write(&path, "theirs").unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        assert!(matches!(read_in(folder.path(), NAME, 1000), Err(Error::Unsafe(_))));
        assert!(matches!(add(folder.path(), "x"), Err(Error::Unsafe(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }
}
