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
mod distance;
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
pub mod sample;
mod sampled;
mod schedule;
mod singles;
mod steady;
mod survey;
mod sync;
mod then_watched;
mod turn;
pub(crate) mod visit;
pub(crate) mod watch;

use coho_profile::{Coherence, Home, PairMethod};

pub(crate) use distance::Distance;
pub(crate) use nearness::nearness;
use survey::Survey;
pub use then_watched::ThenWatched;
pub use watch::Watch;

use crate::{Around, Course, Error, Experiment};

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which pairs of CPUs.
    pub pairs: Pairs,
    /// What the CPUs do with the line; if empty, everything or, on more than [`MANY`] CPUs, which have too many pairs, only
    /// `turn`.
    pub methods: Vec<PairMethod>,
    /// Which CPU's first touch places the line; if empty, that of each of the two or, on more than [`MANY`] CPUs, only the
    /// first one's.
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
    /// Where, and for how long.
    pub course: Course,
    /// An earlier section of the same machine: its stable figures are kept, the others measured.
    pub resume: Option<Coherence>,
}

/// With more CPUs than this, only one method and home and a sample of the pairs is measured unless more is asked for.
pub const MANY: usize = 64;

/// Which pairs to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pairs {
    /// [`Pairs::Sample`] of more than [`MANY`] CPUs, otherwise [`Pairs::All`].
    #[default]
    Enough,
    /// Each CPU with each other.
    All,
    /// Those that show which CPUs are near each other, and some at random ([`sample`](mod@sample)): a few for each CPU.
    Sample,
    /// Each CPU with one partner inside its closest claimed level and one outside the widest: enough to contradict
    /// claims, in time that grows with the number of CPUs, not with its square.
    Audit,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pairs: Pairs::Enough,
            methods: Vec::new(),
            homes: Vec::new(),
            passes: 9,
            extra_passes: 12,
            target_half_width: 0.02,
            reads: true,
            quick: false,
            concurrent: true,
            course: Course::default(),
            resume: None,
        }
    }
}

impl Options {
    /// Options for a first look: on two CPUs it takes a second or two.
    pub fn quick() -> Self {
        Self { passes: 6, extra_passes: 3, quick: true, ..Self::default() }
    }

    /// What one CPU alone allows: increments of a line that nobody else uses. What takes two is named in
    /// `method.not_available`.
    fn measure_alone(&self, around: &mut Around<'_>) -> Result<Coherence, Error> {
        let mut survey = Survey::start(self, around, 1)?;
        survey.measure_alone();
        survey.frame.lacks("times between CPUs", "they need two CPUs, and this run has one");
        Ok(survey.finish())
    }
}

/// A CPU that is lost during the run is left out from then on and named in `method.not_available`.
///
/// There must be two CPUs.
impl Experiment for Options {
    type Section = Coherence;

    fn has_figures(section: &Coherence) -> bool {
        section.times().next().is_some() || !section.singles.is_empty() || section.timeline.is_some()
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Coherence, Error> {
        let mut survey = Survey::start(self, around, 2)?;
        survey.measure_pairs();
        if self.reads {
            survey.measure_reads();
        }
        Ok(survey.finish())
    }

    /// A run that goes on from an earlier one keeps what is stable in that.
    fn holds(&self, _: &Coherence) -> bool {
        self.resume.is_none()
    }

    /// A pair is watched by a run of its own.
    fn merge(&self, measured: &mut Coherence, earlier: &Coherence) -> bool {
        measured.timeline = measured.timeline.take().or_else(|| earlier.timeline.clone());
        true
    }
}
