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
    let values = match &timeline.modes[..] {
        [] | [_] => one_value(timeline),
        several => words::joined(several.iter().map(mode), "; "),
    };
    let changed = match &timeline.change_points_s[..] {
        [] if timeline.kept_to_one_value().is_none() => {
            "Too few samples to say whether it changes.".to_owned()
        }
        [] if timeline.modes.len() > 1 => "It jumped between them, at no moment for good.".to_owned(),
        [] => "It kept to one value in that time.".to_owned(),
        changes => {
            let at = words::joined(changes.iter().map(|at| format!("{at:.1} s")), ", ");
            format!("It changed, for a while or for good, at {at}.")
        }
    };
    [Text::labelled("values", values), Text::new(changed)]
}

/// `28.9 ns (28.1–30.2), median and middle 90 % of 100 samples`.
fn one_value(timeline: &Timeline) -> String {
    let mut times: Vec<f64> =
        timeline.samples.iter().map(|sample| sample.ns).filter(|ns| scale::is_time(*ns)).collect();
    times.sort_by(f64::total_cmp);
    let quantile = |share: f64| words::number(times[((times.len() - 1) as f64 * share).round() as usize]);
    match times.len() {
        0 => String::new(),
        1 => format!("{} ns, one sample", quantile(0.5)),
        n => {
            let [low, median, high] = [0.05, 0.5, 0.95].map(quantile);
            format!("{median} ns ({}), median and middle 90 % of {n} samples", signs::between(&low, &high))
        }
    }
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
            "A point is the median of a sample's batches. Vertical lines: when the figure changed, for a while or for \
             good; horizontal lines: the values that samples cluster around.",
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
        .text("home", |pair| pair.home.name())
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
    fn a_pair_that_keeps_to_its_value_is_shown_with_it() {
        let said = |timeline: &Timeline| sentences(timeline)[0].text.clone();
        assert_eq!(said(&timeline(40)), "25.0 ns (25.0–25.0), median and middle 90 % of 40 samples");
        assert_eq!(said(&timeline(1)), "25.0 ns, one sample");
        assert_eq!(said(&timeline(0)), "");
        let mut noisy = timeline(21);
        noisy.samples.iter_mut().zip(20..).for_each(|(sample, ns)| sample.ns = f64::from(ns));
        assert_eq!(said(&noisy), "30.0 ns (21.0–39.0), median and middle 90 % of 21 samples");
        noisy.modes = [(25.0, 0.6), (103.0, 0.4)].map(|(value, share)| Mode { value, share }).into();
        assert_eq!(said(&noisy), "25.0 ns, 60 % of the time; 103 ns, 40 % of the time");
    }

    #[test]
    fn one_sample_is_not_said_to_stay() {
        let said = |n| sentences(&timeline(n))[1].text.clone();
        assert!(said(1).contains("Too few samples"), "{}", said(1));
        assert!(said(40).contains("kept to one value in that time"), "{}", said(40));
    }

    #[test]
    fn very_many_samples_are_drawn_by_medians_of_runs() {
        assert_eq!(samples(&timeline(100)).len(), 100);
        assert!(samples(&timeline(100_000)).len() <= MAX_SAMPLES);
    }
}
