//! Calls on a file in memory.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;

use coho_platform::pages::Pages;

use super::super::arch::{self, syscall};
use super::super::scratch::Scratch;
use super::super::subject::{Act, Buffer, MOST, On, Payload};
use super::table::Wanted;

/// Size of the file, which a batch of reads or writes passes over.
const FILE: usize = 1 << 20;
/// The most files open at once.
const MOST_OPEN: usize = 64;
/// Open files left to the rest of the process.
const SPARE: usize = 32;

/// An open file and a buffer.
struct Open {
    file: File,
    buffer: Pages,
    /// The size of the buffer.
    bytes: usize,
}

impl Open {
    fn new(scratch: &Scratch, bytes: usize) -> io::Result<Self> {
        let file = fill(scratch)?;
        let buffer = Pages::map(bytes).map_err(io::Error::other)?;
        buffer.touch();
        Ok(Self { file, buffer, bytes })
    }

    #[inline(always)]
    fn fd(&self) -> libc::c_int {
        self.file.as_raw_fd()
    }

    #[inline(always)]
    fn at(&self) -> *mut libc::c_void {
        self.buffer.start().as_ptr().cast()
    }

    /// The arguments of a system call that moves the buffer, at the beginning of the file if it takes an offset.
    #[inline(always)]
    fn arguments(&self) -> [usize; 6] {
        [self.fd() as usize, self.at() as usize, self.bytes, 0, 0, 0]
    }

    fn rewind(&mut self, _calls: usize) -> io::Result<()> {
        io::Seek::rewind(&mut self.file)
    }
}

/// Opens the file for reading and writing, creating it at its full size if it does not exist yet.
fn fill(scratch: &Scratch) -> io::Result<File> {
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(scratch.file())?;
    if file.metadata()?.len() != FILE as u64 {
        file.set_len(0)?;
        io::Write::write_all(&mut &file, &vec![b'x'; FILE])?;
    }
    Ok(file)
}

pub(super) fn path(scratch: &Scratch) -> io::Result<CString> {
    fill(scratch)?;
    Ok(CString::new(scratch.file().as_os_str().as_bytes())?)
}

/// What a call on an open file moves.
#[derive(Clone, Copy)]
enum Moves {
    Nothing,
    In,
    Out,
}

/// A call on an open file that stays at its beginning, or starts there with each batch.
fn on_file(
    wanted: &Wanted<'_>,
    moves: Moves,
    most: usize,
    library: impl Fn(&mut Open) -> isize + Send + 'static,
    bare: impl Fn(&mut Open) -> isize + Send + 'static,
) -> io::Result<Act> {
    // A call that takes no number of bytes has a buffer nevertheless.
    let open = Open::new(wanted.scratch, wanted.bytes.max(1))?;
    let buffer = Buffer::of(&open.buffer, open.bytes);
    let payload = match moves {
        Moves::Nothing => Payload::None,
        Moves::In => Payload::Taken(buffer),
        Moves::Out => Payload::Given(buffer),
    };
    let on = On::new(open).ready(Open::rewind).moving(payload);
    wanted.on(on, most, move |open, _| library(open), move |open, _| bare(open))
}

/// How many reads or writes of this size the file has room for.
fn room(bytes: usize) -> usize {
    (FILE / bytes).clamp(1, MOST)
}

pub(super) fn read(wanted: &Wanted<'_>) -> io::Result<Act> {
    on_file(
        wanted,
        Moves::In,
        room(wanted.bytes),
        // SAFETY: the buffer holds `bytes`.
        |open| unsafe { libc::read(open.fd(), open.at(), open.bytes) },
        // SAFETY: as above.
        |open| unsafe { syscall(libc::SYS_read, open.arguments()) },
    )
}

pub(super) fn write(wanted: &Wanted<'_>) -> io::Result<Act> {
    on_file(
        wanted,
        Moves::Out,
        room(wanted.bytes),
        // SAFETY: the buffer holds `bytes`.
        |open| unsafe { libc::write(open.fd(), open.at(), open.bytes) },
        // SAFETY: as above.
        |open| unsafe { syscall(libc::SYS_write, open.arguments()) },
    )
}

pub(super) fn pread(wanted: &Wanted<'_>) -> io::Result<Act> {
    on_file(
        wanted,
        Moves::In,
        MOST,
        // SAFETY: the buffer holds `bytes`.
        |open| unsafe { libc::pread(open.fd(), open.at(), open.bytes, 0) },
        // SAFETY: as above.
        |open| unsafe { syscall(libc::SYS_pread64, open.arguments()) },
    )
}

pub(super) fn pwrite(wanted: &Wanted<'_>) -> io::Result<Act> {
    on_file(
        wanted,
        Moves::Out,
        MOST,
        // SAFETY: the buffer holds `bytes`.
        |open| unsafe { libc::pwrite(open.fd(), open.at(), open.bytes, 0) },
        // SAFETY: as above.
        |open| unsafe { syscall(libc::SYS_pwrite64, open.arguments()) },
    )
}

pub(super) fn lseek(wanted: &Wanted<'_>) -> io::Result<Act> {
    on_file(
        wanted,
        Moves::Nothing,
        MOST,
        // SAFETY: no pointers.
        |open| unsafe { libc::lseek(open.fd(), 0, libc::SEEK_SET) as isize },
        // SAFETY: no pointers.
        |open| unsafe { syscall(libc::SYS_lseek, [open.fd() as usize, 0, libc::SEEK_SET as usize, 0, 0, 0]) },
    )
}

pub(super) fn fsync(wanted: &Wanted<'_>) -> io::Result<Act> {
    on_file(
        wanted,
        Moves::Nothing,
        MOST,
        // SAFETY: no pointers.
        |open| unsafe { libc::fsync(open.fd()) as isize },
        // SAFETY: no pointers.
        |open| unsafe { syscall(libc::SYS_fsync, [open.fd() as usize, 0, 0, 0, 0, 0]) },
    )
}

pub(super) fn stat(wanted: &Wanted<'_>) -> io::Result<Act> {
    wanted.on(
        On::new((path(wanted.scratch)?, MaybeUninit::uninit())),
        MOST,
        // SAFETY: the path ends with a zero and there is room for the answer.
        |(path, to), _| unsafe { libc::stat(path.as_ptr(), to.as_mut_ptr()) as isize },
        // SAFETY: as above.
        |(path, to), _| unsafe { arch::stat(path.as_ptr(), to.as_mut_ptr()) },
    )
}

const FLAGS: libc::c_int = libc::O_RDONLY | libc::O_CLOEXEC;

/// A file's name and its open descriptors.
struct Descriptors {
    path: CString,
    open: Vec<libc::c_int>,
}

impl Descriptors {
    fn new(scratch: &Scratch) -> io::Result<(Self, usize)> {
        let most = free_descriptors()?.saturating_sub(SPARE).min(MOST_OPEN);
        if most == 0 {
            let hint = "the limit of open files (ulimit -n) leaves no room to open and close in batches";
            return Err(io::Error::other(hint));
        }
        Ok((Self { path: path(scratch)?, open: Vec::with_capacity(MOST_OPEN) }, most))
    }

    fn open_all(&mut self, calls: usize) -> io::Result<()> {
        for _ in 0..calls {
            // SAFETY: the path ends with a zero.
            let fd = unsafe { libc::open(self.path.as_ptr(), FLAGS) };
            if fd < 0 {
                let error = io::Error::last_os_error();
                self.close_all()?;
                return Err(error);
            }
            self.open.push(fd);
        }
        Ok(())
    }

    fn close_all(&mut self) -> io::Result<()> {
        for fd in self.open.drain(..).filter(|&fd| fd >= 0) {
            // SAFETY: a descriptor of this value's own; nobody uses it any more.
            unsafe { libc::close(fd) };
        }
        Ok(())
    }

    /// A descriptor to close, which no longer belongs to this value.
    #[inline(always)]
    fn take(&mut self, index: usize) -> libc::c_int {
        std::mem::replace(&mut self.open[index], -1)
    }
}

/// How many more files the process may open.
fn free_descriptors() -> io::Result<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let open = std::fs::read_dir("/proc/self/fd")?.count();
    Ok(usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).saturating_sub(open))
}

/// Opens files; they are closed between batches.
pub(super) fn open(wanted: &Wanted<'_>) -> io::Result<Act> {
    let (files, most) = Descriptors::new(wanted.scratch)?;
    wanted.on(
        On::new(files).clean(Descriptors::close_all),
        most,
        |files, _| {
            // SAFETY: the path ends with a zero.
            let fd = unsafe { libc::open(files.path.as_ptr(), FLAGS) };
            files.open.push(fd);
            fd as isize
        },
        |files, _| {
            // SAFETY: the path ends with a zero.
            let fd = unsafe { arch::open(files.path.as_ptr(), FLAGS) };
            files.open.push(fd.max(-1) as libc::c_int);
            fd
        },
    )
}

/// Closes files that were opened before the batch. If a copy of the process makes the calls, the clean-up closes the
/// rest here.
pub(super) fn close(wanted: &Wanted<'_>) -> io::Result<Act> {
    let (files, most) = Descriptors::new(wanted.scratch)?;
    wanted.on(
        On::new(files).ready(Descriptors::open_all).clean(Descriptors::close_all),
        most,
        // SAFETY: each descriptor was opened for this and is closed once.
        |files, index| unsafe { libc::close(files.take(index)) as isize },
        // SAFETY: as above.
        |files, index| unsafe { syscall(libc::SYS_close, [files.take(index) as usize, 0, 0, 0, 0, 0]) },
    )
}
