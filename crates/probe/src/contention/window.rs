//! Computes figures from what each CPU has recorded about a batch, for the time in which all were at work.

use crate::clock::Ticks;

/// A gap between two marks that is longer than this, and than [`LATE`] times the CPU's usual gap, shows that it was
/// away.
const AWAY_NS: f64 = 10_000.0;
const LATE: f64 = 8.0;

/// What a CPU has recorded about a batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    /// When it began, and when each of its chunks of operations was done.
    pub(super) marks: Vec<Ticks>,
    /// Attempts that failed.
    pub(super) failures: u64,
    /// Whether the scheduler took the CPU away.
    pub(super) switched: bool,
}

impl Log {
    /// How many chunks were done at this time, interpolated between the marks.
    fn done_at(&self, time: Ticks) -> f64 {
        let after = self.marks.partition_point(|&mark| mark <= time);
        match (after.checked_sub(1).map(|before| self.marks[before]), self.marks.get(after)) {
            (None, _) => 0.0,
            (Some(_), None) => (after - 1) as f64,
            (Some(before), Some(&next)) => {
                (after - 1) as f64 + (time - before) as f64 / (next - before) as f64
            }
        }
    }

    fn gaps(&self) -> impl Iterator<Item = f64> + '_ {
        self.marks.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64)
    }

    /// Operations in all.
    fn operations(&self, chunk: u64) -> u64 {
        self.marks.len().saturating_sub(1) as u64 * chunk
    }
}

/// The figures of a batch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    /// The time in which all CPUs were at work, in ns.
    pub(super) ns: f64,
    /// Operations of each CPU within it.
    pub(super) operations: Vec<f64>,
    /// Failed attempts for each one that succeeded, in the whole batch.
    pub(super) failures_per_success: f64,
}

impl Batch {
    /// Time of one operation of one CPU, in ns.
    pub(super) fn ns_each(&self) -> f64 {
        self.ns * self.operations.len() as f64 / self.total()
    }

    /// Operations a second, of all together.
    pub(super) fn per_s(&self) -> f64 {
        self.total() / self.ns * 1e9
    }

    /// Jain's index: the square of the sum over n times the sum of squares.
    pub(super) fn jain(&self) -> f64 {
        let squares: f64 = self.operations.iter().map(|n| n * n).sum();
        self.total().powi(2) / (self.operations.len() as f64 * squares)
    }

    pub(super) fn least_over_most(&self) -> f64 {
        let ends = self
            .operations
            .iter()
            .fold((f64::INFINITY, 0f64), |(least, most), &n| (least.min(n), most.max(n)));
        ends.0 / ends.1
    }

    fn total(&self) -> f64 {
        self.operations.iter().sum()
    }
}

/// The batches of a visit, from logs by CPU and then by batch; `None` in place of a batch in which a CPU was away.
pub(super) fn batches(logs: &[Vec<Log>], chunk: u64, ns_of: impl Fn(Ticks) -> f64) -> Vec<Option<Batch>> {
    let patience: Vec<f64> = logs
        .iter()
        .map(|of_cpu| {
            let usual = crate::statistics::median_of(of_cpu.iter().flat_map(Log::gaps).collect());
            LATE * usual.unwrap_or(0.0)
        })
        .collect();
    let count = logs.iter().map(Vec::len).min().unwrap_or(0);
    let batch = |number: usize| {
        let logs: Vec<&Log> = logs.iter().map(|of_cpu| &of_cpu[number]).collect();
        let is_late = |gap: f64, patience: f64| gap > patience && ns_of(gap as Ticks) > AWAY_NS;
        let mut present = logs.iter().zip(&patience);
        let all_present =
            present.all(|(log, &patience)| !log.switched && !log.gaps().any(|gap| is_late(gap, patience)));
        all_present.then(|| of_all(&logs, chunk, &ns_of)).flatten()
    };
    (0..count).map(batch).collect()
}

/// One batch; `None` if the CPUs were not at work at the same time.
fn of_all(logs: &[&Log], chunk: u64, ns_of: &impl Fn(Ticks) -> f64) -> Option<Batch> {
    let begin = logs.iter().filter_map(|log| log.marks.first()).max()?;
    let end = logs.iter().filter_map(|log| log.marks.last()).min()?;
    let within = |log: &&Log| (log.done_at(*end) - log.done_at(*begin)) * chunk as f64;
    let failures: u64 = logs.iter().map(|log| log.failures).sum();
    let successes: u64 = logs.iter().map(|log| log.operations(chunk)).sum();
    (end > begin).then(|| Batch {
        ns: ns_of(end - begin),
        operations: logs.iter().map(within).collect(),
        failures_per_success: failures as f64 / successes as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU that begins at `start` and completes a chunk after each `gap`.
    fn log(start: Ticks, gap: Ticks, chunks: u64) -> Log {
        Log { marks: (0..=chunks).map(|n| start + n * gap).collect(), ..Log::default() }
    }

    fn figures(logs: &[Log]) -> Option<Batch> {
        let logs: Vec<Vec<Log>> = logs.iter().map(|log| vec![log.clone()]).collect();
        batches(&logs, 10, |ticks| ticks as f64).remove(0)
    }

    #[test]
    fn only_the_time_counts_in_which_all_are_at_work() {
        // From 1000 to 3000: four chunks of the first, two and a half of the second, which began later and went on longer.
        let batch = figures(&[log(0, 500, 6), log(1000, 800, 10)]).unwrap();
        assert_eq!((batch.ns, batch.operations.clone()), (2000.0, vec![40.0, 25.0]));
        assert_eq!(batch.ns_each(), 2.0 * 2000.0 / 65.0);
        assert_eq!(batch.per_s(), 65.0 / 2000.0 * 1e9);
        assert_eq!(batch.least_over_most(), 25.0 / 40.0);
        assert_eq!(figures(&[log(0, 500, 2), log(1000, 500, 2)]), None, "never at the same time");
    }

    #[test]
    fn fairness_is_between_one_does_all_and_all_do_the_same() {
        let of = |operations: &[f64]| Batch {
            ns: 1.0,
            operations: operations.to_vec(),
            failures_per_success: 0.0,
        };
        assert_eq!((of(&[7.0; 5]).jain(), of(&[7.0; 5]).least_over_most()), (1.0, 1.0));
        assert_eq!((of(&[9.0, 0.0, 0.0]).jain(), of(&[9.0, 0.0, 0.0]).least_over_most()), (1.0 / 3.0, 0.0));
        // Jain, Chiu and Hawe: x of n users share equally, the others get nothing.
        assert_eq!(of(&[3.0, 3.0, 3.0, 0.0]).jain(), 0.75);
    }

    #[test]
    fn a_cpu_that_was_away_is_told_from_one_that_is_slow() {
        // The second is slow all the time.
        let slow = vec![log(0, 40_000, 5); 3];
        let mut fast = vec![log(0, 1_000, 200); 3];
        let all = |fast: &[Log], slow: &[Log]| {
            let batches = batches(&[fast.to_vec(), slow.to_vec()], 1, |ticks| ticks as f64);
            batches.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!(all(&fast, &slow), [true; 3]);
        fast[1].marks.iter_mut().skip(100).for_each(|mark| *mark += 20_000);
        fast[2].switched = true;
        assert_eq!(all(&fast, &slow), [true, false, false]);
    }

    #[test]
    fn failures_are_counted_for_each_success() {
        let failing = Log { failures: 30, ..log(0, 100, 4) };
        assert_eq!(figures(&[failing, log(0, 100, 6)]).unwrap().failures_per_success, 0.3);
    }
}
