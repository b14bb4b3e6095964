//! Calls that change a thread's rights: no host acts on with those from before.

use libc::{c_int, c_long, c_ulong, c_void, gid_t, size_t, uid_t};

use crate::ending::end;
use crate::real::real;

macro_rules! ending {
    ($($name:ident($($argument:ident: $kind:ty),*);)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            end();
            // SAFETY: the caller's promises are handed on.
            unsafe { real!($name($($argument),*; $($kind),*) -> c_int) }
        }
    )+ };
}

ending! {
    setuid(user: uid_t);
    seteuid(user: uid_t);
    setreuid(real: uid_t, effective: uid_t);
    setresuid(real: uid_t, effective: uid_t, saved: uid_t);
    setfsuid(user: uid_t);
    setgid(group: gid_t);
    setegid(group: gid_t);
    setregid(real: gid_t, effective: gid_t);
    setresgid(real: gid_t, effective: gid_t, saved: gid_t);
    setfsgid(group: gid_t);
    setgroups(count: size_t, groups: *const gid_t);
    initgroups(user: *const libc::c_char, group: gid_t);
    unshare(flags: c_int);
    setns(descriptor: c_int, kind: c_int);
    capset(header: *mut c_void, data: *const c_void);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn prctl(option: c_int, b: c_ulong, c: c_ulong, d: c_ulong, e: c_ulong) -> c_int {
    if changes_rights(libc::SYS_prctl, option as usize) {
        end();
    }
    // SAFETY: the caller's promises are handed on.
    unsafe { real!(prctl(option, b, c, d, e; c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int) }
}

/// The child, which may share its maker's memory, must not use its hosts; nothing tells it that it is one.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn clone(
    work: *mut c_void,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    storage: *mut c_void,
    child: *mut c_void,
) -> c_int {
    end();
    // SAFETY: the caller's promises are handed on.
    unsafe {
        real!(clone(work, stack, flags, argument, parent, storage, child;
            *mut c_void, *mut c_void, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int)
    }
}

/// Whether a system call with this first argument changes the thread's rights, or makes a process.
pub fn changes_rights(number: c_long, first: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    const FORKS: [c_long; 2] = [libc::SYS_fork, libc::SYS_vfork];
    #[cfg(not(target_arch = "x86_64"))]
    const FORKS: [c_long; 0] = [];
    const CHANGING: [c_long; 17] = [
        libc::SYS_setuid,
        libc::SYS_setreuid,
        libc::SYS_setresuid,
        libc::SYS_setfsuid,
        libc::SYS_setgid,
        libc::SYS_setregid,
        libc::SYS_setresgid,
        libc::SYS_setfsgid,
        libc::SYS_setgroups,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_capset,
        libc::SYS_seccomp,
        libc::SYS_keyctl,
        libc::SYS_landlock_restrict_self,
        libc::SYS_clone3,
        libc::SYS_clone,
    ];
    /// Has a thread's system calls turned into signals to it.
    const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
    const OPTIONS: [c_int; 6] = [
        libc::PR_SET_NO_NEW_PRIVS,
        libc::PR_SET_SECCOMP,
        libc::PR_SET_SECUREBITS,
        libc::PR_CAPBSET_DROP,
        libc::PR_CAP_AMBIENT,
        PR_SET_SYSCALL_USER_DISPATCH,
    ];
    CHANGING.contains(&number)
        || FORKS.contains(&number)
        || number == libc::SYS_prctl && OPTIONS.contains(&(first as c_int))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_rights_is_known() {
        assert!(changes_rights(libc::SYS_seccomp, 0));
        assert!(changes_rights(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS as usize));
        assert!(!changes_rights(libc::SYS_prctl, libc::PR_SET_NAME as usize));
        assert!(!changes_rights(libc::SYS_getpid, 0));
    }
}
