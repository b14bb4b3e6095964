//! Which descriptors are regular files.
//!
//! A descriptor that was one is one until it is closed. Everything that closes descriptors tells.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use libc::c_int;

/// Those above are not delegated.
const MOST: usize = 4096;

/// The age in which it was found to be a regular file.
static REGULAR: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
/// From 1; a new one forgets all.
static AGE: AtomicU32 = AtomicU32::new(1);

/// Whether a descriptor is open, and a regular file.
#[inline(always)]
pub fn is_regular(descriptor: c_int) -> bool {
    let Some(known) = usize::try_from(descriptor).ok().and_then(|index| REGULAR.get(index)) else {
        return false;
    };
    let age = AGE.load(Relaxed);
    known.load(Relaxed) == age || look(descriptor, known, age)
}

/// Whether it has been found to be one.
pub fn is_known_regular(descriptor: c_int) -> bool {
    let known = usize::try_from(descriptor).ok().and_then(|index| REGULAR.get(index));
    known.is_some_and(|known| known.load(Relaxed) == AGE.load(Relaxed))
}

#[cold]
fn look(descriptor: c_int, known: &AtomicU32, age: u32) -> bool {
    // SAFETY: zeroed values are valid, and the kernel writes there alone. `errno` is not touched.
    let mode = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let at = (&raw mut status) as usize;
        let asked = coho_delegate::Request::system(libc::SYS_fstat, [descriptor as usize, at, 0, 0, 0, 0]);
        asked.execute().result().map(|_| status.st_mode)
    };
    let is_regular = mode.is_ok_and(|mode| mode & libc::S_IFMT == libc::S_IFREG);
    if is_regular {
        known.store(age, Relaxed);
    }
    is_regular
}

/// It is about to be closed.
pub fn forget(descriptor: c_int) {
    if let Some(known) = usize::try_from(descriptor).ok().and_then(|index| REGULAR.get(index)) {
        known.store(0, Relaxed);
    }
}

/// Any may be closed.
pub fn forget_all() {
    AGE.fetch_add(1, Relaxed);
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
        for other in [read.as_raw_fd(), write.as_raw_fd(), -1, 4095, 4096, c_int::MAX] {
            assert!(!is_regular(other), "{other}");
        }
        let number = file.into_raw_fd();
        // SAFETY: the test's own.
        unsafe { libc::close(number) };
        forget(number);
        assert!(!is_regular(number));
    }
}
