//! When an experiment ends: at its time limit, or when a stop is requested.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use coho_platform::stop;

/// When an experiment has to end: at its time limit or as soon as a stop is requested. Clones share the same end.
#[derive(Debug, Clone)]
pub(crate) struct End {
    at: Option<Instant>,
    /// Whether anybody has been told that it has come.
    heard: Arc<AtomicBool>,
}

impl End {
    /// A limit that no clock can reach counts as none.
    pub(crate) fn after(start: Instant, limit: Option<Duration>) -> Self {
        Self { at: limit.and_then(|limit| start.checked_add(limit)), heard: Arc::default() }
    }

    /// Whether it has come. Ask only while there is work left: a caller that gets `true` must skip that work, and the
    /// experiment counts as interrupted from then on.
    pub(crate) fn has_come(&self) -> bool {
        let is_over = || stop::requested() || self.at.is_some_and(|end| Instant::now() >= end);
        if !self.was_heard() && is_over() {
            self.come();
        }
        self.was_heard()
    }

    /// Makes it come now, as the rest cannot be done.
    pub(crate) fn come(&self) {
        self.heard.store(true, Relaxed);
    }

    /// Whether something was left out because of it.
    pub(crate) fn was_heard(&self) -> bool {
        self.heard.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_hears_of_the_end_is_interrupted() {
        let now = Instant::now();
        let (never, past) = (End::after(now, Some(Duration::MAX)), End::after(now, Some(Duration::ZERO)));
        assert!(!never.has_come() && !never.was_heard());
        assert!(!past.was_heard(), "nobody has asked");
        assert!(past.clone().has_come() && past.was_heard(), "a clone is the same end");
        never.come();
        assert!(never.has_come());
    }
}
