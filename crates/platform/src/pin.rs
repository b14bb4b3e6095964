//! Which CPUs a thread may use, and pinning it to one of them.

use std::fmt;
use std::fs;
use std::io;
use std::marker::PhantomData;

use crate::{CpuSet, MAX_CPUS};

/// Why a thread's CPUs cannot be read or set.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system does not say which CPUs a thread may use.
    Unknown(io::Error),
    /// A thread cannot be on a CPU.
    Cpu {
        /// The operating system's number of the CPU.
        cpu: u32,
        /// Why not.
        why: Refusal,
    },
}

/// Why a thread cannot be on a CPU.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such CPU; the machine has the listed ones.
    Missing(CpuSet),
    /// No machine has a CPU of that number.
    TooLarge,
    /// It is offline; the listed CPUs are online.
    Offline(CpuSet),
    /// The process's cpuset has only the listed CPUs.
    OutsideCpuset(CpuSet),
    /// The system refuses to change any thread's CPUs, for its own reason.
    Denied(io::Error),
    /// The thread was pinned to it, but may now run on the listed CPUs.
    Unpinned(CpuSet),
    /// The thread was pinned to it, but runs on the given one.
    Elsewhere(u32),
    /// The system's own reason.
    System(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(possible) => write!(f, "there is no such CPU; this machine has {possible}"),
            Self::TooLarge => write!(f, "CPU numbers end at {}", MAX_CPUS - 1),
            Self::Offline(online) => write!(f, "it is offline; online are {online}"),
            Self::OutsideCpuset(cpuset) => write!(f, "it is outside the process's cpuset, {cpuset}"),
            Self::Denied(error) => write!(
                f,
                "the system refuses sched_setaffinity ({error}), as the seccomp filter of a container or a service \
                 may; have the filter allow that call"
            ),
            Self::Unpinned(allowed) => write!(f, "a thread pinned to it may now run on {allowed}"),
            Self::Elsewhere(now) => write!(f, "a thread pinned to it runs on CPU {now}"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => write!(f, "sched_getaffinity: {error}"),
            Self::Cpu { cpu, why } => write!(f, "CPU {cpu} cannot be used: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// The CPUs that the calling thread may run on.
///
/// # Errors
/// [`Error::Unknown`] if the system does not say.
pub fn allowed() -> Result<CpuSet, Error> {
    of_thread(0)
}

/// The CPUs that a thread may run on; 0 is the calling thread.
///
/// # Errors
/// [`Error::Unknown`] if there is no such thread, or the system does not say.
pub fn of_thread(thread: u32) -> Result<CpuSet, Error> {
    system::affinity(thread).map_err(Error::Unknown)
}

/// The CPUs that any of the process's threads may run on: a thread that is pinned does not hide the others' CPUs.
/// Without `/proc`, those of the calling thread.
///
/// # Errors
/// [`Error::Unknown`] if the system does not say.
pub fn of_process() -> Result<CpuSet, Error> {
    let mut all = allowed()?;
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    for thread in threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok()) {
        // A thread may have ended meanwhile.
        if let Ok(cpus) = of_thread(thread) {
            all = all.union(&cpus);
        }
    }
    Ok(all)
}

/// The CPU that the calling thread runs on; `None` if the system does not say.
pub fn current() -> Option<u32> {
    system::current()
}

/// Confines the calling thread to a set of CPUs. Makes one system call and allocates nothing, so that a child may call
/// it between `fork` and `exec`.
///
/// # Errors
/// The operating system's error.
pub fn confine(cpus: &CpuSet) -> io::Result<()> {
    confine_thread(0, cpus)
}

/// Confines a thread of any process to a set of CPUs; 0 is the calling thread.
///
/// # Errors
/// The system's own: there is no such thread (any more), it belongs to somebody else, or has none of the CPUs.
pub fn confine_thread(thread: u32, cpus: &CpuSet) -> io::Result<()> {
    system::set_affinity(thread, cpus.words())
}

/// The CPUs that a thread of this process may ask for: those of its cpuset that are online, even where the inherited
/// mask is narrower, as it is under `taskset` and with isolated CPUs.
///
/// # Errors
/// The system's, if it starts no thread to ask on, or changes no thread's CPUs.
pub fn reachable() -> io::Result<CpuSet> {
    // On a thread of its own: a mask that was set once no longer follows the cpuset, even if it is set back.
    let ask = || confine(&CpuSet::up_to(MAX_CPUS)).and_then(|()| system::affinity(0));
    let asking = std::thread::Builder::new().spawn(ask)?;
    asking.join().unwrap_or_else(|_| Err(io::Error::other("the thread that asks has failed")))
}

/// An affinity mask that leaves out CPUs of the cpuset. A process can use those only if it names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrow {
    /// The inherited mask.
    pub mask: CpuSet,
    /// What it may ask for.
    pub cpuset: CpuSet,
}

impl Narrow {
    /// The calling thread's; `None` if its mask hides nothing.
    pub fn here() -> Option<Self> {
        let (mask, cpuset) = (allowed().ok()?, reachable().ok()?);
        (!cpuset.is_subset(&mask)).then_some(Self { mask, cpuset })
    }
}

impl fmt::Display for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mask, cpuset } = self;
        write!(
            f,
            "the inherited mask is {mask}, and the cpuset has {cpuset}: name CPUs of that, or start coho by \
                   `taskset -c {cpuset}`"
        )
    }
}

/// What to add to the reason that there are too few CPUs: how to get more, if the inherited mask alone prevents it.
pub fn way_round() -> String {
    Narrow::here().map_or_else(String::new, |narrow| format!("; {narrow}"))
}

/// Pins the calling thread to one CPU and verifies that it is there.
///
/// # Errors
/// [`Error::Cpu`], saying whether the CPU does not exist, is offline or lies outside what the process may use, or the
/// system changes no thread's CPUs.
pub fn to(cpu: u32) -> Result<(), Error> {
    if cpu >= MAX_CPUS {
        return Err(Error::Cpu { cpu, why: Refusal::TooLarge });
    }
    let only = CpuSet::from_iter([cpu]);
    if let Err(error) = confine(&only)
        && !allowed().is_ok_and(|allowed| allowed == only)
    {
        return Err(Error::Cpu { cpu, why: refusal(cpu).unwrap_or(Refusal::System(error)) });
    }
    verify(cpu)
}

/// Checks that the calling thread is still pinned to `cpu` and runs there: a CPU that is taken offline or out of the
/// cpuset lets go of its threads silently.
///
/// # Errors
/// [`Error::Cpu`] with where the thread is instead.
pub fn verify(cpu: u32) -> Result<(), Error> {
    let allowed = allowed()?;
    if allowed != CpuSet::from_iter([cpu]) {
        return Err(Error::Cpu { cpu, why: Refusal::Unpinned(allowed) });
    }
    match current() {
        Some(now) if now != cpu => Err(Error::Cpu { cpu, why: Refusal::Elsewhere(now) }),
        _ => Ok(()),
    }
}

/// Why this process cannot use a CPU, which the kernel's EINVAL does not say; `None` if no reason is known.
pub fn refusal(cpu: u32) -> Option<Refusal> {
    let listed = |path| fs::read_to_string(path).ok()?.trim().parse::<CpuSet>().ok();
    let lacks = |set: &CpuSet| !set.contains(cpu);
    let possible = listed("/sys/devices/system/cpu/possible").filter(lacks).map(Refusal::Missing);
    let online = || listed("/sys/devices/system/cpu/online").filter(lacks).map(Refusal::Offline);
    possible.or_else(online).or_else(|| match reachable() {
        Ok(cpuset) => Some(cpuset).filter(lacks).map(Refusal::OutsideCpuset),
        Err(error) if is_denial(&error) => Some(Refusal::Denied(error)),
        Err(_) => None,
    })
}

/// Whether this is the answer of a filter to a call that the kernel itself never answers so.
fn is_denial(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

/// The calling thread pinned to one CPU. Dropping this restores the previous affinity mask.
#[derive(Debug)]
#[must_use = "the pin ends with the guard"]
pub struct Pinned {
    before: CpuSet,
    /// Dropped on another thread, it would restore that thread's mask.
    not_send: PhantomData<*const ()>,
}

impl Pinned {
    /// Pins the calling thread, as [`to`] does.
    ///
    /// # Errors
    /// As for [`to`].
    pub fn to(cpu: u32) -> Result<Self, Error> {
        let pinned = Self { before: allowed()?, not_send: PhantomData };
        to(cpu)?;
        Ok(pinned)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // This fails if the cpuset has shrunk meanwhile; the thread then stays where the kernel put it.
        let _ = confine(&self.before);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::io;

    use crate::{CpuSet, MAX_CPUS};

    /// Enough for any kernel's mask.
    const WORDS: usize = (MAX_CPUS / 64) as usize;

    pub(super) fn affinity(thread: u32) -> io::Result<CpuSet> {
        let mut words = vec![0u64; WORDS];
        // SAFETY: the kernel writes at most the given number of bytes. This is the raw call because glibc's wrapper
        // assumes 1024 CPUs.
        let bytes =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, WORDS * 8, words.as_mut_ptr()) };
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
        words.truncate(bytes.div_ceil(8));
        CpuSet::try_from_words(&words).map_err(io::Error::other)
    }

    pub(super) fn set_affinity(thread: u32, words: &[u64]) -> io::Result<()> {
        // SAFETY: the kernel reads exactly the given number of bytes.
        let result =
            unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, size_of_val(words), words.as_ptr()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn current() -> Option<u32> {
        // SAFETY: no arguments.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use crate::CpuSet;

    pub(super) fn affinity(_: u32) -> io::Result<CpuSet> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn set_affinity(_: u32, _: &[u64]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn current() -> Option<u32> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// On a thread of its own, which may end pinned.
    fn apart<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(test).join().unwrap()
    }

    #[test]
    fn pins_to_each_allowed_cpu() {
        for cpu in allowed().unwrap().iter() {
            apart(move || {
                to(cpu).unwrap();
                verify(cpu).unwrap();
                assert_eq!(current(), Some(cpu));
            });
        }
    }

    #[test]
    fn names_the_cpu_that_does_not_exist() {
        let error = apart(|| to(60_000)).unwrap_err();
        assert!(error.to_string().starts_with("CPU 60000 cannot be used: there is no such CPU"), "{error}");
        assert!(matches!(to(MAX_CPUS), Err(Error::Cpu { why: Refusal::TooLarge, .. })));
    }

    #[test]
    fn a_narrow_mask_hides_no_cpu_that_the_cpuset_has() {
        let all = reachable().unwrap();
        let first = all.first().unwrap();
        let seen = apart(move || {
            to(first).unwrap();
            (reachable().unwrap(), allowed().unwrap(), refusal(all.last().unwrap()).is_none())
        });
        assert_eq!((seen.0, seen.2), (reachable().unwrap(), true));
        assert_eq!(seen.1, CpuSet::from_iter([first]), "asking changes no mask");
    }

    #[test]
    fn notices_a_lost_pin() {
        let first = allowed().unwrap().first().unwrap();
        let error = apart(move || {
            to(first).unwrap();
            verify(first + 1)
        });
        assert!(matches!(error, Err(Error::Cpu { why: Refusal::Unpinned(_), .. })), "{error:?}");
    }

    #[test]
    fn a_pin_ends_with_its_guard() {
        apart(|| {
            let before = allowed().unwrap();
            let pinned = Pinned::to(before.last().unwrap()).unwrap();
            assert_eq!(allowed().unwrap().len(), 1);
            assert_eq!(of_process().unwrap(), before, "the process's other threads are not pinned");
            drop(pinned);
            assert_eq!(allowed().unwrap(), before);
        });
    }
}
