//! What is taken away from a thread or a CPU: involuntary switches, and time that the hypervisor steals.

use std::fs;

use crate::CpuSet;

/// Involuntary context switches of the calling thread since it began.
pub fn involuntary_switches() -> u64 {
    // SAFETY: a zeroed rusage is valid and the kernel fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    usage.ru_nivcsw.max(0) as u64
}

/// Time that the hypervisor took away from these CPUs since boot, in seconds; `None` if the kernel does not say.
pub fn steal_s(cpus: &CpuSet) -> Option<f64> {
    // SAFETY: no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let stat = fs::read_to_string("/proc/stat").ok()?;
    steal_ticks(&stat, cpus).map(|ticks| ticks as f64 / per_second.max(1) as f64)
}

fn steal_ticks(stat: &str, cpus: &CpuSet) -> Option<u64> {
    let mut total = None;
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        let Some(Ok(cpu)) = fields.next().and_then(|name| name.strip_prefix("cpu")).map(str::parse) else {
            continue;
        };
        if cpus.contains(cpu) {
            // user nice system idle iowait irq softirq steal
            let steal: u64 = fields.nth(7)?.parse().ok()?;
            *total.get_or_insert(0) += steal;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_steal_of_the_cpus_asked_for() {
        let stat =
            "cpu  9 9 9 9 9 9 9 100 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 30 0 0\nintr 5\n";
        assert_eq!(steal_ticks(stat, &CpuSet::from_iter([0])), Some(8));
        assert_eq!(steal_ticks(stat, &CpuSet::up_to(2)), Some(38));
        assert_eq!(steal_ticks("cpu0 1 2\n", &CpuSet::up_to(1)), None);
    }
}
