//! Loads of lines in a known state, by buffer size (Molka et al., PACT 2009).

use std::collections::BTreeMap;

use coho_profile::published::kawabe_furuya::{self, Molka};
use coho_profile::{Coherence, Estimate, StateRead};
use coho_topology::Level;

use crate::Subject;
use crate::chart::{Axis, Chart, Colour, Point, Series, Stroke};
use crate::figure::Figure;
use crate::part::{Column, Section, Table};
use crate::{scale, words};

/// The relation of a reader to lines that it prepared itself.
const OWN: &str = "own";

/// Whose lines are read: rank and name of the owner's relation to the reader, and the lines' state.
type Kind = (usize, String, String);

pub(super) fn add(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let mut reads: BTreeMap<(Kind, u64), Vec<&Estimate>> = BTreeMap::new();
    for read in coherence.reads.iter().filter(|read| read.bytes > 0 && scale::is_time(read.ns.median)) {
        let (relation, state) = (relation(subject, read), format!("{:?}", read.state).to_ascii_lowercase());
        let rank = if relation == OWN { 0 } else { 1 + words::class_rank(&relation).0 };
        reads.entry(((rank, relation, state), read.bytes)).or_default().push(&read.ns);
    }
    let figure =
        |((kind, bytes), estimates): (_, Vec<_>)| Some((kind, bytes, subject.median_of(&estimates)?));
    let times: Vec<(Kind, u64, Figure)> = reads.into_iter().filter_map(figure).collect();
    section.summary(chart(&times));
    section.detail(table(&times));
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

fn table(times: &[(Kind, u64, Figure)]) -> Table {
    let title = "Loads of lines that a CPU put in a known state, ns a load (Molka et al.)";
    Table::of("reads", title, times)
        .text("owner", |((_, relation, _), ..)| relation.as_str())
        .text("state", |((.., state), ..)| state.as_str())
        .figures("buffer", "", |(_, bytes, _)| Figure::bytes(*bytes))
        .column(Column::figures("time", "ns").compared("ns"), |(.., ns)| ns.clone())
        .keyed(|((_, relation, state), bytes, _)| {
            let label = format!("read of {state}, {relation}, {}", words::bytes(*bytes));
            (format!("read.{state}.{relation}.{bytes}"), label)
        })
        .note("Medians over readers and owners of the same relation.")
        .done()
}

fn chart(times: &[(Kind, u64, Figure)]) -> Option<Chart> {
    let lines = times.chunk_by(|(a, ..), (b, ..)| a == b).map(|line| {
        let (_, relation, state) = &line[0].0;
        let name = format!("{state}, {relation}");
        let points = line.iter().map(|(_, bytes, ns)| {
            let hover = format!("{name}, {}: {} ns", words::bytes(*bytes), ns.text());
            Point::new(*bytes as f64, ns, hover)
        });
        let stroke = if state == "modified" { Stroke::Solid } else { Stroke::Dashed };
        // No class of pairs has the colour of a CPU's own lines.
        let colour = if relation == OWN { Colour::GREEN } else { Colour::of_class(relation) };
        Series::new(&name, colour, stroke).points(points)
    });
    let ends = scale::ends(times.iter().map(|(_, bytes, _)| *bytes as f64))?;
    let published = molka(&kawabe_furuya::figures().molka_2009, ends);
    let chart = Chart::lines(
        "latency-by-size",
        "Latency of loads by buffer size, state and owner",
        [Axis::bytes("buffer size"), Axis::linear("time per load, ns")],
        lines.chain(published).collect(),
    );
    Some(chart.caption(
        "Lines that the reader itself or another CPU left in this state; dotted: the values of Molka et al., 2009, for \
         exclusive lines.",
    ))
}

/// What was published of lines in state Exclusive.
fn molka(molka: &Molka, (low, high): (f64, f64)) -> Vec<Series> {
    let classes = std::iter::once(("on-die", molka.on_die)).chain(molka.hop1.iter().map(|ns| ("1-hop", *ns)));
    let line = |(class, ns)| {
        let name = format!("Molka et al., exclusive, {class}: {ns} ns");
        let points = [low, high].map(|bytes| Point::exact(bytes, ns, &name));
        Series::new(&name, Colour::of_class(class), Stroke::Published).points(points)
    };
    classes.map(line).collect()
}
