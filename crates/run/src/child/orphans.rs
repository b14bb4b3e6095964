//! Waiting for processes, including those whose own parents have ended.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::ops::{Add, AddAssign};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What processes used, including the children that they have waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time in user mode and in the kernel.
    pub cpu: Duration,
    /// The part of it in user mode.
    pub user: Duration,
    /// Times that they waited.
    pub voluntary_switches: u64,
    /// Times that another task took the CPU from them.
    pub involuntary_switches: u64,
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            user: self.user + other.user,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Processes that a command has left running.
#[derive(Debug)]
pub struct Left(Vec<u32>);

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |process: &u32| {
            let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            format!("{process} ({})", name.trim())
        };
        let names: Vec<_> = self.0.iter().map(name).collect();
        write!(
            f,
            "the command has ended, but what it started still runs and would disturb the next run: {}; \
             compare a command that waits for what it starts",
            names.join(", ")
        )
    }
}

/// How often is looked whether processes have ended.
const OFTEN: Duration = Duration::from_millis(1);

/// From now on descendants of this process become its children when their parents end; [`Running`](super::Running)
/// waits for them as they end. Use it only in a process that has no children other than the commands that it runs.
///
/// # Errors
/// The operating system's error.
pub fn adopt() -> io::Result<()> {
    // SAFETY: a number, no memory.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether this process adopts.
pub fn adopted() -> bool {
    let mut adopts: libc::c_int = 0;
    // SAFETY: the kernel writes one number.
    let got = unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts) };
    got == 0 && adopts != 0
}

/// Waits for the processes that this one has adopted, if it adopts any.
///
/// # Errors
/// [`Left`] if some still run when the time is up.
pub fn wait(within: Duration) -> Result<Usage, Left> {
    let mut usage = Usage::default();
    if !adopted() {
        return Ok(usage);
    }
    let until = Instant::now() + within;
    loop {
        usage += reap(0);
        let left = children();
        if left.is_empty() {
            return Ok(usage);
        }
        if Instant::now() >= until {
            return Err(Left(left));
        }
        sleep(OFTEN);
    }
}

/// Hands a signal on to the processes that this one has adopted, as their parent has had it, waits for them, and kills
/// those that still run when the time is up.
///
/// # Errors
/// [`Left`] if they do even then.
pub fn end(signal: libc::c_int, within: Duration) -> Result<(), Left> {
    let mut had = BTreeSet::new();
    let ended = each(within, |process| {
        if had.insert(process) {
            send(process, signal);
        }
    });
    ended.or_else(|_| kill(within))
}

/// Kills the processes that this one has adopted, and waits for them.
///
/// # Errors
/// [`Left`] if some still run when the time is up.
pub fn kill(within: Duration) -> Result<(), Left> {
    each(within, |process| send(process, libc::SIGKILL))
}

fn send(process: u32, signal: libc::c_int) {
    // SAFETY: a child that has not been waited for, so that its number is still its own.
    unsafe { libc::kill(process as libc::pid_t, signal) };
}

/// Does something to each process that this one has adopted, until none is left. Those of a parent that ends meanwhile
/// follow it.
fn each(within: Duration, mut what: impl FnMut(u32)) -> Result<(), Left> {
    let until = Instant::now() + within;
    while adopted() {
        let left = children();
        left.iter().for_each(|process| what(*process));
        reap(0);
        if left.is_empty() {
            break;
        }
        if Instant::now() >= until {
            return Err(Left(left));
        }
        sleep(OFTEN);
    }
    Ok(())
}

/// Waits for children that have ended, up to the one given, which is left.
pub(super) fn reap(but: u32) -> Usage {
    let mut usage = Usage::default();
    while let Some(ended) = next_ended().filter(|&ended| ended != but) {
        match wait_for(ended) {
            Ok(Some((_, its))) => usage += its,
            _ => break,
        }
    }
    usage
}

/// A child that has ended and was not waited for.
fn next_ended() -> Option<u32> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel fills what it is given; zeroes are valid, and the process number stays zero if no child has
    // ended.
    let process = unsafe {
        libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), how);
        info.assume_init().si_pid()
    };
    u32::try_from(process).ok().filter(|&process| process > 0)
}

/// A child's status and usage, once it has ended.
pub(super) fn wait_for(child: u32) -> io::Result<Option<(libc::c_int, Usage)>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills both.
    match unsafe { libc::wait4(child as libc::pid_t, &mut status, libc::WNOHANG, usage.as_mut_ptr()) } {
        0 => return Ok(None),
        -1 => return Err(io::Error::last_os_error()),
        _ => {}
    }
    // SAFETY: zeroes are valid, and so is what the kernel writes.
    let usage = unsafe { usage.assume_init() };
    let usage = Usage {
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        user: time(usage.ru_utime),
        voluntary_switches: usage.ru_nvcsw.max(0) as u64,
        involuntary_switches: usage.ru_nivcsw.max(0) as u64,
    };
    Ok(Some((status, usage)))
}

fn time(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.max(0) as u64) + Duration::from_micros(time.tv_usec.max(0) as u64)
}

/// Processes whose parent this one is.
fn children() -> Vec<u32> {
    processes()
        .into_iter()
        .filter_map(|(process, parent)| (parent == std::process::id()).then_some(process))
        .collect()
}

/// Every process and its parent.
pub(crate) fn processes() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|process| Some((process, parent(process)?))).collect()
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // A program's name stands in parentheses and may hold some itself: `12 (a) b) S 1 …`.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}
