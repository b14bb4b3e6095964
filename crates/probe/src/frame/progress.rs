//! How far an experiment is.

use std::time::{Duration, Instant};

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What is being measured.
    pub phase: &'static str,
    /// Steps done.
    pub done: u64,
    /// Steps in all, as far as known.
    pub total: u64,
    /// Time left, estimated from the steps done.
    pub left: Option<Duration>,
}

/// The longest time left that is reported.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// A part of an experiment, whose steps take about the same time each.
#[derive(Debug)]
pub(crate) struct Phase {
    name: &'static str,
    began: Instant,
    done: u64,
    total: u64,
    /// Its set time, whatever its steps.
    time: Option<Duration>,
}

impl Phase {
    /// One that begins now.
    pub(crate) fn new(name: &'static str, total: u64) -> Self {
        Self { name, began: Instant::now(), done: 0, total, time: None }
    }

    /// One that begins now and has a set time; its steps are milliseconds.
    pub(crate) fn of_time(name: &'static str, time: Duration) -> Self {
        Self { time: Some(time), ..Self::new(name, time.as_millis() as u64) }
    }

    /// Adds steps that have turned out to be necessary.
    pub(crate) fn grow(&mut self, steps: u64) {
        self.total += steps;
    }

    /// Records that this many further steps are done.
    pub(crate) fn advance(&mut self, steps: u64) -> Progress {
        let elapsed = self.began.elapsed();
        let (phase, total) = (self.name, self.total);
        if let Some(time) = self.time {
            let done = elapsed.min(time).as_millis() as u64;
            return Progress { phase, done, total, left: Some(time.saturating_sub(elapsed)) };
        }
        self.done += steps;
        let rest = total.saturating_sub(self.done) as f64 / self.done as f64;
        let left = Duration::try_from_secs_f64(elapsed.as_secs_f64() * rest).ok();
        Progress { phase, done: self.done, total, left: left.map(|left| left.min(LONGEST)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_the_steps_done() {
        let hour = Duration::from_secs(3600);
        let ago = |phase: Phase| Phase { began: Instant::now().checked_sub(hour).unwrap(), ..phase };
        let mut phase = ago(Phase::new("pairs", 4));
        assert_eq!(phase.advance(0).left, None, "nothing is known yet");
        let after = phase.advance(1);
        assert_eq!((after.done, after.total, after.left.unwrap().as_secs()), (1, 4, 3 * 3600));
        phase.grow(3);
        assert_eq!(phase.advance(1).left.unwrap().as_secs(), 5 * 1800);
        assert_eq!(phase.advance(9).left, Some(Duration::ZERO));
        let timed = ago(Phase::of_time("watch", 2 * hour)).advance(7);
        assert_eq!((timed.done / 60_000, timed.total / 60_000), (60, 120));
        assert_eq!(timed.left.unwrap().as_secs(), 3599);
    }
}
