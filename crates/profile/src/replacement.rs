//! Replacing whole files, one writer at a time.
//!
//! The new content goes into a draft beside the file, `.NAME.coho-draft`, which is then renamed over the file. The
//! draft is also the lock: only the process that holds it, by flock(2), reads the file and writes its successor. A
//! writer that is killed leaves an unlocked draft, which the next writer takes over, so there is never more than one.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::file::{Error, MAX_BYTES};

/// How long to wait for other writers: an update takes milliseconds, or seconds for the largest profiles.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two attempts to take the lock.
const LOOK: Duration = Duration::from_millis(2);
/// The most links to follow, as in the kernel.
const MOST_LINKS: usize = 40;

/// The right to replace a file. The file stays as it is unless [`Replacement::finish`] succeeds.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The file itself, with links resolved.
    target: PathBuf,
    draft: PathBuf,
    file: File,
    renamed: bool,
}

impl Replacement {
    /// Takes the lock for a file that the user has named. Follows symbolic links, so that they stay links.
    ///
    /// # Errors
    /// If `path` names a folder, a device or a pipe, a file or folder that may not be written, or another user's
    /// link in a shared folder; or if another writer holds the lock for a minute.
    pub(crate) fn begin(path: &Path) -> Result<Self, Error> {
        follow(path).and_then(Self::of).map_err(|why| cannot_write(path, &why))
    }

    /// Takes the lock for a file that the user has not named. A symbolic link is refused: what it leads to is none
    /// of this program's files.
    ///
    /// # Errors
    /// As [`Replacement::begin`], or if `path` names a link.
    pub(crate) fn begin_unnamed(path: &Path) -> Result<Self, Error> {
        Self::of(path.to_path_buf()).map_err(|why| cannot_write(path, &why))
    }

    fn of(target: PathBuf) -> Result<Self, String> {
        check_writable(&target)?;
        let name = target.file_name().ok_or("it names no file")?;
        let mut draft_name = std::ffi::OsString::from(".");
        draft_name.push(name);
        draft_name.push(".coho-draft");
        let draft = target.with_file_name(draft_name);
        let file = lock(&draft)?;
        Ok(Self { target, draft, file, renamed: false })
    }

    /// The file as it is now; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) fn earlier(&self) -> Result<Option<File>, Error> {
        match File::open(&self.target) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(&self.target, &error)),
        }
    }

    /// Replaces the file by what `write` writes. The file keeps its permissions, and its owner where the system
    /// allows that; other hard links keep the old content.
    ///
    /// # Errors
    /// If any step fails, or the file would be too large to read again; it is then unchanged.
    pub(crate) fn finish(
        mut self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.replace(write).map_err(|error| Error::io(&self.target, &error))
    }

    fn replace(&mut self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
        self.prepare()?;
        let mut out = BufWriter::with_capacity(1 << 16, &self.file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        if self.file.metadata()?.len() > MAX_BYTES {
            return Err(io::Error::other(format!("it would be larger than {} MiB", MAX_BYTES >> 20)));
        }
        self.publish()
    }

    /// An empty draft with the file's permissions.
    fn prepare(&self) -> io::Result<()> {
        // Before writing anything: the draft of a private file must be private too.
        if let Ok(earlier) = fs::symlink_metadata(&self.target).as_ref()
            && earlier.is_file()
        {
            inherit(&self.file, earlier)?;
        }
        // A killed writer may have left part of a draft.
        self.file.set_len(0)
    }

    /// Puts the draft in the file's place.
    fn publish(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.draft, &self.target)?;
        self.renamed = true;
        // So that the name survives a power cut. A folder without read permission cannot be synced, but the
        // file is there.
        match File::open(folder(&self.target)) {
            Ok(folder) => match folder.sync_all() {
                Err(error) if error.kind() != ErrorKind::InvalidInput => Err(error),
                _ => Ok(()),
            },
            Err(_) => Ok(()),
        }
    }
}

/// A file in the making that need not fit into memory. Nobody sees it until [`Growing::finish`] puts it in its place;
/// dropped before, it leaves the earlier file as it was.
#[derive(Debug)]
pub struct Growing {
    replacement: Replacement,
    out: BufWriter<File>,
}

impl Growing {
    /// Begins a file that the user has not named, such as one of several in a folder.
    ///
    /// # Errors
    /// If the file may not be written, or a symbolic link, a device or a pipe is in its place.
    pub fn begin_unnamed(path: &Path) -> Result<Self, Error> {
        let replacement = Replacement::begin_unnamed(path)?;
        let prepared = replacement.prepare().and_then(|()| replacement.file.try_clone());
        let file = prepared.map_err(|error| Error::io(path, &error))?;
        Ok(Self { replacement, out: BufWriter::with_capacity(1 << 16, file) })
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// If what was written last cannot be stored; the earlier file is then unchanged.
    pub fn finish(mut self) -> Result<(), Error> {
        let done = self.out.flush().and_then(|()| self.replacement.publish());
        done.map_err(|error| Error::io(&self.replacement.target, &error))
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.renamed {
            // Under the lock, nobody else's draft has this name.
            let _ = fs::remove_file(&self.draft);
        }
    }
}

fn cannot_write(path: &Path, why: &str) -> Error {
    Error::new(format!("cannot write {}: {why}", path.display()))
}

/// The folder that contains a path's last part.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// Follows symbolic links to the file, which need not exist.
fn follow(path: &Path) -> Result<PathBuf, String> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                check_link(&path, &metadata)?;
                let next = fs::read_link(&path).map_err(|error| error.to_string())?;
                path = folder(&path).join(next);
            }
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("too many symbolic links".into())
}

/// In a folder that everybody may write to, accepts only links of this user and of the folder's owner. This is the
/// kernel's rule (`fs.protected_symlinks`), which does not apply to a program that resolves links itself.
fn check_link(link: &Path, metadata: &Metadata) -> Result<(), String> {
    const STICKY_AND_SHARED: u32 = 0o1002;
    let parent = fs::metadata(folder(link)).map_err(|error| error.to_string())?;
    let shared = parent.mode() & STICKY_AND_SHARED == STICKY_AND_SHARED;
    let trusted = [rustix::process::geteuid().as_raw(), parent.uid()].contains(&metadata.uid());
    match shared && !trusted {
        true => Err("it is another user's symbolic link in a folder that everybody may write to".into()),
        false => Ok(()),
    }
}

/// Whether this is a regular file that may be written, or does not exist yet.
fn check_writable(target: &Path) -> Result<(), String> {
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_dir() => Err("it is a folder".into()),
        Ok(metadata) if metadata.is_symlink() => {
            Err("it is a symbolic link, which is followed only where you name it yourself".into())
        }
        Ok(metadata) if !metadata.is_file() => Err("it is a device or a pipe, not a regular file".into()),
        Ok(_) => rustix::fs::accessat(rustix::fs::CWD, target, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|error| io::Error::from(error).to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => match folder(target) {
            folder if folder.is_dir() => Ok(()),
            folder => Err(format!("there is no folder {}", folder.display())),
        },
        Err(error) => Err(error.to_string()),
    }
}

/// Creates the draft, or takes over one left by a killed writer, once no other writer holds it.
fn lock(draft: &Path) -> Result<File, String> {
    let end = Instant::now() + PATIENCE;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    loop {
        let file = options.open(draft).map_err(|error| format!("{}: {error}", draft.display()))?;
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err(format!("{} is in the way", draft.display()));
        }
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if !is_at(draft, &metadata) => {} // Its writer has renamed or removed it meanwhile.
            Ok(()) if is_private(&metadata) => return Ok(file),
            // A file that others could still write to must not become the profile.
            Ok(()) => fs::remove_file(draft).map_err(|error| format!("{}: {error}", draft.display()))?,
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => sleep(LOOK),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                return Err(format!("another process has been writing it for {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("it cannot be locked: {}", io::Error::from(error))),
        }
    }
}

/// Whether the name still refers to this file.
fn is_at(path: &Path, file: &Metadata) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (file.dev(), file.ino()))
}

/// Whether the draft belongs to this user and has no other hard link.
fn is_private(draft: &Metadata) -> bool {
    draft.uid() == rustix::process::geteuid().as_raw() && draft.nlink() == 1
}

/// Gives the draft the owner and permissions of the file that it replaces. Where the group cannot be kept, the draft
/// drops the group's permissions rather than granting them to another group.
fn inherit(draft: &File, earlier: &Metadata) -> io::Result<()> {
    let now = draft.metadata()?;
    let mut mode = earlier.mode() & 0o7777;
    if (now.uid(), now.gid()) != (earlier.uid(), earlier.gid()) {
        let kept = std::os::unix::fs::fchown(draft, Some(earlier.uid()), Some(earlier.gid()))
            .or_else(|_| std::os::unix::fs::fchown(draft, None, Some(earlier.gid())));
        if kept.is_err() {
            mode &= !Mode::RWXG.bits();
        }
    }
    draft.set_permissions(Permissions::from_mode(mode))
}
