//! Latency on one CPU while others move data.
//!
//! From the outside inwards: for each pair of a reader's node and a memory node, `survey` visits every kind of traffic and
//! pause in passes of random order; a `visit` times loads that wait for each other, as long as all others are under way;
//! `traffic` is what one of the others does.

mod survey;
mod traffic;
mod visit;

use coho_profile::{Loaded, Method, Traffic};

use crate::experiment::{Surveyed, Times};
use crate::{Around, Course, Error, Experiment};

/// What to measure and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// What the other CPUs do; the latency while they do nothing is always measured.
    pub traffic: Vec<Traffic>,
    /// Fewer pauses and passes.
    pub quick: bool,
    /// Where, and for how long. The first CPU of each node reads, all others move data.
    pub course: Course,
}

impl Default for Options {
    fn default() -> Self {
        Self { traffic: Traffic::ALL.to_vec(), quick: false, course: Course::default() }
    }
}

/// Latency by what the other CPUs move, in passes of random order.
///
/// ```no_run
/// use coho_probe::{Around, Experiment, memory::loaded::Options};
/// let options = Options { quick: true, ..Options::default() };
/// let topology = coho_topology::detect()?;
/// let loaded = options.measure(&mut Around::new(&topology, &mut |_| ()))?;
/// assert!(loaded.rows.iter().all(|row| row.threads > 0 || row.pause_ns == 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Experiment for Options {
    type Section = Loaded;

    fn has_figures(section: &Loaded) -> bool {
        section.rows.iter().any(|row| row.latency_ns.is_some())
    }

    fn measure(&self, around: &mut Around<'_>) -> Result<Loaded, Error> {
        survey::run(self, around)
    }
}

impl Surveyed for Options {
    const TIMES: Times = Times::seconds(2, 8);
    const NEEDS_TWO: &'static [&'static str] = &["latency under load"];

    fn in_survey(quick: bool, course: Course) -> Self {
        Self { quick, course, ..Self::default() }
    }

    fn method(section: &mut Loaded) -> &mut Method {
        &mut section.method
    }
}
