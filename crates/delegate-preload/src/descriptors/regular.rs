//! Which descriptors are regular files.
//!
//! What a descriptor was, it is until it is closed. Everything that closes descriptors tells.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

use coho_delegate::Request;
use libc::{c_int, rlimit64, stat, statfs};

use super::{MOST, errors};
use crate::{sharing, state};

/// File systems whose files are not files to whoever reads or writes them: the kernel makes up their contents, partly for the
/// thread that asks, or takes writes as commands to be answered at once; or a process does so, for whom a signal must be able
/// to interrupt. Debugfs, tracefs, proc, sysfs, configfs, both versions of cgroups, securityfs, SELinux's, bpf, EFI's
/// variables, FUSE.
const SPECIAL: [u32; 12] = [
    0x6462_6720,
    0x7472_6163,
    0x9fa0,
    0x6265_6572,
    0x6265_6570,
    0x0027_e0eb,
    0x6367_7270,
    0x7363_6673,
    0xf97c_ff8c,
    0xcafe_4a11,
    0xde5e_81e4,
    0x6573_5546,
];

/// What is known of each: the age in which it was learnt, and how far it is a file.
static KNOWN: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
/// From 1; a new one forgets all.
static AGE: AtomicU32 = AtomicU32::new(1);

const KIND_BITS: u32 = 3;
const REGULAR: u32 = 1;
/// Writes may be done later as well: the descriptor is open for writing, nothing asks for the data to be on its way when the
/// call returns, and no limit of the process's can turn a write into a signal.
const WRITES_LATER: u32 = 2;
/// It is open, whatever it is.
const LOOKED_AT: u32 = 4;

/// Whether a descriptor is open, and a regular file.
#[inline(always)]
pub fn is_regular(descriptor: c_int) -> bool {
    kind(descriptor) & REGULAR != 0
}

/// Whether it is one that may be written to later.
#[inline(always)]
pub fn writes_later(descriptor: c_int) -> bool {
    kind(descriptor) & WRITES_LATER != 0
}

/// Whether it has been found to be a regular file.
pub fn is_known_regular(descriptor: c_int) -> bool {
    known(descriptor).is_some_and(|known| {
        let seen = known.load(Relaxed);
        seen >> KIND_BITS == AGE.load(Relaxed) && seen & REGULAR != 0
    })
}

/// Whether it has been looked at, as one that hosts have as well.
#[inline(always)]
pub fn is_common(descriptor: c_int) -> bool {
    kind(descriptor) & LOOKED_AT != 0
}

fn known(descriptor: c_int) -> Option<&'static AtomicU32> {
    KNOWN.get(usize::try_from(descriptor).ok()?)
}

#[inline(always)]
fn kind(descriptor: c_int) -> u32 {
    let Some(known) = known(descriptor) else { return 0 };
    let (age, seen) = (AGE.load(Acquire), known.load(Relaxed));
    if seen >> KIND_BITS == age {
        return seen;
    }
    // A child in its parent's memory has other descriptors.
    if state::is_vforked() {
        return 0;
    }
    if !sharing::look_at_descriptors() {
        return 0;
    }
    let Some(kind) = look(descriptor, state::may_write_later()) else { return 0 };
    let kind = kind | LOOKED_AT;
    known.store(age << KIND_BITS | kind, Relaxed);
    kind
}

/// Asks the kernel, and for writes that may be done later only if `later`; `errno` is not touched. `None`: it is not open.
#[cold]
fn look(descriptor: c_int, later: bool) -> Option<u32> {
    let ask = |number, arguments: [usize; 4]| {
        let [a, b, c, d] = arguments;
        // SAFETY: zeroed values below are valid, and the kernel writes there alone.
        unsafe { Request::system(number, [a, b, c, d, 0, 0]).execute().result() }
    };
    // SAFETY: as above.
    let (mut status, mut limit, mut system): (stat, rlimit64, statfs) = unsafe { std::mem::zeroed() };
    let descriptor = descriptor as usize;
    let looked = ask(libc::SYS_fstat, [descriptor, (&raw mut status) as usize, 0, 0]);
    looked.ok()?;
    if status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Some(0);
    }
    // File systems without a disk have no major number.
    if libc::major(status.st_dev) == 0
        && (ask(libc::SYS_fstatfs, [descriptor, (&raw mut system) as usize, 0, 0]).is_err()
            || SPECIAL.contains(&(system.f_type as u32)))
    {
        return Some(0);
    }
    if !later {
        return Some(REGULAR);
    }
    let flags = ask(libc::SYS_fcntl, [descriptor, libc::F_GETFL as usize, 0, 0]).unwrap_or(0) as c_int;
    let limited = ask(libc::SYS_prlimit64, [0, libc::RLIMIT_FSIZE as usize, 0, (&raw mut limit) as usize])
        .is_err()
        || limit.rlim_cur != libc::RLIM64_INFINITY;
    let at_once = flags & (libc::O_DSYNC | libc::O_SYNC | libc::O_DIRECT | libc::O_PATH) != 0;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    let is_later = writes && !at_once && !limited && !is_shared(&status);
    Some(if is_later { REGULAR | WRITES_LATER } else { REGULAR })
}

/// It is about to be closed.
pub fn forget(descriptor: c_int) {
    if let Some(known) = known(descriptor) {
        known.store(0, Relaxed);
        errors::close(descriptor);
    }
}

/// It has just been opened: what had its number may have been closed unseen, or in another thread's table.
pub fn is_new(descriptor: c_int) {
    if let Some(known) = known(descriptor)
        && !state::is_vforked()
    {
        known.store(0, Relaxed);
    }
}

/// Any may be closed.
pub fn forget_all() {
    AGE.fetch_add(1, AcqRel);
}

/// Files that memory shows: each a device and an inode.
static SHARED: [[AtomicU64; 2]; 64] = [const { [const { AtomicU64::new(0) }; 2] }; 64];
static SHARED_COUNT: AtomicUsize = AtomicUsize::new(0);

fn is_shared(status: &stat) -> bool {
    let count = SHARED_COUNT.load(Relaxed).min(SHARED.len());
    SHARED[..count]
        .iter()
        .any(|file| file[0].load(Relaxed) == status.st_dev && file[1].load(Relaxed) == status.st_ino)
}

/// Memory is to show a descriptor's file: it is not written to later any more. Whether there is room to remember it.
pub fn share(descriptor: c_int) -> bool {
    // SAFETY: zeroed values are valid, and the kernel writes there alone.
    let (status, asked) = unsafe {
        let mut status: stat = std::mem::zeroed();
        let look = [descriptor as usize, (&raw mut status) as usize, 0, 0, 0, 0];
        let asked = Request::system(libc::SYS_fstat, look).execute();
        (status, asked)
    };
    if asked.result().is_err() || is_shared(&status) {
        return true;
    }
    let place = SHARED.get(SHARED_COUNT.fetch_add(1, Relaxed));
    if let Some(file) = place {
        file[0].store(status.st_dev, Relaxed);
        file[1].store(status.st_ino, Relaxed);
    }
    forget_all();
    place.is_some()
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, IntoRawFd};

    use super::*;

    #[test]
    fn regular_files_alone_are_known() {
        let file = tempfile::tempfile().unwrap();
        assert!(is_regular(file.as_raw_fd()) && is_regular(file.as_raw_fd()));
        let (read, write) = std::io::pipe().unwrap();
        for other in [read.as_raw_fd(), write.as_raw_fd(), read.as_raw_fd(), -1, 4095, 4096, c_int::MAX] {
            assert!(!is_regular(other) && !is_known_regular(other), "{other}");
        }
        let number = file.into_raw_fd();
        // SAFETY: the test's own.
        unsafe { libc::close(number) };
        forget(number);
        assert!(!is_regular(number));
    }

    #[test]
    fn what_must_be_done_at_once_is() {
        use std::os::unix::fs::OpenOptionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let open = |flags, write| {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).write(write).create(write).custom_flags(flags).open(&path).unwrap()
        };
        let kind = |file: &std::fs::File| look(file.as_raw_fd(), true);
        assert_eq!(kind(&open(0, true)), Some(REGULAR | WRITES_LATER));
        for file in [open(libc::O_SYNC, true), open(libc::O_DSYNC, true), open(0, false)] {
            assert_eq!(kind(&file), Some(REGULAR));
        }
        assert_eq!(look(open(0, true).as_raw_fd(), false), Some(REGULAR));
    }
}
