//! Whether an experiment produced any figures.

use coho_profile::{Calls, Coherence, Contention, Counters, Idle, Memory, Sync};

/// A section of the survey.
pub trait Figures {
    /// Whether it holds a measured figure, rather than just reasons why there is none.
    fn has_figures(&self) -> bool;
}

impl Figures for Coherence {
    fn has_figures(&self) -> bool {
        self.times().next().is_some() || !self.singles.is_empty() || self.timeline.is_some()
    }
}

impl Figures for Counters {
    fn has_figures(&self) -> bool {
        !self.tools.is_empty() || !self.events.is_empty() || self.empty_ns.is_some()
    }
}

impl Figures for Calls {
    fn has_figures(&self) -> bool {
        !self.calls.is_empty()
    }
}

impl Figures for Memory {
    fn has_figures(&self) -> bool {
        !self.parts().is_empty()
    }
}

/// Programs do not count: those of an earlier survey may still be there.
impl Figures for Sync {
    fn has_figures(&self) -> bool {
        self.barriers.iter().any(|barrier| barrier.ns.is_some())
            || self.fork_join.iter().any(|fork_join| fork_join.total_ns.is_some())
    }
}

impl Figures for Contention {
    fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| row.ns.is_some())
    }
}

impl Figures for Idle {
    fn has_figures(&self) -> bool {
        self.wakeups.iter().any(|wakeup| wakeup.ns.is_some())
    }
}
