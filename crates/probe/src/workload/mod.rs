//! System workloads under placements: UnixBench's tests and a build, with the conditions that they ran under (Kimoto).
//!
//! What is run is [`coho_workloads::unixbench`]'s.

mod clocks;
mod forbidding;
mod pairs;
mod plan;
mod row;
mod sharing;
mod survey;
mod witness;

use std::path::PathBuf;
use std::time::Duration;

use coho_profile::Workloads;

pub use coho_workloads::unixbench::{Test, Unit};

use crate::idle::Root;
use crate::placement::Placement;
use crate::{Around, Course, Error, Experiment};

/// What to run, where and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The tests.
    pub tests: Vec<Test>,
    /// Where the copies run. For pairs of processes every class of pair is measured as well.
    pub placements: Vec<Placement>,
    /// Numbers of copies; one, and as many as there are CPUs, if empty.
    pub copies: Vec<u32>,
    /// Whether kernels that depend on one resource are run on pairs of every class.
    pub sharing: bool,
    /// Time of a sample; a build takes as long as it takes.
    pub sample: Duration,
    /// Samples of each test, placement and number of copies.
    pub passes: u64,
    /// A built UnixBench, whose programs are run alternately with ours.
    pub peer: Option<PathBuf>,
    /// Idle states, by name, that are forbidden during a second sample beside each.
    pub without_idle: Vec<String>,
    /// Where the kernel's files of idle states are.
    pub idle_root: Root,
    /// A folder with a program's sources and a makefile, which test `build` builds in place of coho's own.
    pub source: Option<PathBuf>,
    /// Where to make the folder that the tests work in; in memory if there is none.
    pub folder: Option<PathBuf>,
    /// Where, and for how long.
    pub course: Course,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tests: Test::all().collect(),
            placements: vec![Placement::None, Placement::Compact, Placement::Spread],
            copies: Vec::new(),
            sharing: true,
            sample: Duration::from_secs(1),
            passes: 6,
            peer: None,
            without_idle: Vec::new(),
            idle_root: Root::default(),
            source: None,
            folder: None,
            course: Course::default(),
        }
    }
}

impl Options {
    /// Fewer and shorter samples: the order of magnitude and the order of placements, but no 95 % interval.
    pub fn quick() -> Self {
        Self { sample: Duration::from_millis(200), passes: 3, ..Self::default() }
    }
}

/// The tests in passes of random order. However this process ends, the tests' processes end with it, and their folder is
/// removed.
impl Experiment for Options {
    type Section = Workloads;

    fn has_figures(section: &Workloads) -> bool {
        section.results.iter().any(|result| result.value.is_some())
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Workloads, Error> {
        survey::run(self, around)
    }
}
