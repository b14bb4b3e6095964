//! How far apart two CPUs are around another experiment: on a host that moves the CPUs, its figures are of that distance.

use coho_profile::PairMethod;

use super::arena::Arena;
use super::run::{Effort, level};
use super::visit::{Kind, Task};
use super::watch::sample;
use crate::frame::Frame;
use crate::statistics;

/// The time between the first two CPUs before an experiment, to be measured again after it.
pub(crate) struct Distance {
    before: Option<f64>,
}

impl Distance {
    /// Measures it, in a few milliseconds.
    pub(crate) fn before(frame: &mut Frame<'_>) -> Self {
        Self { before: one_way_ns(frame) }
    }

    /// Measures it again, and records both among the parameters: `one_way_cpus`, `one_way_ns_before` and
    /// `one_way_ns_after`. Nothing is recorded of one CPU, or of two that did not meet.
    pub(crate) fn after(self, frame: &mut Frame<'_>) {
        let Some((before, after)) = self.before.zip(one_way_ns(frame)) else { return };
        frame.parameter("one_way_cpus", frame.cpus[..2].to_vec());
        frame.parameter("one_way_ns_before", before);
        frame.parameter("one_way_ns_after", after);
    }
}

fn one_way_ns(frame: &Frame<'_>) -> Option<f64> {
    let &[a, b, ..] = &frame.cpus[..] else { return None };
    let arena = Arena::map().ok()?;
    let task = Task { kind: Kind::Time(PairMethod::Turn), lines: arena.lines(), rounds: 0 };
    let outcome = sample(&frame.workers, (a, b), &task, &Effort::new(8, 16, 0.05)).ok()?;
    Some(statistics::estimate(&[level(&outcome.samples)])?.median)
}

#[cfg(test)]
mod tests {
    use coho_platform::pin;

    use super::*;
    use crate::Course;

    #[test]
    fn it_is_recorded_of_two_cpus_that_met() {
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let mut ignore = |_| ();
        let mut frame = Frame::on(&Course::on(cpus.clone()), &mut ignore).unwrap();
        let distance = Distance::before(&mut frame);
        let met = distance.before.is_some();
        assert!(!met || cpus.len() == 2);
        distance.after(&mut frame);
        let method = frame.finish("");
        let ns = |name: &str| method.parameters.get(name).and_then(serde_json::Value::as_f64);
        let both = ns("one_way_ns_before").zip(ns("one_way_ns_after"));
        assert!(both.is_none_or(|(before, after)| met && before > 0.5 && after > 0.5), "{method:?}");
    }
}
