//! Reports which ranks keep the others waiting.

use std::fmt;
use std::time::Duration;

/// A wait that has lasted long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// The rank that waits.
    pub rank: usize,
    /// How long it has waited.
    pub waited: Duration,
    /// The ranks that have not arrived, in ascending order.
    pub missing: Vec<usize>,
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rank {} has waited {:?} at a barrier; ranks that have not arrived: {:?}",
            self.rank, self.waited, self.missing
        )
    }
}

type Report = Box<dyn Fn(&Late) + Send + Sync>;

/// After how long to report, and the function to call.
pub(crate) struct Watchdog {
    pub(crate) patience: Duration,
    pub(crate) report: Report,
}

impl Watchdog {
    #[cold]
    pub(crate) fn report(&self, late: &Late) {
        (self.report)(late);
    }
}
