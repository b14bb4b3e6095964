//! Whether figures kept to one value: samples over time, or the values between which pairs jumped.

use coho_profile::{Mode, Timeline};

use super::subject::Subject;
use super::{classes, figures, scale};

/// More points than this say no more on a screen.
const MAX_SAMPLES: usize = 4000;
/// More pairs than this cannot be told apart side by side.
const MAX_JUMPERS: usize = 48;

/// A pair that jumped between values.
#[derive(Debug, Clone, PartialEq)]
pub struct Jumper {
    /// The pair and method.
    pub name: String,
    /// The values, most frequent first.
    pub modes: Vec<Mode>,
}

/// A timeline's samples (s, ns): all of them, or the medians of equal runs if there are very many.
pub fn samples(timeline: &Timeline) -> Vec<(f64, f64)> {
    let finite: Vec<_> = timeline
        .samples
        .iter()
        .filter(|sample| sample.at_s.is_finite() && scale::is_time(sample.ns))
        .collect();
    let run = finite.len().div_ceil(MAX_SAMPLES).max(1);
    let merged = |run: &[&coho_profile::TimelineSample]| {
        Some((run[0].at_s, figures::median(run.iter().map(|sample| sample.ns))?))
    };
    finite.chunks(run).filter_map(merged).collect()
}

/// The pairs that jumped, widest jump first, and how many there are beyond those listed.
pub fn jumpers(subject: &Subject) -> (Vec<Jumper>, usize) {
    let Some(coherence) = subject.coherence() else { return (Vec::new(), 0) };
    let spread = |modes: &[Mode]| {
        let values = || modes.iter().map(|mode| mode.value);
        values().fold(f64::NEG_INFINITY, f64::max) / values().fold(f64::INFINITY, f64::min)
    };
    let mut found: Vec<_> = coherence.pairs.iter().filter(|pair| pair.ns.modes.len() > 1).collect();
    found.sort_by(|a, b| spread(&b.ns.modes).total_cmp(&spread(&a.ns.modes)));
    let beyond = found.len().saturating_sub(MAX_JUMPERS);
    let jumper = |pair: &&coho_profile::Pair| Jumper {
        name: format!("{} – {}, {}", pair.a, pair.b, classes::method_name(pair.method)),
        modes: pair.ns.modes.clone(),
    };
    (found.iter().take(MAX_JUMPERS).map(jumper).collect(), beyond)
}

#[cfg(test)]
mod tests {
    use coho_profile::{PairMethod, TimelineSample};

    use super::*;

    #[test]
    fn very_many_samples_are_drawn_by_medians_of_runs() {
        let sample = |i: u32| TimelineSample {
            at_s: f64::from(i),
            ns: if i.is_multiple_of(3) { 900.0 } else { 100.0 },
        };
        let timeline = Timeline {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            samples: (0..12_000).map(sample).collect(),
            change_points_s: Vec::new(),
            modes: Vec::new(),
        };
        let drawn = samples(&timeline);
        assert_eq!(drawn.len(), 4000);
        assert!(drawn.iter().all(|sample| sample.1 == 100.0));
    }
}
