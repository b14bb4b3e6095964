//! When an experiment ends: at its time limit, or by the wish to stop.

use std::time::{Duration, Instant};

use coho_platform::stop;

/// When an experiment has to end: at its time limit or as soon as a stop is requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End(Option<Instant>);

impl End {
    /// A limit that no clock reaches is none.
    pub(crate) fn after(start: Instant, limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| start.checked_add(limit)))
    }

    pub(crate) fn has_come(self) -> bool {
        stop::requested() || self.0.is_some_and(|end| Instant::now() >= end)
    }
}
