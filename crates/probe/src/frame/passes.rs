//! Things that are compared take turns: passes over all of them, each in a random order of its own.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::End;

/// A step of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// The number of the pass, from 0.
    pub(crate) pass: usize,
    /// Which of the things that are compared.
    pub(crate) at: usize,
    /// Whether it is the first of its pass.
    pub(crate) is_first: bool,
}

/// Passes over some things, until all are done or the end comes. A step is done when the next one is asked for.
#[derive(Debug)]
pub(crate) struct Passes {
    order: Vec<usize>,
    passes: usize,
    /// Steps that were given out.
    given: usize,
    random: Rng,
    end: End,
    /// When the time set aside for them is over.
    over: Option<Instant>,
}

impl Passes {
    /// `passes` passes over `things` things.
    pub(crate) fn new(passes: usize, things: usize, random: &mut Rng, end: &End) -> Self {
        let order = (0..things).collect();
        Self { order, passes, given: 0, random: random.fork(), end: end.clone(), over: None }
    }

    /// Limits them to the time given; passes that are left out for this do not count as interrupted.
    pub(crate) fn within(self, time: Duration) -> Self {
        Self { over: Instant::now().checked_add(time), ..self }
    }

    /// Steps that were given out.
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// Steps of all passes.
    pub(crate) fn total(&self) -> usize {
        self.passes * self.order.len()
    }

    /// Passes that came to their end.
    pub(crate) fn complete(&self) -> usize {
        self.given.checked_div(self.order.len()).unwrap_or(0)
    }
}

impl Iterator for Passes {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let is_over = self.given == self.total() || self.over.is_some_and(|over| Instant::now() >= over);
        if is_over || self.end.has_come() {
            return None;
        }
        let (pass, place) = (self.given / self.order.len(), self.given % self.order.len());
        if place == 0 {
            self.random.shuffle(&mut self.order);
        }
        self.given += 1;
        Some(Step { pass, at: self.order[place], is_first: place == 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(passes: usize, things: usize, limit: Option<Duration>) -> (Passes, End) {
        let end = End::after(Instant::now(), limit);
        (Passes::new(passes, things, &mut Rng::with_seed(1), &end), end)
    }

    #[test]
    fn every_pass_has_everything_once_in_an_order_of_its_own() {
        let (mut all, end) = passes(4, 30, None);
        let steps: Vec<Step> = all.by_ref().collect();
        let orders: Vec<Vec<usize>> =
            steps.chunks(30).map(|pass| pass.iter().map(|step| step.at).collect()).collect();
        for (number, pass) in steps.chunks(30).enumerate() {
            assert!(pass.iter().all(|step| step.pass == number));
            assert!(pass[0].is_first && !pass[1..].iter().any(|step| step.is_first));
            let mut things = orders[number].clone();
            things.sort_unstable();
            assert!(things.into_iter().eq(0..30));
        }
        assert!(orders.windows(2).all(|two| two[0] != two[1]));
        assert_eq!((all.complete(), all.total(), end.was_heard()), (4, 120, false));
    }

    #[test]
    fn an_end_interrupts_and_a_time_set_aside_does_not() {
        let (mut cut, end) = passes(2, 2, Some(Duration::ZERO));
        assert_eq!((cut.next(), cut.complete(), end.was_heard()), (None, 0, true));
        let (cut, end) = passes(2, 2, None);
        let mut cut = cut.within(Duration::ZERO);
        assert_eq!((cut.next(), cut.complete(), end.was_heard()), (None, 0, false));
        let (mut nothing, end) = passes(2, 0, Some(Duration::ZERO));
        assert_eq!((nothing.next(), nothing.complete(), end.was_heard()), (None, 0, false));
    }

    #[test]
    fn a_pass_counts_once_its_last_step_is_done() {
        let (mut some, _) = passes(3, 2, None);
        assert_eq!((some.next().map(|step| step.pass), some.complete()), (Some(0), 0));
        assert_eq!((some.nth(1).map(|step| step.pass), some.complete()), (Some(1), 1));
    }
}
