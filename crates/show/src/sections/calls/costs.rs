//! What a call costs its caller: its damage to the caller's caches, its footprint, and a message to another core.

use std::collections::BTreeSet;

use coho_profile::{CallMethod, Calls, Damage, Estimate, Judgement};

use super::rows::{OVER_TCP, judged, over_tcp, second_over_cold};
use crate::Subject;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Row, Section, Table, Text};
use crate::words;

/// Working sets that a table has columns for.
const SETS: usize = 12;

pub(super) fn add(section: &mut Section, subject: &Subject, calls: &Calls, paper: &Calls) {
    if !calls.damage.is_empty() {
        section.detail(damage(calls));
    }
    if !calls.calibration.is_empty() {
        section.detail(calibration(calls));
    }
    if !calls.judgements.is_empty() {
        section.summary(costs(subject, calls, paper));
        if let Some(holds) = calls.judgements.iter().find_map(|judgement| judgement.channel_holds.as_ref()) {
            section.summary(Text::labelled("channel:", holds.clone()));
        }
        section.detail(reasons(calls));
    }
}

/// Extra time of the walk after a call, by call and size of the walked set.
fn damage(calls: &Calls) -> Table {
    let sizes: BTreeSet<u64> = calls.damage.iter().map(|damage| damage.set_bytes).take(SETS * 8).collect();
    let sizes: Vec<u64> = sizes.into_iter().take(SETS).collect();
    let mut names: Vec<&str> = Vec::new();
    for damage in &calls.damage {
        if !names.contains(&damage.name.as_str()) {
            names.push(&damage.name);
        }
    }
    let beyond = |estimate: &Option<Estimate>| estimate.as_ref().map_or_else(|| "–".to_owned(), beyond_noise);
    let cell = |name: &str, bytes: u64| {
        let is = |damage: &&Damage| damage.name == name && damage.set_bytes == bytes;
        let damage = calls.damage.iter().find(is);
        damage.map_or(Cell::Nothing, |damage| {
            Cell::Text(format!("{}/{}", beyond(&damage.ns), beyond(&damage.lines)))
        })
    };
    let row = |name: &&str| {
        Row::new(std::iter::once(Cell::from(*name)).chain(sizes.iter().map(|&bytes| cell(name, bytes))))
    };
    Table::new("damage", "Damage: walking a working set again after a call, extra ns/lines evicted")
        .columns([Column::text("call")])
        .columns(sizes.iter().map(|&bytes| Column::figures(words::bytes(bytes), "")))
        .rows(names.iter().map(row))
        .note(
            "<: indistinguishable from zero; its interval ends at this value. ~: fewer than six samples, hence no \
             interval.",
        )
}

/// A difference, whole: `42`; or `<8` where it is not told from none and is no more than that by its interval; `~42` where
/// its samples are too few for one.
fn beyond_noise(estimate: &Estimate) -> String {
    // Of which there is no negative zero.
    let whole = |value: f64| format!("{:.0}", value.round() + 0.0);
    match estimate.n {
        0 | 1 if estimate.median > 0.0 => whole(estimate.median),
        2.. if !estimate.has_interval() => format!("~{}", whole(estimate.median)),
        _ if estimate.low > 0.0 => whole(estimate.median),
        _ => format!("<{}", whole(estimate.high.max(1.0).ceil())),
    }
}

fn calibration(calls: &Calls) -> Chart {
    let measured = calls
        .calibration
        .iter()
        .filter_map(|point| Some((point.lines, Figure::from(point.evicted.as_ref()?))));
    let points = measured.map(|(lines, figure)| Point {
        x: lines as f64,
        y: figure.value,
        interval: figure.interval(),
        hover: format!("{lines} lines used: {} evicted", figure.text()),
    });
    let series = Series {
        name: "victims of known size".to_owned(),
        colour: Colour::nth(0),
        stroke: Stroke::Solid,
        points: points.collect(),
    };
    Chart::new(
        "calibration",
        "Calibration of the timing method",
        Axis::linear("lines that a victim used, at random places"),
        Axis::linear("lines of a primed set seen evicted"),
        Plot::Lines(vec![series]),
    )
    .caption("A call's footprint is read off this curve backwards.")
}

fn costs(subject: &Subject, calls: &Calls, paper: &Calls) -> Table {
    // By counters and by time a footprint is not the same quantity.
    let (key, meaning) = match calls.method {
        CallMethod::Pmu => ("footprint.KiB", "lines that a cold call missed in the level-2 cache"),
        CallMethod::Timing => (
            "footprint-by-time.KiB",
            "data lines used in the level-1 cache and code lines of user mode, not the paper's measure",
        ),
    };
    let percent = |ratio: f64| Figure::exact(100.0 * ratio);
    let row = |judgement: &Judgement| {
        let published = judged(paper, over_tcp(&judgement.name).unwrap_or(&judgement.name));
        // The paper's MPI went through sockets.
        let socket = if subject.published && judgement.name.starts_with("MPI_") { OVER_TCP } else { "" };
        let name = format!("{}{socket}", judgement.name);
        Row::new([
            name.as_str().into(),
            Cell::maybe(judgement.footprint_kib),
            Cell::maybe(published.and_then(|published| published.footprint_kib)),
            Cell::maybe(second_over_cold(calls, judgement).map(percent)),
            Cell::maybe(judgement.steady_over_cold.map(percent)),
            Cell::maybe(judgement.cost_ns.map(|ns| Figure::exact(ns).format(Format::Whole))),
            Cell::maybe(judgement.channel_ns.map(|ns| Figure::exact(ns).format(Format::Whole))),
        ])
        .keyed(format!("calls.{name}"), name)
    };
    let set = calls.judgements.iter().find_map(|judgement| judgement.set_bytes);
    let set = set.map_or_else(String::new, |bytes| format!(" to {}", words::bytes(bytes)));
    Table::new("call-costs", "What a call costs its caller, and a message to another core")
        .columns([
            Column::text("call"),
            Column::figures("footprint", "KiB").compared(key),
            Column::figures("publ.", "KiB"),
            Column::figures("second / cold", "%").compared("second-over-cold.%"),
            Column::figures("steady / cold", "%").compared("steady-over-cold.%"),
            Column::figures("cost", "ns"),
            Column::figures("channel", "ns"),
        ])
        .rows(calls.judgements.iter().map(row))
        .note(format!(
            "footprint: {meaning} (published: level-2 misses); cost: the call in a loop plus its damage{set}; \
             channel: a message there and back. These figures do not decide whether another core should execute a \
             call."
        ))
}

/// The figures in words, call by call.
fn reasons(calls: &Calls) -> Table {
    let row =
        |judgement: &Judgement| Row::new([judgement.name.as_str().into(), judgement.why.as_str().into()]);
    Table::new("call-reasons", "What these figures say")
        .columns(["call", ""].map(Column::text))
        .rows(calls.judgements.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_from_none_is_a_bound() {
        let of = |low: f64, n| Estimate { low, high: 7.2, n, ..Estimate::exact(3.0) };
        assert_eq!(beyond_noise(&of(2.0, 9)), "3");
        assert_eq!(beyond_noise(&of(-1.0, 9)), "<8");
        assert_eq!(beyond_noise(&of(2.0, 3)), "~3");
    }
}
