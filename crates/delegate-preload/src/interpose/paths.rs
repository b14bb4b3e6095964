//! Calls on paths.

use coho_delegate::Request;
use libc::{AT_FDCWD, AT_REMOVEDIR, AT_SYMLINK_NOFOLLOW, c_char, c_int, c_long, mode_t};

use super::{argument, give, standing_before};
use crate::calls::Call;
use crate::delegation::{away, cancellation_point, delegates, stays_home};
use crate::descriptors::is_new;
use crate::readable::starts_with;
use crate::real::real;
use crate::sharing::look_at_descriptors;
use crate::write_queue::drain;

type Status = libc::stat;

/// What stands there depends on the thread that asks, or may, where there are several ways to write it. A path that leads
/// there through a link has the host's.
const OWN: [&[u8]; 3] = [b"/proc", b"//", b"thread-self"];
/// An answer that no call gives.
const MAY_WAIT: isize = isize::MIN;

/// Whether a path can be read so far, and means the same to every thread.
fn is_common(path: *const c_char) -> bool {
    OWN.iter().all(|own| starts_with(path as usize, own) == Some(false))
}

unsafe fn on_paths(
    call: Call,
    number: c_long,
    paths: &[*const c_char],
    arguments: [usize; 5],
) -> Option<c_int> {
    drain();
    if stays_home(call, 0) || !delegates(call, 0) || !paths.iter().all(|&path| is_common(path)) {
        return None;
    }
    let [a, b, c, d, e] = arguments;
    // SAFETY: the caller's promises are handed on.
    unsafe { away(call, Request::system(number, [a, b, c, d, e, 0])) }.map(|answer| give(answer) as c_int)
}

/// Defines functions that have a host make the call, or else the C library, from their arguments and the kernel's.
macro_rules! on_paths {
    ($($call:ident $number:ident $name:ident($($argument:ident: $kind:ty),*): [$($path:expr),+], $arguments:expr;)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            // SAFETY: the caller's promises are handed on.
            let answer = unsafe { on_paths(Call::$call, libc::$number, &[$($path),+], $arguments) };
            // SAFETY: as above.
            answer.unwrap_or_else(|| unsafe { real!($name($($argument),*; $($kind),*) -> c_int) })
        }
    )+ };
}

const HERE: usize = AT_FDCWD as isize as usize;

on_paths! {
    Stat SYS_newfstatat stat(path: *const c_char, status: *mut Status):
        [path], [HERE, path as usize, status as usize, 0, 0];
    Stat SYS_newfstatat stat64(path: *const c_char, status: *mut Status):
        [path], [HERE, path as usize, status as usize, 0, 0];
    Stat SYS_newfstatat lstat(path: *const c_char, status: *mut Status):
        [path], [HERE, path as usize, status as usize, AT_SYMLINK_NOFOLLOW as usize, 0];
    Stat SYS_newfstatat lstat64(path: *const c_char, status: *mut Status):
        [path], [HERE, path as usize, status as usize, AT_SYMLINK_NOFOLLOW as usize, 0];
    Stat SYS_newfstatat fstatat(folder: c_int, path: *const c_char, status: *mut Status, flags: c_int):
        [path], [argument(folder), path as usize, status as usize, argument(flags), 0];
    Stat SYS_newfstatat fstatat64(folder: c_int, path: *const c_char, status: *mut Status, flags: c_int):
        [path], [argument(folder), path as usize, status as usize, argument(flags), 0];
    Stat SYS_statx statx(folder: c_int, path: *const c_char, flags: c_int, mask: u32, status: *mut libc::c_void):
        [path], [argument(folder), path as usize, argument(flags), mask as usize, status as usize];
    Access SYS_faccessat access(path: *const c_char, mode: c_int):
        [path], [HERE, path as usize, argument(mode), 0, 0];
    Rename SYS_renameat2 rename(from: *const c_char, to: *const c_char):
        [from, to], [HERE, from as usize, HERE, to as usize, 0];
    Rename SYS_renameat2 renameat(a: c_int, from: *const c_char, b: c_int, to: *const c_char):
        [from, to], [argument(a), from as usize, argument(b), to as usize, 0];
    Unlink SYS_unlinkat unlink(path: *const c_char): [path], [HERE, path as usize, 0, 0, 0];
    Unlink SYS_unlinkat unlinkat(folder: c_int, path: *const c_char, flags: c_int):
        [path], [argument(folder), path as usize, argument(flags), 0, 0];
    Mkdir SYS_mkdirat mkdir(path: *const c_char, mode: mode_t):
        [path], [HERE, path as usize, mode as usize, 0, 0];
    Mkdir SYS_mkdirat mkdirat(folder: c_int, path: *const c_char, mode: mode_t):
        [path], [argument(folder), path as usize, mode as usize, 0, 0];
    Rmdir SYS_unlinkat rmdir(path: *const c_char): [path], [HERE, path as usize, AT_REMOVEDIR as usize, 0, 0];
}

/// Opens a path, unless that may block, as opening a FIFO does until somebody opens its other end.
unsafe fn open_at_once([folder, path, flags, mode, _]: [usize; 5]) -> isize {
    // SAFETY: zeroed values are valid, and the kernel writes there alone; the caller's promises are handed on.
    unsafe {
        let mut status: Status = std::mem::zeroed();
        let look = [folder, path, (&raw mut status) as usize, 0, 0, 0];
        let exists = Request::system(libc::SYS_newfstatat, look).execute().result().is_ok();
        let kind = status.st_mode & libc::S_IFMT;
        if exists && kind != libc::S_IFREG && kind != libc::S_IFDIR {
            return MAY_WAIT;
        }
        Request::system(libc::SYS_openat, [folder, path, flags, mode, 0, 0]).execute().raw()
    }
}

/// As `openat`; `None`: at home.
unsafe fn open_away(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> Option<c_int> {
    drain();
    if stays_home(Call::Open, 0) || !delegates(Call::Open, 0) || !is_common(path) || !look_at_descriptors() {
        return None;
    }
    cancellation_point();
    let arguments = [argument(folder), path as usize, argument(flags | libc::O_LARGEFILE), mode as usize, 0];
    // SAFETY: the caller's promises are handed on.
    let answer = unsafe { away(Call::Open, Request::function(open_at_once, arguments)) };
    answer.filter(|&answer| answer != MAY_WAIT).map(|answer| give(answer) as c_int)
}

/// Functions that take a mode where the flags make a file; where they do not, the argument is anything.
macro_rules! open {
    ($($name:ident($($argument:ident: $kind:ty),*): $folder:expr, $path:expr, $flags:expr, $mode:expr;)+) => {
        standing_before! { $(
            fn $name($($argument: $kind),*) -> c_int {
                // SAFETY: the caller's promises are handed on.
                let answer = unsafe { open_away($folder, $path, $flags, $mode) };
                let descriptor = match answer {
                    Some(descriptor) => descriptor,
                    // SAFETY: as above. What takes arguments as they come is called alike on these architectures.
                    None => unsafe { real!($name($($argument),*; $($kind),*) -> c_int) },
                };
                is_new(descriptor);
                descriptor
            }
        )+ }
    };
}

/// The mode, if there is one.
fn mode_of(flags: c_int, mode: mode_t) -> mode_t {
    let makes = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    if makes { mode } else { 0 }
}

open! {
    open(path: *const c_char, flags: c_int, mode: mode_t): AT_FDCWD, path, flags, mode_of(flags, mode);
    open64(path: *const c_char, flags: c_int, mode: mode_t): AT_FDCWD, path, flags, mode_of(flags, mode);
    openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t): folder, path, flags, mode_of(flags, mode);
    openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t): folder, path, flags, mode_of(flags, mode);
    creat(path: *const c_char, mode: mode_t): AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode;
    creat64(path: *const c_char, mode: mode_t): AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode;
}
