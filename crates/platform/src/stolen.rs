//! Time that is taken away from a thread or a CPU: involuntary switches, time that the hypervisor steals, and time in
//! which tasks wait for a CPU.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use crate::CpuSet;
use crate::stat::{self, Ticks};

/// Involuntary context switches of the calling thread since it began.
pub fn involuntary_switches() -> u64 {
    switches_of(libc::RUSAGE_THREAD)
}

/// The same of all threads of the process.
pub fn involuntary_switches_of_process() -> u64 {
    switches_of(libc::RUSAGE_SELF)
}

fn switches_of(whom: libc::c_int) -> u64 {
    usage_of(whom).ru_nivcsw.max(0) as u64
}

fn usage_of(whom: libc::c_int) -> libc::rusage {
    // SAFETY: a zeroed rusage is valid and the kernel fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whom, &raw mut usage);
        usage
    }
}

/// The time for which this process has run, with its children that ended, in seconds.
fn own_s() -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN]
        .map(usage_of)
        .map(|usage| seconds(usage.ru_utime) + seconds(usage.ru_stime))
        .iter()
        .sum()
}

/// Measures the time that the hypervisor takes away from some CPUs, from a moment on.
#[derive(Debug, Clone)]
pub struct Steal {
    cpus: CpuSet,
    before: Option<u64>,
}

impl Steal {
    /// Starts now.
    pub fn from_now(cpus: CpuSet) -> Self {
        Self { before: steal_ticks(&stat::ticks(), &cpus), cpus }
    }

    /// Taken away since then, in seconds; `None` if the kernel does not say.
    pub fn seconds(&self) -> Option<f64> {
        let ticks = steal_ticks(&stat::ticks(), &self.cpus)?.saturating_sub(self.before?);
        Some(ticks as f64 / ticks_per_s())
    }
}

fn ticks_per_s() -> f64 {
    // SAFETY: no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    per_second.max(1) as f64
}

/// The share of some CPUs' time since boot that the hypervisor took away, 0 to 1; `None` if the kernel does not say.
pub fn share_since_boot(cpus: &CpuSet) -> Option<f64> {
    share(&stat::ticks(), cpus)
}

fn share(ticks: &BTreeMap<u32, Ticks>, cpus: &CpuSet) -> Option<f64> {
    let all: u64 = ticks.iter().filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, ticks)| ticks.all).sum();
    (all > 0).then(|| Some(steal_ticks(ticks, cpus)? as f64 / all as f64))?
}

fn steal_ticks(ticks: &BTreeMap<u32, Ticks>, cpus: &CpuSet) -> Option<u64> {
    let mut of_these = ticks.iter().filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, ticks)| ticks.steal);
    let first = of_these.next()??;
    of_these.try_fold(first, |sum, steal| Some(sum + steal?))
}

/// Measures in how much of the time some task waits for a CPU, from a moment on (pressure stall information, `some`). It
/// tells neither which task nor for which CPU: the caller's own count, too.
#[derive(Debug, Clone)]
pub struct Waiting {
    from: Instant,
    before_us: Option<u64>,
}

impl Waiting {
    /// Starts now.
    pub fn from_now() -> Self {
        Self { before_us: waited_us(), from: Instant::now() }
    }

    /// The share of the time since then, 0 to 1; `None` if the kernel does not count it.
    pub fn share(&self) -> Option<f64> {
        let us = waited_us()?.saturating_sub(self.before_us?) as f64;
        Some((us / (self.from.elapsed().as_secs_f64() * 1e6)).min(1.0))
    }
}

/// Measures in how much of the time tasks of this process wait for a CPU that others have, from a moment on. Threads of its own
/// that wait for one another do not count: where others hardly run, nobody waits for them.
#[derive(Debug, Clone)]
pub struct WaitingForOthers {
    waiting: Waiting,
    before: Option<Ran>,
}

/// For how long tasks have run, in seconds.
#[derive(Debug, Clone, Copy)]
struct Ran {
    all_s: f64,
    own_s: f64,
}

impl Ran {
    /// Until now, since boot; `None` if the kernel does not say.
    fn by_now() -> Option<Self> {
        let ticks = stat::ticks();
        let ran = |ticks: &Ticks| ticks.all.saturating_sub(ticks.idle + ticks.steal.unwrap_or(0));
        let all: u64 = ticks.values().map(ran).sum();
        (!ticks.is_empty()).then(|| Self { all_s: all as f64 / ticks_per_s(), own_s: own_s() })
    }

    /// For how long others have run since then.
    fn of_others_since(self, before: Self) -> f64 {
        (self.all_s - before.all_s - (self.own_s - before.own_s)).max(0.0)
    }
}

impl WaitingForOthers {
    /// Starts now.
    pub fn from_now() -> Self {
        Self { waiting: Waiting::from_now(), before: Ran::by_now() }
    }

    /// The share of the time since then, 0 to 1, as an upper bound: some task waited, and others ran. `None` if the kernel does
    /// not count it.
    pub fn share(&self) -> Option<f64> {
        let elapsed_s = self.waiting.from.elapsed().as_secs_f64();
        let waited = self.waiting.share()?;
        let others =
            self.before.zip(Ran::by_now()).map(|(before, now)| now.of_others_since(before) / elapsed_s);
        Some(others.map_or(waited, |others| waited.min(others)))
    }
}

/// Time in which some task waited for a CPU, since boot, in us; `None` if the kernel does not count it.
fn waited_us() -> Option<u64> {
    some_us(&fs::read_to_string("/proc/pressure/cpu").ok()?)
}

fn some_us(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::parse;

    #[test]
    fn reads_the_steal_of_the_cpus_asked_for() {
        let stat =
            "cpu  9 9 9 9 9 9 9 100 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 30 0 0\nintr 5\n";
        assert_eq!(steal_ticks(&parse(stat), &CpuSet::from_iter([0])), Some(8));
        assert_eq!(steal_ticks(&parse(stat), &CpuSet::up_to(2)), Some(38));
        assert_eq!(steal_ticks(&parse("cpu0 1 2 3 4\n"), &CpuSet::up_to(1)), None);
        let ticks = parse("cpu0 60 0 10 10 0 0 0 20 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n");
        assert_eq!(share(&ticks, &CpuSet::up_to(2)), Some(0.1));
        assert_eq!(share(&ticks, &CpuSet::from_iter([7])), None);
    }

    #[test]
    fn steal_is_of_the_time_since_then() {
        let cpus = crate::pin::allowed().unwrap();
        let Some(seconds) = Steal::from_now(cpus.clone()).seconds() else { return };
        assert!((0.0..60.0).contains(&seconds));
        let from_boot = Steal { before: Some(0), cpus };
        assert!(from_boot.seconds() >= Some(seconds));
    }

    #[test]
    fn own_threads_that_wait_for_one_another_wait_for_no_others() {
        let of = |all_s, own_s| Ran { all_s, own_s };
        assert!((of(14.0, 9.0).of_others_since(of(10.0, 6.0)) - 1.0).abs() < 1e-9);
        assert_eq!(of(12.9, 9.0).of_others_since(of(10.0, 6.0)), 0.0, "a tick is longer than its remainder");
        let waiting = WaitingForOthers::from_now();
        let until = Instant::now() + std::time::Duration::from_millis(200);
        let before = own_s();
        while Instant::now() < until {}
        assert!(own_s() > before, "its own time counts");
        let (Some(some), Some(of_others)) = (waiting.waiting.share(), waiting.share()) else { return };
        assert!((0.0..=1.0).contains(&of_others) && some >= 0.0, "{of_others} {some}");
    }

    #[test]
    fn pressure_is_read_where_the_kernel_tells_it() {
        let text = "some avg10=49.40 avg60=68.91 avg300=60.17 total=12450962389\nfull avg10=0.00 total=7\n";
        assert_eq!(some_us(text), Some(12_450_962_389));
        assert_eq!(some_us("full total=7\n"), None);
        assert!(Waiting::from_now().share().is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
