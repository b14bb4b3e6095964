//! System workloads under placements: UnixBench's tests and a build, with the conditions that they ran under (Kimoto).
//!
//! What is run is [`coho_workloads::unixbench`]'s.

mod clocks;
mod pairs;
mod plan;
mod sharing;
mod survey;
mod witness;

use std::path::PathBuf;
use std::time::Duration;

use coho_profile::Workloads;
use coho_topology::Topology;

pub use coho_workloads::unixbench::{Test, Unit};

use crate::placement::Placement;
use crate::{Error, Progress};

/// What to run, where and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The tests.
    pub tests: Vec<Test>,
    /// Where the copies run. For pairs of processes every class of pair is measured as well.
    pub placements: Vec<Placement>,
    /// Numbers of copies; one, and as many as there are CPUs, if empty.
    pub copies: Vec<u32>,
    /// The CPUs, by operating-system number; all that the process may use if empty.
    pub cpus: Vec<u32>,
    /// Whether kernels that depend on one resource are run on pairs of every class.
    pub sharing: bool,
    /// Time of a sample; a build takes as long as it takes.
    pub sample: Duration,
    /// Samples of each test, placement and number of copies.
    pub passes: u64,
    /// A built UnixBench, whose programs are run alternately with ours.
    pub peer: Option<PathBuf>,
    /// Where to make the folder that the tests work in; in memory if there is none.
    pub folder: Option<PathBuf>,
    /// Stop after this time and keep what is done.
    pub time_limit: Option<Duration>,
    /// Seed of the random order.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tests: Test::all().collect(),
            placements: vec![Placement::None, Placement::Compact, Placement::Spread],
            copies: Vec::new(),
            cpus: Vec::new(),
            sharing: true,
            sample: Duration::from_secs(1),
            passes: 6,
            peer: None,
            folder: None,
            time_limit: None,
            seed: 0,
        }
    }
}

impl Options {
    /// Fewer and shorter samples: the order of magnitude and the order of placements, but no 95 % interval.
    pub fn quick() -> Self {
        Self { sample: Duration::from_millis(200), passes: 3, ..Self::default() }
    }
}

/// Runs the tests in passes of random order.
///
/// A stop ([`coho_platform::stop`]) or the time limit ends it early: what it has is returned, marked as interrupted.
/// However this process ends, the tests' processes end with it, and their folder is removed.
///
/// # Errors
/// If a CPU cannot be used, there is no folder to work in, or `peer` holds no built UnixBench.
pub fn measure(
    options: &Options,
    topology: &Topology,
    progress: &mut dyn FnMut(Progress),
) -> Result<Workloads, Error> {
    survey::run(options, topology, progress)
}
