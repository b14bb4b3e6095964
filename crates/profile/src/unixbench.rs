//! UnixBench's arithmetic: from the counts of passes to a result, and from results to indices and their overall
//! index.
//!
//! The formulas and baselines are those of the driver in versions 5.1.3 and 6.0.0, which agree
//! (kdlucas/byte-unixbench; the baselines are those of a SPARCstation 20-61, "George").

/// One of the twelve tests that make up the index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The name in profiles: `pipe_context_switching`.
    pub name: &'static str,
    /// The title that UnixBench prints.
    pub title: &'static str,
    /// `lps`, `lpm`, `MWIPS`, `KBps`.
    pub unit: &'static str,
    /// Result of the baseline machine, in `unit`.
    pub baseline: f64,
    /// How many passes make a result.
    pub passes: usize,
}

const LONG: usize = 10;
const SHORT: usize = 3;

/// The tests in the order of UnixBench's tables.
pub const TESTS: [Test; 12] = [
    test("dhrystone2", "Dhrystone 2 using register variables", "lps", 116_700.0, LONG),
    test("whetstone_double", "Double-Precision Whetstone", "MWIPS", 55.0, LONG),
    test("execl", "Execl Throughput", "lps", 43.0, SHORT),
    test("file_copy_1024", "File Copy 1024 bufsize 2000 maxblocks", "KBps", 3960.0, SHORT),
    test("file_copy_256", "File Copy 256 bufsize 500 maxblocks", "KBps", 1655.0, SHORT),
    test("file_copy_4096", "File Copy 4096 bufsize 8000 maxblocks", "KBps", 5800.0, SHORT),
    test("pipe_throughput", "Pipe Throughput", "lps", 12_440.0, LONG),
    test("pipe_context_switching", "Pipe-based Context Switching", "lps", 4000.0, LONG),
    test("process_creation", "Process Creation", "lps", 126.0, SHORT),
    test("shell_1", "Shell Scripts (1 concurrent)", "lpm", 42.4, SHORT),
    test("shell_8", "Shell Scripts (8 concurrent)", "lpm", 6.0, SHORT),
    test("syscall_overhead", "System Call Overhead", "lps", 15_000.0, LONG),
];

/// The name of the kernel build among the tests of profiles.
pub const KERNEL_BUILD: &str = "kernel_build";

const fn test(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    baseline: f64,
    passes: usize,
) -> Test {
    Test { name, title, unit, baseline, passes }
}

/// The test with a name.
///
/// ```
/// let test = coho_profile::unixbench::by_name("process_creation").unwrap();
/// assert_eq!(test.index(126.0), 10.0);
/// ```
pub fn by_name(name: &str) -> Option<&'static Test> {
    TESTS.iter().find(|test| test.name == name)
}

impl Test {
    /// The index of a result: ten times the result over the baseline's.
    pub fn index(&self, result: f64) -> f64 {
        10.0 * result / self.baseline
    }

    /// The seconds over which a count becomes a rate in its unit: 1 for loops per second, 60 for loops per minute,
    /// `None` where the program reports a rate itself.
    pub fn timebase_s(&self) -> Option<f64> {
        match self.unit {
            "lps" => Some(1.0),
            "lpm" => Some(60.0),
            _ => None,
        }
    }

    /// The result of several passes, in `unit`; see [`result`].
    pub fn result(&self, passes: &[Pass]) -> Option<f64> {
        result(passes, self.timebase_s())
    }
}

/// What all copies of a test did in one pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Sum of the copies' counts.
    pub count: f64,
    /// Mean of the copies' times, in seconds.
    pub time_s: f64,
}

/// The result of several passes: the geometric mean of count over time in units of `timebase_s`, or of the count
/// alone where it is already a rate. Leaves out the third (rounded down) with the smallest counts. `None` without
/// passes, or if a count or a time that matters is not above zero.
///
/// ```
/// use coho_profile::unixbench::{Pass, result};
/// let passes = [400.0, 100.0, 900.0].map(|count| Pass { count, time_s: 10.0 });
/// assert_eq!(result(&passes, Some(1.0)).map(f64::round), Some(60.0));
/// ```
pub fn result(passes: &[Pass], timebase_s: Option<f64>) -> Option<f64> {
    let mut passes = passes.to_vec();
    passes.sort_by(|a, b| a.count.total_cmp(&b.count));
    let kept = &passes[passes.len() / 3..];
    geometric_mean(kept.iter().map(|pass| match timebase_s {
        Some(timebase) => pass.count / (pass.time_s / timebase),
        None => pass.count,
    }))
}

/// The overall index of several tests: the geometric mean of theirs. `None` without tests, or if an index is not
/// above zero.
///
/// ```
/// assert_eq!(coho_profile::unixbench::score([10.0, 1000.0]).map(f64::round), Some(100.0));
/// ```
pub fn score(indices: impl IntoIterator<Item = f64>) -> Option<f64> {
    geometric_mean(indices)
}

fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0);
    for value in values {
        if !(value.is_finite() && value > 0.0) {
            return None;
        }
        sum += value.ln();
        n += 1;
    }
    (n > 0).then(|| (sum / f64::from(n)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;

    #[test]
    fn the_articles_scores_and_indices_come_out_of_its_tables() {
        let tables = published::paper("kimoto-bulldozer").publication().machines;
        let scores = tables.iter().map(|(_, profile)| {
            let workloads = profile.workloads.as_ref().unwrap();
            assert_eq!(workloads.results.len(), TESTS.len() + 1, "{KERNEL_BUILD} is none of UnixBench's");
            let indices = TESTS.iter().zip(&workloads.results).map(|(test, row)| {
                assert_eq!((test.name, test.unit), (&*row.test, &*row.unit));
                let index = test.index(row.value.as_ref().unwrap().median);
                // UnixBench computes an index from a result that it rounds only to print it.
                assert!((index - row.index.unwrap()).abs() < 0.11, "{}", test.name);
                index
            });
            let exact = score(indices).unwrap();
            let printed = workloads.scores[0].index;
            assert!((exact - printed).abs() < 0.05, "{exact} is printed as {printed}");
            (exact * 100.0).round() / 100.0
        });
        assert_eq!(scores.collect::<Vec<_>>(), [650.51, 631.82, 733.48, 720.22]);
    }

    #[test]
    fn the_worst_third_is_dropped_and_rates_take_no_time() {
        let passes: Vec<Pass> = (1..=10).map(|count| Pass { count: f64::from(count), time_s: 2.0 }).collect();
        let rest = (4..=10).map(|count| f64::from(count).ln()).sum::<f64>() / 7.0;
        assert!((result(&passes, None).unwrap().ln() - rest).abs() < 1e-12);
        let minutes = result(&passes, Some(60.0)).unwrap();
        assert!((minutes / result(&passes, None).unwrap() - 30.0).abs() < 1e-9);
        assert_eq!((result(&[], None), score([])), (None, None));
        assert_eq!(result(&[Pass { count: 0.0, time_s: 1.0 }], Some(1.0)), None);
    }
}
