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
use super::super::subject::{Body, Buffer, Payload, With};
use super::{Bounded, MOST};

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
}

impl Open {
    fn new(scratch: &Scratch, bytes: usize) -> io::Result<Self> {
        let file = fill(scratch)?;
        let buffer = Pages::map(bytes).map_err(io::Error::other)?;
        buffer.touch();
        Ok(Self { file, buffer })
    }

    #[inline(always)]
    fn fd(&self) -> libc::c_int {
        self.file.as_raw_fd()
    }

    #[inline(always)]
    fn at(&self) -> *mut libc::c_void {
        self.buffer.start().as_ptr().cast()
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
    In(usize),
    Out(usize),
}

/// A call on an open file, and what it moves.
struct OnFile<B> {
    body: B,
    payload: Payload,
}

impl<B: Body> Body for OnFile<B> {
    fn ready(&mut self, calls: usize) -> io::Result<()> {
        self.body.ready(calls)
    }

    fn run(&mut self, calls: usize) -> isize {
        self.body.run(calls)
    }

    fn one(&mut self, index: usize) -> isize {
        self.body.one(index)
    }

    fn clean(&mut self) -> io::Result<()> {
        self.body.clean()
    }

    fn payload(&self) -> Payload {
        self.payload
    }
}

/// A call on an open file that stays at its beginning, or starts there with each batch.
fn on_file(
    scratch: &Scratch,
    moves: Moves,
    most: usize,
    call: impl Fn(&mut Open, usize) -> isize + Send + 'static,
) -> io::Result<Bounded> {
    let bytes = match moves {
        Moves::Nothing => 1,
        Moves::In(bytes) | Moves::Out(bytes) => bytes,
    };
    let state = Open::new(scratch, bytes)?;
    let buffer = Buffer::of(&state.buffer, bytes);
    let payload = match moves {
        Moves::Nothing => Payload::None,
        Moves::In(_) => Payload::Taken(buffer),
        Moves::Out(_) => Payload::Given(buffer),
    };
    let body = With { state, ready: Open::rewind, call, clean: |_| Ok(()) };
    Ok(Bounded { most, body: Box::new(OnFile { body, payload }) })
}

/// How many reads or writes of this size the file has room for.
fn room(bytes: usize) -> usize {
    (FILE / bytes).clamp(1, MOST)
}

pub(super) fn read(scratch: &Scratch, bytes: usize, wrapped: bool) -> io::Result<Bounded> {
    if wrapped {
        // SAFETY: the buffer holds `bytes`.
        on_file(scratch, Moves::In(bytes), room(bytes), move |open, _| unsafe {
            libc::read(open.fd(), open.at(), bytes)
        })
    } else {
        on_file(scratch, Moves::In(bytes), room(bytes), move |open, _| {
            // SAFETY: the buffer holds `bytes`.
            unsafe { syscall(libc::SYS_read, [open.fd() as usize, open.at() as usize, bytes, 0, 0, 0]) }
        })
    }
}

pub(super) fn write(scratch: &Scratch, bytes: usize, wrapped: bool) -> io::Result<Bounded> {
    if wrapped {
        // SAFETY: the buffer holds `bytes`.
        on_file(scratch, Moves::Out(bytes), room(bytes), move |open, _| unsafe {
            libc::write(open.fd(), open.at(), bytes)
        })
    } else {
        on_file(scratch, Moves::Out(bytes), room(bytes), move |open, _| {
            // SAFETY: the buffer holds `bytes`.
            unsafe { syscall(libc::SYS_write, [open.fd() as usize, open.at() as usize, bytes, 0, 0, 0]) }
        })
    }
}

pub(super) fn pread(scratch: &Scratch, bytes: usize, wrapped: bool) -> io::Result<Bounded> {
    if wrapped {
        // SAFETY: the buffer holds `bytes`.
        on_file(scratch, Moves::In(bytes), MOST, move |open, _| unsafe {
            libc::pread(open.fd(), open.at(), bytes, 0)
        })
    } else {
        on_file(scratch, Moves::In(bytes), MOST, move |open, _| {
            // SAFETY: the buffer holds `bytes`.
            unsafe { syscall(libc::SYS_pread64, [open.fd() as usize, open.at() as usize, bytes, 0, 0, 0]) }
        })
    }
}

pub(super) fn pwrite(scratch: &Scratch, bytes: usize, wrapped: bool) -> io::Result<Bounded> {
    if wrapped {
        // SAFETY: the buffer holds `bytes`.
        on_file(scratch, Moves::Out(bytes), MOST, move |open, _| unsafe {
            libc::pwrite(open.fd(), open.at(), bytes, 0)
        })
    } else {
        on_file(scratch, Moves::Out(bytes), MOST, move |open, _| {
            // SAFETY: the buffer holds `bytes`.
            unsafe { syscall(libc::SYS_pwrite64, [open.fd() as usize, open.at() as usize, bytes, 0, 0, 0]) }
        })
    }
}

pub(super) fn lseek(scratch: &Scratch, wrapped: bool) -> io::Result<Bounded> {
    if wrapped {
        // SAFETY: no pointers.
        on_file(scratch, Moves::Nothing, MOST, |open, _| unsafe {
            libc::lseek(open.fd(), 0, libc::SEEK_SET) as isize
        })
    } else {
        on_file(scratch, Moves::Nothing, MOST, |open, _| {
            let start = libc::SEEK_SET as usize;
            // SAFETY: no pointers.
            unsafe { syscall(libc::SYS_lseek, [open.fd() as usize, 0, start, 0, 0, 0]) }
        })
    }
}

pub(super) fn fsync(scratch: &Scratch, wrapped: bool) -> io::Result<Bounded> {
    if wrapped {
        // SAFETY: no pointers.
        on_file(scratch, Moves::Nothing, MOST, |open, _| unsafe { libc::fsync(open.fd()) as isize })
    } else {
        // SAFETY: no pointers.
        on_file(scratch, Moves::Nothing, MOST, |open, _| unsafe {
            syscall(libc::SYS_fsync, [open.fd() as usize, 0, 0, 0, 0, 0])
        })
    }
}

pub(super) fn stat(scratch: &Scratch, wrapped: bool) -> io::Result<Bounded> {
    type State = (CString, MaybeUninit<libc::stat>);
    fn body(state: State, call: impl Fn(&mut State, usize) -> isize + Send + 'static) -> Box<dyn Body> {
        Box::new(With { state, ready: |_, _| Ok(()), call, clean: |_| Ok(()) })
    }
    let state = (path(scratch)?, MaybeUninit::uninit());
    Ok(if wrapped {
        // SAFETY: the path ends with a zero and there is room for the answer.
        body(state, |(path, to), _| unsafe { libc::stat(path.as_ptr(), to.as_mut_ptr()) as isize }).into()
    } else {
        // SAFETY: as above.
        body(state, |(path, to), _| unsafe { arch::stat(path.as_ptr(), to.as_mut_ptr()) }).into()
    })
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
pub(super) fn open(scratch: &Scratch, wrapped: bool) -> io::Result<Bounded> {
    fn body(
        (state, most): (Descriptors, usize),
        call: impl Fn(&mut Descriptors, usize) -> isize + Send + 'static,
    ) -> Bounded {
        let body = With { state, ready: |_, _| Ok(()), call, clean: Descriptors::close_all };
        Bounded { most, body: Box::new(body) }
    }
    let state = Descriptors::new(scratch)?;
    Ok(if wrapped {
        body(state, |files, _| {
            // SAFETY: the path ends with a zero.
            let fd = unsafe { libc::open(files.path.as_ptr(), FLAGS) };
            files.open.push(fd);
            fd as isize
        })
    } else {
        body(state, |files, _| {
            // SAFETY: the path ends with a zero.
            let fd = unsafe { arch::open(files.path.as_ptr(), FLAGS) };
            files.open.push(fd.max(-1) as libc::c_int);
            fd
        })
    })
}

/// Closes files that were opened before the batch. If a copy of the process makes the calls, the clean-up closes the
/// rest here.
pub(super) fn close(scratch: &Scratch, wrapped: bool) -> io::Result<Bounded> {
    fn body(
        (state, most): (Descriptors, usize),
        call: impl Fn(&mut Descriptors, usize) -> isize + Send + 'static,
    ) -> Bounded {
        let body = With { state, ready: Descriptors::open_all, call, clean: Descriptors::close_all };
        Bounded { most, body: Box::new(body) }
    }
    let state = Descriptors::new(scratch)?;
    Ok(if wrapped {
        // SAFETY: each descriptor was opened for this and is closed once.
        body(state, |files, index| unsafe { libc::close(files.take(index)) as isize })
    } else {
        // SAFETY: as above.
        body(state, |files, index| unsafe {
            syscall(libc::SYS_close, [files.take(index) as usize, 0, 0, 0, 0, 0])
        })
    })
}
