//! Barriers, fork and join: how near they come to what the machine allows, beside their peers (Nakamura et al., Figs.
//! 4-1 to 4-3).

mod burst;
mod cell;
mod extra_line;
mod fork_join;
mod limit;
mod names;
mod own_lines;
mod peers;
mod serial;
mod settle;
mod survey;
pub mod waiting;
mod with_programs;

use std::time::Duration;

use coho_profile::Sync;
use coho_sync::{Algorithm, Mapping};

pub use burst::Bursts;
pub use names::{barrier_name, layout_name};
pub(crate) use names::{same_places, team_sizes};
pub use with_programs::WithPrograms;

use crate::{Around, Course, Error, Experiment};

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Numbers of threads; powers of two and all CPUs if empty. If there are more threads than CPUs, they share them.
    pub threads: Vec<u32>,
    /// The algorithms; [`Algorithm::Auto`] is the one that it chooses for the team.
    pub algorithms: Vec<Algorithm>,
    /// Which CPUs the ranks take.
    pub mappings: Vec<Mapping>,
    /// Whether other libraries are measured too, as far as the machine has them.
    pub peers: bool,
    /// About how long a burst of barriers should take. The default is short compared with a time slice, so that the
    /// median describes undisturbed barriers; with many time slices, it shows what other users of the CPUs cost.
    pub burst: Duration,
    /// Fewer passes.
    pub quick: bool,
    /// Where, and for how long.
    pub course: Course,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            algorithms: Algorithm::ALL.to_vec(),
            mappings: vec![Mapping::Sequential, Mapping::BinaryTree],
            peers: false,
            burst: Duration::from_micros(30),
            quick: false,
            course: Course::default(),
        }
    }
}

/// Barriers, fork and join, and the limit that the CPUs' one-way times set, in passes of random order. Programs that
/// the section holds stay.
impl Experiment for Options {
    type Section = Sync;

    fn name(&self) -> &'static str {
        "barriers"
    }

    fn has_figures(section: &Sync) -> bool {
        section.barriers.iter().any(|barrier| barrier.ns.is_some())
            || section.fork_join.iter().any(|fork_join| fork_join.total_ns.is_some())
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Sync, Error> {
        survey::run(self, around)
    }

    fn holds(&self, earlier: &Sync) -> bool {
        !earlier.barriers.is_empty()
    }

    fn merge(&self, measured: &mut Sync, earlier: &Sync) -> bool {
        measured.kernels.clone_from(&earlier.kernels);
        true
    }
}
