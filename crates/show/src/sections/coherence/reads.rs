//! Loads of lines in a known state, by buffer size (Molka et al., PACT 2009).

use std::collections::BTreeMap;

use coho_profile::published::kawabe_furuya::{self, Molka};
use coho_profile::{Coherence, Estimate, StateRead};
use coho_topology::Level;

use super::classes::middle;
use crate::Subject;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::Figure;
use crate::part::{Cell, Column, Row, Section, Table};
use crate::{scale, words};

/// The relation of a reader to lines that it prepared itself.
const OWN: &str = "own";

/// Times of one state and relation by size.
type Lines<'a> = BTreeMap<(usize, String, String), BTreeMap<u64, Vec<&'a Estimate>>>;

pub(super) fn add(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let mut lines = Lines::new();
    for read in coherence.reads.iter().filter(|read| read.bytes > 0 && scale::is_time(read.ns.median)) {
        let (relation, state) = (relation(subject, read), format!("{:?}", read.state).to_ascii_lowercase());
        let rank = if relation == OWN { 0 } else { 1 + words::class_rank(&relation).0 };
        lines.entry((rank, relation, state)).or_default().entry(read.bytes).or_default().push(&read.ns);
    }
    if lines.is_empty() {
        return;
    }
    section.summary(chart(subject, &lines));
    section.detail(table(subject, &lines));
}

/// How near the owner of the lines is to the reader, by the claims: `own` for the reader itself.
fn relation(subject: &Subject, read: &StateRead) -> String {
    if read.reader == read.owner {
        return OWN.to_owned();
    }
    let Some(section) = &subject.profile.topology else { return "another CPU".to_owned() };
    let name = match section.topology.closest_shared(read.reader, read.owner) {
        Some(Level::Numa) => "numa node".to_owned(),
        Some(level) => level.to_string(),
        None => "system".to_owned(),
    };
    words::class_of(&name, subject)
}

fn table(subject: &Subject, lines: &Lines<'_>) -> Table {
    let mut rows = Vec::new();
    for ((_, relation, state), sizes) in lines {
        for (bytes, estimates) in sizes {
            rows.push(
                Row::new([
                    relation.as_str().into(),
                    state.as_str().into(),
                    Figure::bytes(*bytes).into(),
                    Cell::maybe(middle(subject, estimates)),
                ])
                .keyed(
                    format!("read.{state}.{relation}.{bytes}"),
                    format!("read of {state}, {relation}, {}", words::bytes(*bytes)),
                ),
            );
        }
    }
    Table::new("reads", "Loads of lines that a CPU put in a known state, ns a load (Molka et al.)")
        .columns([
            Column::text("owner"),
            Column::text("state"),
            Column::figures("buffer", ""),
            Column::figures("time", "ns").compared("ns"),
        ])
        .rows(rows)
        .note("Medians over readers and owners of the same relation.")
}

fn chart(subject: &Subject, lines: &Lines<'_>) -> Chart {
    let line = |((_, relation, state), sizes): (&(usize, String, String), &BTreeMap<u64, Vec<&Estimate>>)| {
        let name = format!("{state}, {relation}");
        let point = |(bytes, estimates): (&u64, &Vec<&Estimate>)| {
            let figure = middle(subject, estimates)?;
            Some(Point {
                x: *bytes as f64,
                y: figure.value,
                interval: figure.interval(),
                hover: format!("{name}, {}: {} ns", words::bytes(*bytes), figure.text()),
            })
        };
        let stroke = if state == "modified" { Stroke::Solid } else { Stroke::Dashed };
        Series {
            name: name.clone(),
            // No class of pairs has this colour.
            colour: if relation == OWN { Colour::GREEN } else { Colour::of_class(relation) },
            stroke,
            points: sizes.iter().filter_map(point).collect(),
        }
    };
    let mut series: Vec<Series> = lines.iter().map(line).collect();
    let sizes = || lines.values().flat_map(|sizes| sizes.keys().copied());
    let ends = (sizes().min().unwrap_or(1) as f64, sizes().max().unwrap_or(1) as f64);
    series.extend(molka(&kawabe_furuya::figures().molka_2009, ends));
    Chart::new(
        "latency-by-size",
        "Latency of loads by buffer size, state and owner",
        Axis::bytes("buffer size"),
        Axis::linear("time per load, ns"),
        Plot::Lines(series),
    )
    .caption(
        "Lines that the reader itself or another CPU left in this state; dotted: the values of Molka et al., \
              2009, for exclusive lines.",
    )
}

/// What was published of lines in state Exclusive.
fn molka(molka: &Molka, (low, high): (f64, f64)) -> Vec<Series> {
    let told = std::iter::once(("on-die", molka.on_die)).chain(molka.hop1.iter().map(|ns| ("1-hop", *ns)));
    told.map(|(class, ns)| {
        let name = format!("Molka et al., exclusive, {class}: {ns} ns");
        let point = |x| Point { x, y: ns, interval: None, hover: name.clone() };
        let points = vec![point(low), point(high)];
        Series { name: name.clone(), colour: Colour::of_class(class), stroke: Stroke::Published, points }
    })
    .collect()
}
