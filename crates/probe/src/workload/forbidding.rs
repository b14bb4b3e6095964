//! Idle states that are forbidden during every other sample (Kimoto).

use std::time::Instant;

use super::Options;
use crate::Error;
use crate::idle::control::{Held, Plan, Wish};
use crate::idle::{Root, states_time_us};

/// CPUs that are in a state for less than this share of what they were with it allowed are kept out of it: a stay that
/// began before counts at its end.
const LEFT: f64 = 0.05;

/// The states, and for how long CPUs were asked to be in them.
pub(super) struct Forbidding {
    root: Root,
    plan: Plan,
    allowed: Stay,
    forbidden: Stay,
}

/// Time in the states, and the CPUs' time in which it was counted, in us.
#[derive(Debug, Clone, Copy, Default)]
struct Stay {
    in_states: f64,
    of: f64,
}

impl Forbidding {
    /// Prepares to forbid what is asked for, and tries it; `None` if nothing is.
    ///
    /// # Errors
    /// If it is not possible here.
    pub(super) fn of(options: &Options) -> Result<Option<Self>, Error> {
        if options.without_idle.is_empty() {
            return Ok(None);
        }
        let wish = Wish { disable: options.without_idle.clone(), ..Wish::default() };
        let plan = Plan::of(&options.idle_root, &wish)?;
        Held::apply(&options.idle_root, &plan)?.restore()?;
        let root = options.idle_root.clone();
        Ok(Some(Self { root, plan, allowed: Stay::default(), forbidden: Stay::default() }))
    }

    /// Does work while the states are forbidden.
    ///
    /// # Errors
    /// If they cannot be forbidden, or not be allowed again.
    pub(super) fn without<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, Error> {
        let held = Held::apply(&self.root, &self.plan)?;
        let (value, stay) = self.counted(work);
        self.forbidden.add(stay);
        held.restore()?;
        Ok(value)
    }

    /// Does work while they are as they were.
    pub(super) fn with<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (value, stay) = self.counted(work);
        self.allowed.add(stay);
        value
    }

    fn counted<T>(&self, work: impl FnOnce() -> T) -> (T, Option<Stay>) {
        let forbidden = self.plan.forbidden();
        let before = states_time_us(&self.root, forbidden);
        let begun = Instant::now();
        let value = work();
        let elapsed = begun.elapsed().as_secs_f64() * 1e6;
        let stay = before.zip(states_time_us(&self.root, forbidden)).map(|(before, after)| Stay {
            in_states: after.saturating_sub(before) as f64,
            of: elapsed * forbidden.len() as f64,
        });
        (value, stay)
    }

    /// Whether it had an effect, by the kernel's counters.
    pub(super) fn status(&self) -> String {
        status(self.allowed.share(), self.forbidden.share())
    }
}

impl Stay {
    fn add(&mut self, other: Option<Self>) {
        let Some(other) = other else { return };
        self.in_states += other.in_states;
        self.of += other.of;
    }

    fn share(self) -> Option<f64> {
        (self.of > 0.0).then(|| (self.in_states / self.of).min(1.0))
    }
}

fn status(allowed: Option<f64>, forbidden: Option<f64>) -> String {
    let (Some(allowed), Some(forbidden)) = (allowed, forbidden) else {
        return "set, not verifiable: the kernel does not count the time in these states".into();
    };
    let [with, without] = [allowed, forbidden].map(|share| format!("{:.1} %", 100.0 * share));
    let shares =
        format!("CPUs were in them for {without} of the time, and for {with} while they were allowed");
    match (allowed, forbidden) {
        (0.0, 0.0) => "set, not verifiable: no CPU was in these states even while they were allowed".into(),
        _ if forbidden <= LEFT * allowed => format!("set and verified: {shares}"),
        _ => format!("set, without effect: {shares}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_states_tell_whether_it_had_an_effect() {
        let began = |allowed, forbidden| status(allowed, forbidden).split(':').next().unwrap().to_owned();
        assert_eq!(began(Some(0.4), Some(0.001)), "set and verified");
        assert_eq!(began(Some(0.4), Some(0.3)), "set, without effect");
        assert_eq!(began(Some(0.0), Some(0.1)), "set, without effect");
        assert_eq!(began(Some(0.0), Some(0.0)), "set, not verifiable");
        assert_eq!(began(Some(0.4), None), "set, not verifiable");
        let stay = |in_states, of| Some(Stay { in_states, of });
        let mut all = Stay::default();
        assert_eq!(all.share(), None);
        all.add(stay(30.0, 100.0));
        all.add(None);
        all.add(stay(10.0, 100.0));
        assert_eq!(all.share(), Some(0.2));
    }
}
