//! Calls after which the calling thread has something that hosts have not: rights, descriptors, namespaces, limits of its time.
//! From then on the program makes its calls itself.

use libc::{
    c_int, c_long, c_uint, c_ulong, c_void, clockid_t, gid_t, id_t, itimerval, pid_t, sigevent, size_t, uid_t,
};

use crate::ending::end;
use crate::real::{of, real};
use crate::sharing;
use crate::write_queue::drain;

macro_rules! ending {
    ($($name:ident($($argument:ident: $kind:ty),*) $(if $condition:expr)?;)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            drain();
            if true $(&& $condition)? {
                end(stringify!($name));
            }
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
    setfsuid(user: uid_t) if user != uid_t::MAX;
    setgid(group: gid_t);
    setegid(group: gid_t);
    setregid(real: gid_t, effective: gid_t);
    setresgid(real: gid_t, effective: gid_t, saved: gid_t);
    setfsgid(group: gid_t) if group != gid_t::MAX;
    setgroups(count: size_t, groups: *const gid_t);
    initgroups(user: *const libc::c_char, group: gid_t);
    unshare(flags: c_int);
    setns(descriptor: c_int, kind: c_int);
    capset(header: *mut c_void, data: *const c_void);
    personality(persona: c_ulong) if persona as u32 != SAME_PERSONALITY;
    setpriority(which: c_uint, who: id_t, priority: c_int);
    nice(more: c_int) if more != 0;
    sched_setscheduler(thread: pid_t, policy: c_int, parameters: *const c_void);
    sched_setparam(thread: pid_t, parameters: *const c_void);
    pthread_setschedparam(thread: libc::pthread_t, policy: c_int, parameters: *const c_void);
    pthread_setschedprio(thread: libc::pthread_t, priority: c_int);
    pkey_alloc(flags: c_uint, rights: c_uint);
    pkey_set(key: c_int, rights: c_uint);
    setitimer(timer: c_int, new: *const itimerval, old: *mut itimerval) if counts_time(timer) && !new.is_null();
    timer_create(clock: clockid_t, event: *mut sigevent, timer: *mut c_void) if is_of_process(clock);
    prctl(option: c_int, b: c_ulong, c: c_ulong, d: c_ulong, e: c_ulong) if is_own(option, b as usize);
}

#[cfg(target_arch = "x86_64")]
ending! {
    arch_prctl(option: c_int, address: c_ulong) if is_architecture_s(option);
}

/// The arguments depend on the request.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ptrace(
    request: c_long,
    process: pid_t,
    at: *mut c_void,
    data: *mut c_void,
) -> c_long {
    drain();
    if request == TRACE_ME {
        end("ptrace");
    }
    // SAFETY: the caller's promises are handed on.
    unsafe { real!(ptrace(request, process, at, data; c_long, pid_t, *mut c_void, *mut c_void) -> c_long) }
}

/// C libraries have it from glibc 2.41 on.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sched_setattr(thread: pid_t, attributes: *mut c_void, flags: c_uint) -> c_int {
    end("sched_setattr");
    // SAFETY: the caller's promises are handed on.
    unsafe {
        if of::sched_setattr.found().is_null() {
            return libc::syscall(libc::SYS_sched_setattr, thread, attributes, flags) as c_int;
        }
        real!(sched_setattr(thread, attributes, flags; pid_t, *mut c_void, c_uint) -> c_int)
    }
}

macro_rules! clone {
    ($($name:ident)+) => { $(
        /// The child, which may share its maker's memory, must not use its hosts; nothing tells it that it is one.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            work: *mut c_void,
            stack: *mut c_void,
            flags: c_int,
            argument: *mut c_void,
            parent: *mut c_void,
            storage: *mut c_void,
            child: *mut c_void,
        ) -> c_int {
            end("clone");
            // SAFETY: the caller's promises are handed on.
            unsafe {
                real!($name(work, stack, flags, argument, parent, storage, child;
                    *mut c_void, *mut c_void, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int)
            }
        }
    )+ };
}

clone!(clone __clone);

/// Asks for the personality alone.
const SAME_PERSONALITY: u32 = u32::MAX;
const TRACE_ME: c_long = 0;

/// Whether an interval timer counts the process's processor time, of which hosts would take their part.
fn counts_time(timer: c_int) -> bool {
    matches!(timer, libc::ITIMER_PROF | libc::ITIMER_VIRTUAL)
}

/// The same of a clock.
fn is_of_process(clock: clockid_t) -> bool {
    clock == libc::CLOCK_PROCESS_CPUTIME_ID || clock < 0
}

/// The same of a limit, or one that hosts count for as threads.
pub fn counts_hosts(limit: c_uint) -> bool {
    [libc::RLIMIT_CPU, libc::RLIMIT_NPROC].contains(&limit)
}

/// Whether closing a range of descriptors gives the caller a table of its own.
pub fn unshares(flags: c_uint) -> bool {
    flags & libc::CLOSE_RANGE_UNSHARE != 0
}

/// Whether an option of `prctl` may change what only the calling thread has. Those that are not known here do.
fn is_own(option: c_int, first: usize) -> bool {
    const PR_GET_TSC: c_int = 25;
    const PR_GET_SPECULATION_CTRL: c_int = 52;
    const PR_GET_IO_FLUSHER: c_int = 58;
    const PR_SET_MDWE: c_int = 65;
    const PR_GET_MDWE: c_int = 66;
    const PR_SET_MEMORY_MERGE: c_int = 67;
    const PR_GET_MEMORY_MERGE: c_int = 68;
    const PR_GET_AUXV: c_int = 0x4155_5856;
    /// What they set is the process's, or nothing that a call of a host's depends on.
    const COMMON: [c_int; 36] = [
        libc::PR_SET_PDEATHSIG,
        libc::PR_GET_PDEATHSIG,
        libc::PR_GET_DUMPABLE,
        libc::PR_SET_DUMPABLE,
        libc::PR_GET_UNALIGN,
        libc::PR_GET_KEEPCAPS,
        libc::PR_GET_FPEMU,
        libc::PR_GET_FPEXC,
        libc::PR_GET_TIMING,
        libc::PR_SET_NAME,
        libc::PR_GET_NAME,
        libc::PR_GET_ENDIAN,
        libc::PR_GET_SECCOMP,
        libc::PR_CAPBSET_READ,
        PR_GET_TSC,
        libc::PR_GET_SECUREBITS,
        libc::PR_SET_TIMERSLACK,
        libc::PR_GET_TIMERSLACK,
        libc::PR_TASK_PERF_EVENTS_DISABLE,
        libc::PR_TASK_PERF_EVENTS_ENABLE,
        libc::PR_MCE_KILL,
        libc::PR_MCE_KILL_GET,
        libc::PR_SET_MM,
        libc::PR_SET_CHILD_SUBREAPER,
        libc::PR_GET_CHILD_SUBREAPER,
        libc::PR_GET_NO_NEW_PRIVS,
        libc::PR_SET_THP_DISABLE,
        libc::PR_GET_THP_DISABLE,
        PR_GET_SPECULATION_CTRL,
        PR_GET_IO_FLUSHER,
        PR_SET_MDWE,
        PR_GET_MDWE,
        PR_SET_MEMORY_MERGE,
        PR_GET_MEMORY_MERGE,
        libc::PR_SET_VMA,
        libc::PR_SET_PTRACER,
    ];
    let only_asks = option == PR_GET_AUXV
        || option == libc::PR_CAP_AMBIENT && first == libc::PR_CAP_AMBIENT_IS_SET as usize;
    !only_asks && !COMMON.contains(&option)
}

/// Whether an option of `arch_prctl` is more than a look, or a segment of the calling thread's.
#[cfg(target_arch = "x86_64")]
fn is_architecture_s(option: c_int) -> bool {
    const SEGMENTS: std::ops::RangeInclusive<c_int> = 0x1001..=0x1004;
    const GET_CPUID: c_int = 0x1011;
    !SEGMENTS.contains(&option) && option != GET_CPUID
}

/// The name of a system call with these first arguments after which the calling thread has something that hosts have not, or
/// which makes a process.
pub fn unsharing(number: c_long, [first, second, third]: [usize; 3]) -> Option<&'static str> {
    const ALWAYS: &[(c_long, &str)] = &[
        (libc::SYS_setuid, "setuid"),
        (libc::SYS_setreuid, "setreuid"),
        (libc::SYS_setresuid, "setresuid"),
        (libc::SYS_setgid, "setgid"),
        (libc::SYS_setregid, "setregid"),
        (libc::SYS_setresgid, "setresgid"),
        (libc::SYS_setgroups, "setgroups"),
        (libc::SYS_unshare, "unshare"),
        (libc::SYS_setns, "setns"),
        (libc::SYS_capset, "capset"),
        (libc::SYS_seccomp, "seccomp"),
        (libc::SYS_keyctl, "keyctl"),
        (libc::SYS_add_key, "add_key"),
        (libc::SYS_request_key, "request_key"),
        (libc::SYS_landlock_restrict_self, "landlock_restrict_self"),
        (LSM_SET_SELF_ATTR, "lsm_set_self_attr"),
        (libc::SYS_clone3, "clone3"),
        (libc::SYS_clone, "clone"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_fork, "fork"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_vfork, "vfork"),
        (libc::SYS_ioprio_set, "ioprio_set"),
        (libc::SYS_setpriority, "setpriority"),
        (libc::SYS_sched_setscheduler, "sched_setscheduler"),
        (libc::SYS_sched_setparam, "sched_setparam"),
        (libc::SYS_sched_setattr, "sched_setattr"),
        (libc::SYS_set_mempolicy, "set_mempolicy"),
        (libc::SYS_pkey_alloc, "pkey_alloc"),
        (libc::SYS_io_uring_setup, "io_uring_setup"),
    ];
    const LSM_SET_SELF_ATTR: c_long = 460;
    /// Of system calls that a kernel after 6.18 has, nobody knows here what they do.
    const FIRST_UNKNOWN: c_long = 471;
    let always = ALWAYS.iter().find(|(of, _)| *of == number).map(|(_, name)| *name);
    let sometimes = match number {
        libc::SYS_close_range => unshares(third as c_uint).then_some("close_range"),
        libc::SYS_prctl => is_own(first as c_int, second).then_some("prctl"),
        // An impossible number only asks.
        libc::SYS_setfsuid => (first as uid_t != uid_t::MAX).then_some("setfsuid"),
        libc::SYS_setfsgid => (first as gid_t != gid_t::MAX).then_some("setfsgid"),
        libc::SYS_personality => (first as u32 != SAME_PERSONALITY).then_some("personality"),
        libc::SYS_ptrace => (first as c_long == TRACE_ME).then_some("ptrace"),
        libc::SYS_setitimer => (counts_time(first as c_int) && second != 0).then_some("setitimer"),
        libc::SYS_timer_create => is_of_process(first as clockid_t).then_some("timer_create"),
        libc::SYS_setrlimit => counts_hosts(first as c_uint).then_some("setrlimit"),
        libc::SYS_prlimit64 => (counts_hosts(second as c_uint) && third != 0).then_some("prlimit"),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_arch_prctl => is_architecture_s(first as c_int).then_some("arch_prctl"),
        _ => (number >= FIRST_UNKNOWN).then_some("a system call that the library does not know"),
    };
    always.or(sometimes)
}

macro_rules! looking {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
            drain();
            sharing::look_at_folders();
            // SAFETY: the caller's promises are handed on.
            unsafe { real!($name($($argument),*; $($kind),*) -> $result) }
        }
    )+ };
}

// What these change hosts have as well, unless the thread has unshared it by instructions of its own.
looking! {
    chdir(path: *const libc::c_char) -> c_int;
    fchdir(folder: c_int) -> c_int;
    chroot(path: *const libc::c_char) -> c_int;
    umask(mask: libc::mode_t) -> libc::mode_t;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(number: c_long, arguments: [usize; 3]) -> bool {
        unsharing(number, arguments).is_some()
    }

    #[test]
    fn what_ends_sharing_is_known() {
        assert!(ends(libc::SYS_seccomp, [0; 3]));
        assert!(ends(libc::SYS_prctl, [libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0]));
        assert!(ends(libc::SYS_prctl, [libc::PR_SET_KEEPCAPS as usize, 1, 0]));
        assert!(ends(libc::SYS_prctl, [12345, 0, 0]), "not known");
        assert!(!ends(libc::SYS_prctl, [libc::PR_SET_NAME as usize, 0, 0]));
        let asks = libc::PR_CAP_AMBIENT_IS_SET as usize;
        assert!(!ends(libc::SYS_prctl, [libc::PR_CAP_AMBIENT as usize, asks, 0]));
        assert!(ends(libc::SYS_prctl, [libc::PR_CAP_AMBIENT as usize, asks + 1, 0]));
        assert!(ends(libc::SYS_close_range, [3, usize::MAX, libc::CLOSE_RANGE_UNSHARE as usize]));
        assert!(!ends(libc::SYS_close_range, [3, usize::MAX, 0]));
        assert!(ends(libc::SYS_prlimit64, [0, libc::RLIMIT_CPU as usize, 1]));
        assert!(!ends(libc::SYS_prlimit64, [0, libc::RLIMIT_CPU as usize, 0]), "asks");
        assert!(!ends(libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE as usize, 1]));
        assert!(ends(libc::SYS_setitimer, [libc::ITIMER_VIRTUAL as usize, 1, 0]));
        assert!(!ends(libc::SYS_setitimer, [libc::ITIMER_REAL as usize, 1, 0]));
        assert!(!ends(libc::SYS_personality, [u32::MAX as usize, 0, 0]));
        assert!(ends(2000, [0; 3]) && !ends(libc::SYS_getpid, [0; 3]));
    }
}
