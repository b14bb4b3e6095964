//! A system that refuses one of the calls that the command makes, each in its turn: a clear line and a sane status, no
//! panic, and no end that does not come.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Output;

use coho_testing::{Capability, Filter, needs};
use libc::c_long;

use crate::refused::run_one;
use crate::support::coho;

/// A table of calls by name.
macro_rules! calls {
    ($($call:ident $number:ident,)+) => { [$((stringify!($call), libc::$number)),+] };
}

/// Calls of `topology`, `run`, `coherence` and `survey`. Those are left out without which no program starts or ends, or
/// which the libraries below the command take for granted: `mmap`, `read`, `futex`, `clock_nanosleep`, `geteuid`, …
const CALLS: [(&str, c_long); 54] = calls![
    statx SYS_statx, sigaltstack SYS_sigaltstack, set_robust_list SYS_set_robust_list,
    sched_setscheduler SYS_sched_setscheduler, sched_getscheduler SYS_sched_getscheduler,
    sched_setaffinity SYS_sched_setaffinity, sched_getaffinity SYS_sched_getaffinity,
    rt_sigprocmask SYS_rt_sigprocmask, rseq SYS_rseq, prlimit64 SYS_prlimit64, prctl SYS_prctl, munmap SYS_munmap,
    madvise SYS_madvise, gettid SYS_gettid, getrandom SYS_getrandom, getdents64 SYS_getdents64, clone3 SYS_clone3,
    clone SYS_clone, brk SYS_brk, wait4 SYS_wait4, waitid SYS_waitid, unlinkat SYS_unlinkat,
    renameat2 SYS_renameat2, ioctl SYS_ioctl, fsync SYS_fsync, flock SYS_flock, socketpair SYS_socketpair,
    perf_event_open SYS_perf_event_open, getrusage SYS_getrusage, getpid SYS_getpid, ftruncate SYS_ftruncate,
    dup3 SYS_dup3, uname SYS_uname, timer_settime SYS_timer_settime, timer_create SYS_timer_create,
    statfs SYS_statfs, setpgid SYS_setpgid, rt_sigtimedwait SYS_rt_sigtimedwait, ptrace SYS_ptrace,
    pipe2 SYS_pipe2, lseek SYS_lseek, kill SYS_kill, getuid SYS_getuid, gettimeofday SYS_gettimeofday,
    getppid SYS_getppid, getgid SYS_getgid, getegid SYS_getegid, getcwd SYS_getcwd, fstatfs SYS_fstatfs,
    fcntl SYS_fcntl, fchmod SYS_fchmod, faccessat2 SYS_faccessat2, chdir SYS_chdir, sched_yield SYS_sched_yield,
];

/// Commands of which each call is refused, and one that takes longer, of which only some are.
const QUICK: [&[&str]; 3] = [
    &["topology"],
    &["run", "--place", "compact", "--", "true"],
    &["run", "--try", "compact,none", "--repeat", "1", "-p", "p.json", "--", "true"],
];
const LONGER: [&[&str]; 2] = [
    &["coherence", "--quick", "--time-limit", "100ms", "-o", "p.json"],
    &["survey", "--quick", "--time-limit", "1s", "-o", "p.json"],
];
/// One call in so many is refused to the longer ones; `COHO_TEST_WHOLE=1` refuses each.
const SHARE: usize = 14;

fn refuse_each(calls: &[(&str, c_long)], commands: &[&[&str]]) {
    let program = Path::new(env!("CARGO_BIN_EXE_coho"));
    let mut failures = Vec::new();
    for &(name, number) in calls {
        for (error, answer) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS")] {
            let filter = Filter::refusing(number, error);
            for arguments in commands {
                let filter = filter.clone();
                if let Err(why) = run_one(program, arguments, move || filter.apply()) {
                    failures.push(format!("{name} answers {answer}: coho {}: {why}", arguments.join(" ")));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn each_call_may_be_refused_to_a_command_that_acts() {
    needs!(Capability::Filters);
    let half = CALLS.len() / 2;
    std::thread::scope(|scope| {
        for part in [&CALLS[..half], &CALLS[half..]] {
            scope.spawn(|| refuse_each(part, &QUICK));
        }
    });
}

#[test]
fn some_call_may_be_refused_to_a_command_that_measures() {
    needs!(Capability::Filters);
    let _alone = coho_testing::alone();
    if std::env::var_os("COHO_TEST_WHOLE").is_some() {
        return refuse_each(&CALLS, &LONGER);
    }
    let mut random = fastrand::Rng::new();
    let some: Vec<_> = CALLS.iter().copied().filter(|_| random.usize(..SHARE) == 0).collect();
    refuse_each(&some, &LONGER);
}

fn without(call: c_long, arguments: &[&str]) -> Output {
    let filter = Filter::refusing(call, libc::EPERM);
    let mut command = coho(arguments);
    // SAFETY: it makes system calls alone.
    unsafe { command.pre_exec(move || -> io::Result<()> { filter.apply() }) };
    command.output().unwrap()
}

#[test]
fn what_was_refused_is_named_and_the_way_round() {
    needs!(Capability::Filters);
    let told = |done: &Output| String::from_utf8_lossy(&done.stderr).into_owned();
    let placed = without(libc::SYS_sched_setaffinity, &["run", "--place", "compact", "--", "true"]);
    for words in ["cannot run 'true' on CPU", "sched_setaffinity", "filter", "without a placement"] {
        assert!(told(&placed).contains(words) && placed.status.code() == Some(126), "{}", told(&placed));
    }
    let unplaced = without(libc::SYS_sched_setaffinity, &["run", "--", "true"]);
    assert!(unplaced.status.success(), "{}", told(&unplaced));
    let measured = without(libc::SYS_sched_setaffinity, &["coherence", "--quick"]);
    assert!(told(&measured).contains("sched_setaffinity"), "{}", told(&measured));
    // The program itself is refused, and not its CPUs.
    let absent = without(libc::SYS_swapon, &["run", "--place", "compact", "--", "/nonexistent"]);
    assert_eq!(absent.status.code(), Some(127), "{}", told(&absent));
}
