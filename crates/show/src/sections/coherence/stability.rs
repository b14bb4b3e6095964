//! Whether figures kept to one value: one pair over time, and the values between which pairs jumped.

use coho_profile::{Coherence, Mode, Pair, Timeline, TimelineSample};

use super::modes;
use crate::sections::prelude::*;

/// More points than this say no more on a screen.
const MAX_SAMPLES: usize = 1500;
/// Pairs that jumped that the summary lists; more are for who wants everything.
const SUMMARY: usize = 6;

pub(super) fn add(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    if let Some(timeline) = &coherence.timeline {
        section.summary(chart(timeline));
        section.summary(sentences(timeline));
    }
    if !subject.published {
        section.summary(jumpers(coherence));
    }
}

/// Its values and when it changed, in words.
fn sentences(timeline: &Timeline) -> [Text; 2] {
    let mode =
        |one: &Mode| format!("{} ns, {:.0} % of the time", words::number(one.value), one.share * 100.0);
    let several = Some(&timeline.modes).filter(|modes| modes.len() > 1);
    let values = words::joined(several.into_iter().flatten().map(mode), "; ");
    let changed = match &timeline.change_points_s[..] {
        [] if timeline.kept_to_one_value().is_none() => {
            "Too few samples to say whether it changes.".to_owned()
        }
        [] => "It did not change for good in that time.".to_owned(),
        changes => {
            let at = words::joined(changes.iter().map(|at| format!("{at:.1} s")), ", ");
            format!("It changed for good at {at} ({}).", words::count(changes.len(), "time"))
        }
    };
    [Text::labelled("values", values), Text::new(changed)]
}

fn chart(timeline: &Timeline) -> Chart {
    let seconds = timeline.samples.last().map_or(0.0, |sample| sample.at_s);
    let points = samples(timeline)
        .into_iter()
        .map(|(at_s, ns)| Point::exact(at_s, ns, format!("{} ns at {at_s:.2} s", words::number(ns))));
    let series = Series::new("sample", Colour::nth(0), Stroke::Points).points(points);
    let changes = timeline.change_points_s.iter().filter(|at| at.is_finite()).take(50);
    let changes = changes.map(|at| Mark::new(At::X(*at), format!("{at:.1} s"), Colour::RED));
    let modes = timeline.modes.iter().map(|mode| mode.value).filter(|ns| scale::is_time(*ns)).take(8);
    let modes = modes.map(|ns| Mark::new(At::Y(ns), format!("{} ns", words::number(ns)), Colour::GREEN));
    let Timeline { a, b, method, .. } = timeline;
    let (taken, method) = (words::count(timeline.samples.len(), "sample"), method.name());
    let title = format!("CPUs {a} and {b}: {taken} in {seconds:.1} s, {method}");
    let axes = [Axis::linear("time from the start, s"), Axis::linear("time per step, ns")];
    Chart::lines("timeline", title, axes, vec![series])
        .caption(
            "A point is the median of a sample's batches. Vertical lines: when the figure changed for good; \
              horizontal lines: the values that samples cluster around.",
        )
        .marks(changes.chain(modes))
        .over_time()
}

/// A timeline's samples (s, ns): all of them, or the medians of equal runs if there are very many.
fn samples(timeline: &Timeline) -> Vec<(f64, f64)> {
    let is_shown = |sample: &&TimelineSample| sample.at_s.is_finite() && scale::is_time(sample.ns);
    let finite: Vec<&TimelineSample> = timeline.samples.iter().filter(is_shown).collect();
    let run = finite.len().div_ceil(MAX_SAMPLES).max(1);
    let merged =
        |run: &[&TimelineSample]| Some((run[0].at_s, scale::median(run.iter().map(|sample| sample.ns))?));
    finite.chunks(run).filter_map(merged).collect()
}

/// The pairs that jumped, widest jump first.
fn jumpers(coherence: &Coherence) -> TableOf<&Pair> {
    let spread = |pair: &Pair| {
        let values = pair.ns.modes.iter().map(|mode| mode.value);
        scale::ends(values).map_or(1.0, |(least, most)| most / least)
    };
    let mut pairs: Vec<_> = coherence.pairs.iter().filter(|pair| pair.ns.modes.len() > 1).collect();
    pairs.sort_by(|a, b| spread(b).total_cmp(&spread(a)));
    Table::of("jumps", "Pairs that jumped between values, the widest jumps first", pairs)
        .text("pair", |pair| format!("{}–{}", pair.a, pair.b))
        .text("method", |pair| pair.method.name())
        .text("home", |pair| words::home(pair.home))
        .text("values (share of batches)", |pair| modes(pair.ns.modes.iter().take(6), ", "))
        .detail_after(SUMMARY)
}

#[cfg(test)]
mod tests {
    use coho_profile::PairMethod;

    use super::*;

    fn timeline(n: u32) -> Timeline {
        let sample = |i: u32| TimelineSample { at_s: f64::from(i) * 0.05, ns: 25.0 };
        Timeline {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            samples: (0..n).map(sample).collect(),
            change_points_s: Vec::new(),
            modes: vec![Mode { value: 25.0, share: 1.0 }],
        }
    }

    #[test]
    fn one_sample_is_not_said_to_stay() {
        let said = |n| sentences(&timeline(n))[1].text.clone();
        assert!(said(1).contains("Too few samples"), "{}", said(1));
        assert!(said(40).contains("did not change for good in that time"), "{}", said(40));
    }

    #[test]
    fn very_many_samples_are_drawn_by_medians_of_runs() {
        assert_eq!(samples(&timeline(100)).len(), 100);
        assert!(samples(&timeline(100_000)).len() <= MAX_SAMPLES);
    }
}
