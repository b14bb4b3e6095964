//! Whether figures kept to one value: one pair over time, and the values between which pairs jumped.

use coho_profile::{Coherence, Mode, Timeline, TimelineSample};

use crate::Subject;
use crate::chart::{At, Axis, Chart, Colour, Mark, Plot, Point, Series, Stroke};
use crate::part::{Column, Row, Section, Table, Text};
use crate::{scale, words};

/// More points than this say no more on a screen.
const MAX_SAMPLES: usize = 1500;

pub(super) fn add(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    if let Some(timeline) = &coherence.timeline {
        section.summary(chart(timeline));
        for sentence in sentences(timeline) {
            section.summary(sentence);
        }
    }
    if !subject.published
        && let Some(table) = jumpers(coherence)
    {
        section.summary(table);
    }
}

/// Its values and when it changed, in words.
fn sentences(timeline: &Timeline) -> Vec<Text> {
    let mut said = Vec::new();
    if timeline.modes.len() > 1 {
        let mode = |mode: &Mode| {
            format!("{} ns, {:.0} % of the time", words::number(mode.value), mode.share * 100.0)
        };
        let modes: Vec<String> = timeline.modes.iter().map(mode).collect();
        said.push(Text::labelled("values", modes.join("; ")));
    }
    let changed = match &timeline.change_points_s[..] {
        [] if timeline.kept_to_one_value().is_none() => {
            "Too few samples to say whether it changes.".to_owned()
        }
        [] => "It did not change for good in that time.".to_owned(),
        changes => {
            let at: Vec<_> = changes.iter().map(|at| format!("{at:.1} s")).collect();
            format!("It changed for good at {} ({}).", at.join(", "), words::count(changes.len(), "time"))
        }
    };
    said.push(Text::new(changed));
    said
}

fn chart(timeline: &Timeline) -> Chart {
    let samples = samples(timeline);
    let seconds = timeline.samples.last().map_or(0.0, |sample| sample.at_s);
    let point = |(x, y): &(f64, f64)| Point {
        x: *x,
        y: *y,
        interval: None,
        hover: format!("{} ns at {x:.2} s", words::number(*y)),
    };
    let series = Series {
        name: "sample".to_owned(),
        colour: Colour::nth(0),
        stroke: Stroke::Points,
        points: samples.iter().map(point).collect(),
    };
    let mark = |at, label, colour| Mark { at, label, colour, published: false };
    let changes = timeline.change_points_s.iter().filter(|at| at.is_finite()).take(50);
    let changes = changes.map(|at| mark(At::X(*at), format!("{at:.1} s"), Colour::RED));
    let modes = timeline.modes.iter().filter(|mode| scale::is_time(mode.value)).take(8);
    let modes =
        modes.map(|mode| mark(At::Y(mode.value), format!("{} ns", words::number(mode.value)), Colour::GREEN));
    Chart::new(
        "timeline",
        format!(
            "CPUs {} and {}: {} in {seconds:.1} s, {}",
            timeline.a,
            timeline.b,
            words::count(timeline.samples.len(), "sample"),
            words::pair_method(timeline.method)
        ),
        Axis::linear("time from the start, s"),
        Axis::linear("time per step, ns"),
        Plot::Lines(vec![series]),
    )
    .caption(
        "A point is the median of a sample's batches. Vertical lines: when the figure changed for good; \
              horizontal lines: the values that samples cluster around.",
    )
    .marks(changes.chain(modes))
    .over_time()
}

/// A timeline's samples (s, ns): all of them, or the medians of equal runs if there are very many.
fn samples(timeline: &Timeline) -> Vec<(f64, f64)> {
    let finite: Vec<&TimelineSample> = timeline
        .samples
        .iter()
        .filter(|sample| sample.at_s.is_finite() && scale::is_time(sample.ns))
        .collect();
    let run = finite.len().div_ceil(MAX_SAMPLES).max(1);
    let merged =
        |run: &[&TimelineSample]| Some((run[0].at_s, scale::median(run.iter().map(|sample| sample.ns))?));
    finite.chunks(run).filter_map(merged).collect()
}

/// The pairs that jumped, widest jump first.
fn jumpers(coherence: &Coherence) -> Option<Table> {
    let spread = |modes: &[Mode]| {
        let values = || modes.iter().map(|mode| mode.value);
        values().fold(f64::NEG_INFINITY, f64::max) / values().fold(f64::INFINITY, f64::min)
    };
    let mut found: Vec<_> = coherence.pairs.iter().filter(|pair| pair.ns.modes.len() > 1).collect();
    if found.is_empty() {
        return None;
    }
    found.sort_by(|a, b| spread(&b.ns.modes).total_cmp(&spread(&a.ns.modes)));
    let row = |(at, pair): (usize, &&coho_profile::Pair)| {
        let mode = |mode: &Mode| format!("{} ns ({:.0} %)", words::number(mode.value), mode.share * 100.0);
        let modes: Vec<String> = pair.ns.modes.iter().take(6).map(mode).collect();
        let row = Row::new([
            format!("{}–{}", pair.a, pair.b).into(),
            words::pair_method(pair.method).into(),
            words::home(pair.home).into(),
            modes.join(", ").into(),
        ]);
        if at < SUMMARY { row } else { row.detail() }
    };
    Some(
        Table::new("jumps", "Pairs that jumped between values, the widest jumps first")
            .columns([
                Column::text("pair"),
                Column::text("method"),
                Column::text("home"),
                Column::text("values (share of batches)"),
            ])
            .rows(found.iter().enumerate().map(row)),
    )
}

/// So many pairs that jumped are a summary.
const SUMMARY: usize = 6;

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
        let told = |n| sentences(&timeline(n)).pop().unwrap().text;
        assert!(told(1).contains("Too few samples"), "{}", told(1));
        assert!(told(40).contains("did not change for good in that time"), "{}", told(40));
    }

    #[test]
    fn very_many_samples_are_drawn_by_medians_of_runs() {
        assert_eq!(samples(&timeline(100)).len(), 100);
        assert!(samples(&timeline(100_000)).len() <= MAX_SAMPLES);
    }
}
