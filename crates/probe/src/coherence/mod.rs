//! What it costs CPUs to share a line.
//!
//! Each pair of CPUs meets in several passes, in random order, and measures every method and home on each visit:
//! `turn`, `flags` and `free-running` are different things and are never compared with each other. Batches take about
//! 12 us. A batch during which one of the CPUs was away is recognised by the other's long wait (or, in free-running, by
//! its share of the increments), counted, and left out of the figure. This works for the guest's scheduler and the
//! host's alike. Nothing waits for ever; a CPU that does not arrive at a meeting is reported as absent.

mod alternate;
pub(crate) mod arena;
mod by_line;
mod cells;
pub(crate) mod chase;
mod each_line;
mod flags;
mod free_running;
pub(crate) mod increment;
pub(crate) mod line;
pub(crate) mod line_spread;
mod meeting;
mod nearness;
mod passes;
mod patience;
mod reads;
pub(crate) mod run;
mod schedule;
mod singles;
mod steady;
mod survey;
mod sync;
mod then_watched;
mod turn;
pub(crate) mod visit;
mod watch;

use std::time::Duration;

use coho_profile::{Coherence, Home, PairMethod};

pub(crate) use nearness::nearness;
pub use survey::{measure, measure_alone};
pub use then_watched::ThenWatched;
pub use watch::watch;

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The CPUs, by operating-system number; all that the process may use if empty.
    pub cpus: Vec<u32>,
    /// Which pairs of them.
    pub pairs: Pairs,
    /// What the CPUs do with the line.
    pub methods: Vec<PairMethod>,
    /// Which CPU's first touch places the line.
    pub homes: Vec<Home>,
    /// Passes over all pairs.
    pub passes: u64,
    /// Further passes over cells that are unstable or not tight enough.
    pub extra_passes: u64,
    /// Relative half-width of a figure's 95 % interval that is tight enough.
    pub target_half_width: f64,
    /// Whether to measure loads of lines in known states; for one pair of each claimed class.
    pub reads: bool,
    /// Fewer sizes, repetitions and passes.
    pub quick: bool,
    /// Whether pairs may be measured at the same time if a pilot shows that they do not disturb each other.
    pub concurrent: bool,
    /// Stop after this time and keep what is done.
    pub time_limit: Option<Duration>,
    /// Seed of the random order.
    pub seed: u64,
    /// An earlier section of the same machine: its stable figures are kept, the others measured.
    pub resume: Option<Coherence>,
}

/// With more CPUs than this, [`Options::on`] asks for only one method and home.
pub const MANY: usize = 64;

/// Which pairs to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pairs {
    /// Each CPU with each other.
    #[default]
    All,
    /// Each CPU with one partner inside its closest claimed level and one outside the widest: enough to contradict
    /// claims, in time that grows with the number of CPUs, not with its square.
    Audit,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpus: Vec::new(),
            pairs: Pairs::All,
            methods: vec![PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning],
            homes: vec![Home::A, Home::B],
            passes: 5,
            extra_passes: 10,
            target_half_width: 0.02,
            reads: true,
            quick: false,
            concurrent: true,
            time_limit: None,
            seed: 0,
            resume: None,
        }
    }
}

impl Options {
    /// Options for a first look: on two CPUs it takes a second or two.
    pub fn quick() -> Self {
        Self { passes: 3, extra_passes: 3, quick: true, ..Self::default() }
    }

    /// For these CPUs (all that the process may use if empty). More than [`MANY`] CPUs have too many pairs: only one
    /// method and home is asked for; name the others to get them.
    ///
    /// # Errors
    /// If the operating system does not say which CPUs the process may use.
    pub fn on(self, cpus: Vec<u32>) -> Result<Self, crate::Error> {
        let n = if cpus.is_empty() { coho_platform::pin::allowed()?.len() } else { cpus.len() };
        let (methods, homes) =
            if n > MANY { (vec![PairMethod::Turn], vec![Home::A]) } else { (self.methods, self.homes) };
        Ok(Self { cpus, methods, homes, ..self })
    }
}
