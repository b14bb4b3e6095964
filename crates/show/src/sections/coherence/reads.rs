//! Loads of lines in a known state, by buffer size (Molka et al., PACT 2009).

use coho_profile::{Coherence, StateRead, published};
use coho_topology::Level;

use crate::sections::prelude::*;

/// The relation of a reader to lines that it prepared itself.
const OWN: &str = "own";

/// Rank and name of the relation of the lines' owner to the reader, and the lines' state.
type Kind = (usize, String, String);
/// Times by kind and size of the buffer.
type Times = [((Kind, u64), Figure)];

pub(super) fn add(section: &mut Section, subject: &Subject, coherence: &Coherence) {
    let is_shown = |read: &&StateRead| read.bytes > 0 && scale::is_time(read.ns.median);
    let reads = coherence.reads.iter().filter(is_shown).map(|read| {
        let (relation, state) = (relation(subject, read), format!("{:?}", read.state).to_ascii_lowercase());
        let rank = if relation == OWN { 0 } else { 1 + words::class_rank(&relation).0 };
        (((rank, relation, state), read.bytes), &read.ns)
    });
    let times = Vec::from_iter(subject.summed_up(reads, scale::median));
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

fn table(times: &Times) -> impl Bodies {
    let title = "Loads of lines that a CPU put in a known state, ns a load (Molka et al.)";
    Table::of("reads", title, times)
        .text("owner", |(((_, relation, _), _), _)| relation.as_str())
        .text("state", |(((.., state), _), _)| state.as_str())
        .figures("buffer", "", |((.., bytes), _)| Figure::bytes(*bytes))
        .compared("time", "ns", "ns", |(_, ns)| ns.clone())
        .keyed(|(((_, relation, state), bytes), _)| {
            let label = format!("read of {state}, {relation}, {}", words::bytes(*bytes));
            (format!("read.{state}.{relation}.{bytes}"), label)
        })
        .note("Medians over readers and owners of the same relation.")
}

fn chart(times: &Times) -> Option<Chart> {
    let points = times.iter().map(|(((_, relation, state), bytes), ns)| {
        let name = format!("{state}, {relation}");
        let hover = |ns: &str| format!("{name}, {}: {ns} ns", words::bytes(*bytes));
        let point = Point::new(*bytes as f64, ns.clone(), hover);
        let stroke = if state == "modified" { Stroke::Solid } else { Stroke::Dashed };
        // No class of pairs has the colour of a CPU's own lines.
        let colour = if relation == OWN { Colour::GREEN } else { Colour::of_class(relation) };
        (Series::new(name, colour, stroke), point)
    });
    let ends = scale::ends(times.iter().map(|((.., bytes), _)| *bytes as f64))?;
    let mut lines = Series::by_name(points);
    lines.extend(molka(ends));
    let chart = Chart::lines(
        "latency-by-size",
        "Latency of loads by buffer size, state and owner",
        [Axis::bytes("buffer size"), Axis::linear("time per load, ns")],
        lines,
    );
    Some(chart.caption(
        "Lines that the reader itself or another CPU left in this state; dotted: the values of Molka et al., 2009, for \
         exclusive lines.",
    ))
}

/// What was published of lines in state Exclusive.
fn molka((low, high): (f64, f64)) -> impl Iterator<Item = Series> {
    let times =
        |class| published::paper("kawabe-furuya").row("molka-2009", class).iter().map(move |ns| (class, *ns));
    let classes = ["on-die", "1-hop"].into_iter().flat_map(times);
    let line = move |(class, ns)| {
        let name = format!("Molka et al., exclusive, {class}: {ns} ns");
        let points = [low, high].map(|bytes| Point::exact(bytes, ns, &name));
        Series::new(&name, Colour::of_class(class), Stroke::Published).points(points)
    };
    classes.map(line)
}
