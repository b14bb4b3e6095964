//! Programs that depend on barriers (Nakamura et al., sections 3 and 4): a loop, an untuned solver and a tuned one.
//!
//! - `daxpy`: A(i) = B(i) + s C(i), where each loop is a parallel region, by its length; [`fitted`] derives the
//!   constants of the paper's model from it.
//! - `galerkin`: natural convection by a spectral method, in many short parallel loops, as SPEC's galgel was run
//!   there.
//! - `weather`: a shallow-water model in one parallel region with one barrier per stage, as the paper's weather
//!   model.
//!
//! All compute real results, which are checked after every visit: the loop by its elements; the applications must
//! reproduce the result of one thread to the last bit and conserve what they should. Teams never have more threads
//! than there are CPUs.

mod survey;
mod visit;

use coho_profile::{Kernel, Sync, fitted};
use coho_sync::{Algorithm, Mapping};
use coho_topology::{CacheKind, Topology};
use coho_workloads::kernels::{BYTES, Daxpy, Galerkin, Weather};

use crate::{Around, Course, Error, Experiment};

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// A(i) = B(i) + s C(i), by loop length.
    Daxpy,
    /// Natural convection by a spectral Galerkin method; many short parallel loops.
    Galerkin,
    /// A shallow-water dynamical core; one parallel region, few barriers.
    Weather,
}

impl Which {
    /// All programs, in the paper's order.
    pub const ALL: [Self; 3] = [Self::Daxpy, Self::Galerkin, Self::Weather];

    /// The program's name in the profile.
    pub fn name(self) -> &'static str {
        match self {
            Self::Daxpy => "daxpy",
            Self::Galerkin => "galerkin",
            Self::Weather => "weather",
        }
    }
}

/// A program under every barrier, mapping and number of threads. A team that cannot be created, or that loses a CPU
/// during the run, is named in `method.not_available`.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The program.
    pub which: Which,
    /// Sizes of teams; powers of two and all CPUs if empty. One thread is always measured too.
    pub threads: Vec<u32>,
    /// The barriers used for fork, join and inside regions.
    pub barriers: Vec<Algorithm>,
    /// Where the ranks run.
    pub mappings: Vec<Mapping>,
    /// Fewer sizes, batches and passes: seconds on two CPUs.
    pub quick: bool,
    /// Where, and for how long.
    pub course: Course,
}

impl Options {
    /// The usual barriers and mappings.
    pub fn of(which: Which) -> Self {
        Self {
            which,
            threads: Vec::new(),
            barriers: vec![Algorithm::Lock, Algorithm::Fbs],
            mappings: vec![Mapping::Sequential, Mapping::BinaryTree],
            quick: false,
            course: Course::default(),
        }
    }

    /// Runs the program.
    ///
    /// # Errors
    /// If a team would have more threads than there are CPUs, a requested CPU cannot be used, memory is short, or a
    /// result is wrong, which only a broken barrier or memory explains.
    pub fn run(&self, around: &mut Around<'_>) -> Result<Kernel, Error> {
        if self.barriers.is_empty() || self.mappings.is_empty() {
            return Err(Error::argument("there is no barrier or no mapping to measure"));
        }
        let topology = around.topology;
        match self.which {
            Which::Daxpy => {
                let program = Daxpy::up_to(reach(self, topology));
                let mut kernel = survey::run(&program, self, around)?;
                for point in &mut kernel.points {
                    point.length = point.size.take();
                }
                // The time of an element is constant as long as all of one thread's loop is in its own cache.
                let constants =
                    fitted::fit(&kernel.points, cache(topology, 2).unwrap_or(SMALL_CACHE) / BYTES);
                match fitted::refusal(&constants) {
                    None => kernel.fitted = constants,
                    Some(why) => drop(kernel.method.not_available.insert("fitted constants".into(), why)),
                }
                kernel.invariant = "every element, as one thread computes it".into();
                Ok(kernel)
            }
            Which::Galerkin => {
                let modes: &[usize] = if self.quick { &[16] } else { &[12, 16, 24, 32, 48] };
                let mut kernel = survey::run(&Galerkin::new(modes)?, self, around)?;
                kernel.invariant = "energy of a stratified layer without diffusion".into();
                Ok(kernel)
            }
            Which::Weather => {
                let edges: &[usize] = if self.quick { &[64] } else { &[32, 64, 128, 256] };
                let mut kernel = survey::run(&Weather::new(edges)?, self, around)?;
                kernel.invariant = "total mass and energy".into();
                Ok(kernel)
            }
        }
    }
}

/// A part of the section beside barriers and other programs, which stay.
impl Experiment for Options {
    type Section = Sync;

    fn name(&self) -> &'static str {
        self.which.name()
    }

    fn has_figures(section: &Sync) -> bool {
        section.kernels.values().any(|kernel| !kernel.points.is_empty())
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Sync, Error> {
        let kernels = [(self.name().to_owned(), self.run(around)?)].into();
        Ok(Sync { kernels, ..Sync::default() })
    }

    fn holds(&self, earlier: &Sync) -> bool {
        earlier.kernels.get(self.name()).is_some_and(|kernel| !kernel.points.is_empty())
    }

    fn merge(&self, measured: &mut Sync, earlier: &Sync) -> bool {
        let own = std::mem::replace(measured, earlier.clone());
        measured.kernels.extend(own.kernels);
        true
    }
}

/// The assumed second-level cache, in bytes, if the topology has none.
const SMALL_CACHE: u64 = 256 << 10;

/// Size of the longest loop's arrays, in bytes: beyond the last cache (in a quick run only beyond the CPU's own), and
/// never more than a quarter of the free memory.
fn reach(options: &Options, topology: &Topology) -> u64 {
    let own = cache(topology, 2).unwrap_or(SMALL_CACHE);
    let last = (2..=4).filter_map(|level| cache(topology, level)).max().unwrap_or(own);
    let wanted = if options.quick { 4 * own } else { 2 * last };
    // The longest loop may be twice as long as asked for.
    wanted.min(coho_platform::memory::room() / 8)
}

/// Capacity of the smallest data cache of a level, in bytes.
fn cache(topology: &Topology, level: u8) -> Option<u64> {
    let data = |cache: &&coho_topology::Cache| cache.level == level && cache.kind != CacheKind::Instruction;
    topology.caches.iter().filter(data).map(|cache| cache.size_bytes).filter(|&bytes| bytes > 0).min()
}
