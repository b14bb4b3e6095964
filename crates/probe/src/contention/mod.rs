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

use std::time::Duration;

use coho_profile::{Contention, LineOperation};
use coho_sync::Mapping;
use coho_topology::Topology;

use crate::{Error, Progress};

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The CPUs, by operating-system number; all that the process may use if empty.
    pub cpus: Vec<u32>,
    /// How many of them work at once; powers of two and all if empty. One CPU alone is always measured.
    pub threads: Vec<u32>,
    /// What they do to the line.
    pub operations: Vec<LineOperation>,
    /// Which of the CPUs: the nearest to each other, the farthest.
    pub mappings: Vec<Mapping>,
    /// Fewer passes, fewer batches.
    pub quick: bool,
    /// Stop after this time and keep what is done.
    pub time_limit: Option<Duration>,
    /// Seed of the random order.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpus: Vec::new(),
            threads: Vec::new(),
            operations: LineOperation::ALL.to_vec(),
            mappings: Mapping::ALL.to_vec(),
            quick: false,
            time_limit: None,
            seed: 0,
        }
    }
}

/// Measures every operation on one line, by one CPU and by several at once, in passes of random order.
///
/// A stop ([`coho_platform::stop`]) or the time limit ends it early: what it has is returned, marked as interrupted.
///
/// # Errors
/// If a CPU cannot be used. For a CPU that is lost during the run, there is a reason in place of its figures.
///
/// ```
/// use coho_probe::contention::{Options, measure};
/// let options = Options { threads: vec![1], quick: true, ..Options::default() };
/// let contention = measure(&options, &coho_topology::detect()?, &mut |_| ())?;
/// assert!(contention.rows.iter().all(|row| row.shares.is_empty() || row.shares == [1.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn measure(
    options: &Options,
    topology: &Topology,
    progress: &mut dyn FnMut(Progress),
) -> Result<Contention, Error> {
    survey::run(options, topology, progress)
}
