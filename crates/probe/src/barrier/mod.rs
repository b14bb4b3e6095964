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
use coho_topology::Topology;

pub use names::{barrier_name, layout_name};
pub(crate) use names::{same_places, team_sizes};
pub use with_programs::WithPrograms;

use crate::{Error, Progress};

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The CPUs, by operating-system number; all that the process may use if empty.
    pub cpus: Vec<u32>,
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
            algorithms: Algorithm::ALL.to_vec(),
            mappings: vec![Mapping::Sequential, Mapping::BinaryTree],
            peers: false,
            burst: Duration::from_micros(30),
            quick: false,
            time_limit: None,
            seed: 0,
        }
    }
}

/// Measures barriers, fork and join, and the limit that the CPUs' one-way times set, in passes of random order.
///
/// A stop ([`coho_platform::stop`]) or the time limit ends it early: what it has is returned, marked as interrupted.
///
/// # Errors
/// If a CPU cannot be used, or an algorithm is not available for this number of threads.
pub fn measure(
    options: &Options,
    topology: &Topology,
    progress: &mut dyn FnMut(Progress),
) -> Result<Sync, Error> {
    survey::run(options, topology, progress)
}
