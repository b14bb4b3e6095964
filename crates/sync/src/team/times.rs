//! Fork and join, timed separately (Nakamura et al.).

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{Member, Team};
use crate::padded::Padded;

/// What a run took. Each time includes a reading of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// From the caller's start to the last member's start.
    pub fork: Duration,
    /// From the last member's start to the last member's end.
    pub work: Duration,
    /// From the last member's end to the caller's return.
    pub join: Duration,
}

impl Team {
    /// As [`Team::run`], but also returns what fork and join took.
    ///
    /// # Panics
    /// As for [`Team::run`].
    pub fn run_timed(&mut self, body: impl Fn(&Member<'_>) + Sync) -> Times {
        let stamps: Vec<_> = (0..self.size()).map(|_| Padded(OnceLock::new())).collect();
        let start = Instant::now();
        self.run(|member| {
            let begun = Instant::now();
            body(member);
            // Each member has a place of its own.
            let _ = stamps[member.rank()].set((begun, Instant::now()));
        });
        let end = Instant::now();
        let stamps = stamps.iter().filter_map(|stamp| stamp.get());
        let (begun, ended) = stamps.fold((start, start), |all, one| (all.0.max(one.0), all.1.max(one.1)));
        Times {
            fork: begun.saturating_duration_since(start),
            work: ended.saturating_duration_since(begun),
            join: end.saturating_duration_since(ended),
        }
    }
}
