//! A command's standard input, and what is left of it for a command that runs several times.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

/// Where a command's standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Input {
    /// The caller's.
    #[default]
    Inherited,
    /// Nowhere.
    Nowhere,
    /// The file that is the caller's standard input, opened anew for each run and read from this byte on, so that no
    /// run takes anything from the next.
    Again(u64),
}

/// Why several runs cannot each read the caller's standard input.
#[derive(Debug)]
#[non_exhaustive]
pub enum NoInput {
    /// It is a terminal.
    Terminal,
    /// It is a pipe or a socket: what one run reads is gone.
    Stream,
    /// It is a file that cannot be opened again.
    File(io::Error),
}

impl fmt::Display for NoInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal => f.write_str("standard input is a terminal"),
            Self::Stream => f.write_str("standard input is a pipe, which only one run could read"),
            Self::File(error) => write!(f, "standard input cannot be opened again: {error}"),
        }
    }
}

/// The caller's standard input, by a number that stays the same however the process is called.
const PATH: &str = "/proc/self/fd/0";
const STDIN: RawFd = 0;

impl Input {
    /// What each of several runs may read, and why it is nothing if the caller's standard input may hold something.
    pub fn of_each_run() -> (Self, Option<NoInput>) {
        let Some(kind) = kind() else { return (Self::Nowhere, None) };
        match kind {
            libc::S_IFREG | libc::S_IFBLK => match (position(), File::open(PATH)) {
                (Ok(at), Ok(_)) => (Self::Again(at), None),
                (Err(error), _) | (_, Err(error)) => (Self::Nowhere, Some(NoInput::File(error))),
            },
            // SAFETY: no pointers.
            libc::S_IFCHR if unsafe { libc::isatty(STDIN) } == 1 => (Self::Nowhere, Some(NoInput::Terminal)),
            // A device such as /dev/null and /dev/zero is read by any number of runs.
            libc::S_IFCHR => (Self::Inherited, None),
            libc::S_IFIFO | libc::S_IFSOCK => (Self::Nowhere, Some(NoInput::Stream)),
            _ => (Self::Nowhere, None),
        }
    }

    /// Opens the caller's file for one run.
    pub(super) fn opened_at(position: u64) -> io::Result<File> {
        let mut file = File::open(PATH)?;
        file.seek(SeekFrom::Start(position))?;
        Ok(file)
    }
}

/// The kind of file that standard input is; `None` if it is closed or cannot be read.
fn kind() -> Option<libc::mode_t> {
    let mut found = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the structure, of which zeroes are a valid state; no other pointers.
    let (kind, flags) = unsafe {
        if libc::fstat(STDIN, found.as_mut_ptr()) != 0 {
            return None;
        }
        (found.assume_init().st_mode & libc::S_IFMT, libc::fcntl(STDIN, libc::F_GETFL))
    };
    (flags >= 0 && flags & libc::O_ACCMODE != libc::O_WRONLY).then_some(kind)
}

fn position() -> io::Result<u64> {
    // SAFETY: no pointers.
    let at = unsafe { libc::lseek(STDIN, 0, libc::SEEK_CUR) };
    u64::try_from(at).map_err(|_| io::Error::last_os_error())
}
