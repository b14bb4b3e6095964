//! One CPU alone (Kawabe & Furuya, measurement 1): increments of a line that nobody else uses.

use coho_platform::stolen::involuntary_switches;

use super::arena::{Arena, LINES};
use super::increment;
use super::run::Effort;

/// Figures of one CPU in one pass, in ns per increment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Alone {
    pub(crate) locked: Vec<f64>,
    pub(crate) unlocked: Vec<f64>,
    /// Batches in which the CPU was taken away; they are not among the figures.
    pub(crate) preempted: u64,
}

/// Measures the calling CPU: batches of both kinds in turn.
pub(crate) fn measure(arena: &Arena, pass: usize, effort: &Effort) -> Alone {
    let line = arena.lines_of(pass)[pass % LINES].first;
    let mut alone = Alone::default();
    let locked = |n| {
        increment::locked(line, n);
    };
    let unlocked = |n| increment::unlocked(line, n);
    let (mut n_locked, mut n_unlocked) = (0, 0);
    for _ in 0..effort.fewest {
        let switches = involuntary_switches();
        let times = (batch(locked, &mut n_locked, effort), batch(unlocked, &mut n_unlocked, effort));
        if involuntary_switches() == switches {
            alone.locked.push(times.0);
            alone.unlocked.push(times.1);
        } else {
            alone.preempted += 1;
        }
    }
    alone
}

/// Time per increment of one batch, in ns; the first call finds out how many make a batch.
fn batch(increments: impl Fn(u64), n: &mut u64, effort: &Effort) -> f64 {
    let clock = effort.patience.clock;
    let time = |n| {
        let start = clock.now();
        increments(n);
        clock.now() - start
    };
    if *n == 0 {
        *n = 64;
        while time(*n) < effort.batch && *n < 1 << 24 {
            *n *= 2;
        }
    }
    clock.ns(time(*n)) / *n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_prefix_costs() {
        let alone = measure(&Arena::map().unwrap(), 0, &Effort::new(16, 16, 0.05));
        let median = |samples: &[f64]| crate::statistics::estimate(&[samples.to_vec()]).unwrap().median;
        assert!(median(&alone.locked) > median(&alone.unlocked), "{alone:?}");
    }
}
