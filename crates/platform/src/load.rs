//! How busy the CPUs are with other work.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use crate::stat::{self, Ticks};

/// Long enough for ten of the kernel's ticks.
const A_MOMENT: Duration = Duration::from_millis(100);

/// How busy each CPU was for a moment, as a share; CPUs that the kernel does not list count as free.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Busy(BTreeMap<u32, f64>);

impl Busy {
    /// Looks at all CPUs for a tenth of a second.
    pub fn look() -> Self {
        let before = stat::ticks();
        sleep(A_MOMENT);
        Self::between(&before, &stat::ticks())
    }

    fn between(before: &BTreeMap<u32, Ticks>, after: &BTreeMap<u32, Ticks>) -> Self {
        let share = |(cpu, after): (&u32, &Ticks)| {
            let before = before.get(cpu)?;
            let all = after.all.saturating_sub(before.all);
            let idle = after.idle.saturating_sub(before.idle).min(all);
            (all > 0).then(|| (*cpu, 1.0 - idle as f64 / all as f64))
        };
        Self(after.iter().filter_map(share).collect())
    }

    /// The mean share of some CPUs, 0 to 1; 0 if there are none.
    pub fn of(&self, cpus: impl IntoIterator<Item = u32>) -> f64 {
        let (mut sum, mut n) = (0.0, 0u32);
        for cpu in cpus {
            sum += self.0.get(&cpu).copied().unwrap_or(0.0);
            n += 1;
        }
        sum / f64::from(n.max(1))
    }
}

impl FromIterator<(u32, f64)> for Busy {
    fn from_iter<I: IntoIterator<Item = (u32, f64)>>(shares: I) -> Self {
        Self(shares.into_iter().collect())
    }
}

/// How many threads ran or waited to run, on average over the last minute.
///
/// # Errors
/// If the kernel does not say.
pub fn average() -> Result<f64, NoAverage> {
    let text = fs::read_to_string(AVERAGE).map_err(NoAverage::Io)?;
    let first = text.split(' ').next().and_then(|load| load.parse().ok());
    first.ok_or(NoAverage::NoNumber)
}

const AVERAGE: &str = "/proc/loadavg";

/// Why the load average is not known.
#[derive(Debug)]
#[non_exhaustive]
pub enum NoAverage {
    /// The kernel's file cannot be read.
    Io(io::Error),
    /// It does not begin with a number.
    NoNumber,
}

impl fmt::Display for NoAverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{AVERAGE}: {error}"),
            Self::NoNumber => write!(f, "{AVERAGE} holds no number"),
        }
    }
}

impl std::error::Error for NoAverage {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::parse;

    #[test]
    fn shares_are_of_the_time_between_two_looks() {
        let before = parse("cpu  1 1 1 1 1\ncpu0 10 0 0 90 0 0 0 0 0 0\ncpu1 10 0 0 90 0\nintr 5\n");
        let after = parse("cpu0 14 0 1 90 5 0 0 0 0 0\ncpu1 10 0 0 90 0\ncpu2 1 1 1 1 1\n");
        let busy = Busy::between(&before, &after);
        assert_eq!((busy.of([0]), busy.of([1]), busy.of([0, 1])), (0.5, 0.0, 0.25));
        assert_eq!(busy.of([]), 0.0);
    }

    #[test]
    fn this_machine_tells() {
        let allowed = crate::pin::allowed().unwrap();
        let now = stat::ticks();
        for cpu in allowed.iter() {
            let of_cpu = now.get(&cpu).unwrap_or_else(|| panic!("no CPU {cpu}"));
            assert!(of_cpu.idle <= of_cpu.all && of_cpu.all > 0, "CPU {cpu}");
        }
        let busy = Busy::look();
        assert!(average().unwrap() >= 0.0);
        assert!(!busy.0.is_empty() && busy.0.values().all(|share| (0.0..=1.0).contains(share)), "{busy:?}");
    }
}
