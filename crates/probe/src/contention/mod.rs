//! What CPUs cost each other when they work on one line at the same time: time, throughput and fairness.
//!
//! From the outside inwards: `survey` visits every operation on every choice of CPUs in passes of random order; a
//! `visit` runs some short batches on the CPUs' workers, each with a common start; `operation` is what one CPU does to
//! the line; `window` computes figures from what all have recorded, for the time in which all were at work; `settle`
//! turns the figures into rows.

mod line;
mod operation;
mod settle;
mod survey;
mod visit;
mod window;

use coho_profile::{Contention, LineOperation, Method};
use coho_sync::Mapping;

use crate::experiment::{Surveyed, Times};
use crate::{Around, Course, Error, Experiment};

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How many CPUs work at once; powers of two and all if empty. One CPU alone is always measured.
    pub threads: Vec<u32>,
    /// What they do to the line.
    pub operations: Vec<LineOperation>,
    /// Which of the CPUs: the nearest to each other, the farthest.
    pub mappings: Vec<Mapping>,
    /// Fewer passes, fewer batches.
    pub quick: bool,
    /// Where, and for how long.
    pub course: Course,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            operations: LineOperation::ALL.to_vec(),
            mappings: Mapping::ALL.to_vec(),
            quick: false,
            course: Course::default(),
        }
    }
}

/// Every operation on one line, by one CPU and by several at once, in passes of random order. For a CPU that is lost
/// during the run, there is a reason in place of its figures.
///
/// ```
/// use coho_probe::{Around, Experiment, contention::Options};
/// let options = Options { threads: vec![1], quick: true, ..Options::default() };
/// let topology = coho_topology::detect()?;
/// let contention = options.measure(&mut Around::new(&topology, &mut |_| ()))?;
/// assert!(contention.rows.iter().all(|row| row.shares.is_empty() || row.shares == [1.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Experiment for Options {
    type Section = Contention;

    fn has_figures(section: &Contention) -> bool {
        section.rows.iter().any(|row| row.ns.is_some())
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Contention, Error> {
        survey::run(self, around)
    }
}

impl Surveyed for Options {
    const TIMES: Times = Times::seconds(2, 10);
    const NEEDS_TWO: &'static [&'static str] = &["many CPUs on one line"];

    fn in_survey(_: bool, course: Course) -> Self {
        Self { quick: true, course, ..Self::default() }
    }

    fn method(section: &mut Contention) -> &mut Method {
        &mut section.method
    }
}
