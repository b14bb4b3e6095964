//! Whether the calling thread still has what hosts have. Instructions that enter the kernel without the C library are not seen,
//! so this is looked at now and then: descriptors whenever one is used that is not known, folders when one is changed, and all
//! of it, with the rights, after some calls.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use coho_delegate::Request;
use libc::c_long;

use crate::{ending, hosts};

/// A thread's calls that hosts execute between two looks at everything.
pub const LOOK: u64 = 4096;

const KCMP_FILES: usize = 2;
const KCMP_FS: usize = 3;

/// A filter of system calls may end a process that asks for what it does not expect: so nothing is asked where there was one.
static MAY_COMPARE: AtomicBool = AtomicBool::new(false);

/// What the kernel asks of a thread before it lets it have a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights {
    /// Real, effective, saved; those of file systems.
    users: [u32; 4],
    groups: [u32; 4],
    /// Effective, permitted and inheritable, in two parts each.
    capabilities: [u32; 6],
    no_new_privileges: isize,
    filtered: isize,
    /// The mount namespace.
    mounts: (u64, u64),
}

/// When the library is loaded.
pub fn begin() {
    let filtered = ask(libc::SYS_prctl, [libc::PR_GET_SECCOMP as usize, 0, 0, 0, 0]);
    MAY_COMPARE.store(filtered == 0, Relaxed);
}

fn ask(number: c_long, [a, b, c, d, e]: [usize; 5]) -> isize {
    // SAFETY: the kernel writes where the callers have made room.
    unsafe { Request::system(number, [a, b, c, d, e, 0]).execute() }.raw()
}

/// The kernel's number of the calling thread; `gettid` is missing before glibc 2.30.
pub fn own_thread() -> usize {
    ask(libc::SYS_gettid, [0; 5]) as usize
}

impl Rights {
    /// The calling thread's.
    pub fn now() -> Self {
        const VERSION_3: u32 = 0x2008_0522;
        const ASKS: usize = u32::MAX as usize;
        let mut now = Self::default();
        let three = |number, ids: &mut [u32; 4]| {
            let [at, next, last] = [0, 1, 2].map(|place| (&raw mut ids[place]) as usize);
            ask(number, [at, next, last, 0, 0]);
        };
        three(libc::SYS_getresuid, &mut now.users);
        three(libc::SYS_getresgid, &mut now.groups);
        now.users[3] = ask(libc::SYS_setfsuid, [ASKS, 0, 0, 0, 0]) as u32;
        now.groups[3] = ask(libc::SYS_setfsgid, [ASKS, 0, 0, 0, 0]) as u32;
        let header = [VERSION_3, 0];
        ask(libc::SYS_capget, [header.as_ptr() as usize, now.capabilities.as_mut_ptr() as usize, 0, 0, 0]);
        now.no_new_privileges = ask(libc::SYS_prctl, [libc::PR_GET_NO_NEW_PRIVS as usize, 0, 0, 0, 0]);
        now.filtered = ask(libc::SYS_prctl, [libc::PR_GET_SECCOMP as usize, 0, 0, 0, 0]);
        now.mounts = mounts();
        now
    }
}

/// The calling thread's mount namespace; zeros if it is not known.
fn mounts() -> (u64, u64) {
    // SAFETY: zeroed values are valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    let path = c"/proc/thread-self/ns/mnt".as_ptr() as usize;
    let arguments = [libc::AT_FDCWD as isize as usize, path, (&raw mut status) as usize, 0, 0];
    let answer = ask(libc::SYS_newfstatat, arguments);
    if answer == 0 { (status.st_dev, status.st_ino) } else { (0, 0) }
}

/// Whether the calling thread has what hosts have of this kind; without hosts, or where the kernel does not say, it has.
fn is_shared(kind: usize) -> bool {
    let host = hosts::thread_number();
    if host == 0 || !MAY_COMPARE.load(Relaxed) {
        return true;
    }
    ask(libc::SYS_kcmp, [own_thread(), host as usize, kind, 0, 0]) <= 0
}

/// Whether the calling thread's descriptors are those of hosts; if not, the program makes its calls itself from now on.
pub fn look_at_descriptors() -> bool {
    goes_on(is_shared(KCMP_FILES), "descriptors")
}

/// The same of its root and current folders, and of what it masks of modes.
pub fn look_at_folders() -> bool {
    goes_on(is_shared(KCMP_FS), "folders")
}

/// The same of all, and of its rights.
pub fn look_at_all() -> bool {
    let rights =
        || !MAY_COMPARE.load(Relaxed) || hosts::rights().is_none_or(|rights| rights == Rights::now());
    look_at_descriptors() && look_at_folders() && goes_on(rights(), "rights")
}

fn goes_on(is_shared: bool, what: &'static str) -> bool {
    if !is_shared {
        ending::end_as(format_args!("a thread has {what} of its own, by a system call that was not seen"));
    }
    is_shared
}

/// Whether the process's processor time is limited: hosts would take their part of it.
pub fn is_time_limited() -> bool {
    // SAFETY: zeroed values are valid.
    let mut limit: libc::rlimit64 = unsafe { std::mem::zeroed() };
    let answer = ask(libc::SYS_prlimit64, [0, libc::RLIMIT_CPU as usize, 0, (&raw mut limit) as usize, 0]);
    answer == 0 && limit.rlim_cur != libc::RLIM64_INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_those_of_the_thread() {
        let now = Rights::now();
        // SAFETY: no arguments.
        assert_eq!(now.users, [unsafe { libc::getuid() }; 4]);
        assert_eq!(now, std::thread::spawn(Rights::now).join().unwrap());
        assert_ne!(now.mounts, (0, 0));
    }
}
