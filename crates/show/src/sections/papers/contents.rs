//! The papers' tables, figures and systems by number: which of them a profile has, and each paper as a whole, in its
//! order, with this machine's figures beside the published ones.

use std::collections::{BTreeMap, BTreeSet};

use coho_model::papers::{Listed, State};
use coho_profile::published::{self, Column as Printed, Entry, Paper};
use coho_profile::{Estimate, Figure as Measured, Inexact, Parameters, Profile};

use crate::boxes::Node;
use crate::part::Body;
use crate::sections::machine;
use crate::sections::prelude::*;

/// A table for each paper: its tables, figures and systems, the commands that repeat them, and their state here.
pub fn list(listed: &[Listed]) -> Vec<Part> {
    let mut parts = Vec::new();
    for of_paper in listed.chunk_by(|a, b| a.paper == b.paper) {
        parts.summary(states(of_paper));
    }
    parts
}

/// The same as a section of a report, if the profile has any of it.
pub fn section(listed: &[Listed]) -> Option<Section> {
    let count = |state: State| (state, listed.iter().filter(|one| one.state == state).count());
    let counts = [State::Measured, State::NotMeasured, State::NotPossible].map(count);
    let headline = counts.iter().filter(|(_, n)| *n > 0).map(|(state, n)| format!("{n} {}", state.words()));
    let headline = words::joined(headline, ", ");
    let section = Section { parts: list(listed), ..Section::new("papers", "Tables and figures", headline) };
    (counts[0].1 > 0).then_some(section)
}

fn states(of_paper: &[Listed]) -> TableOf<&Listed> {
    let paper = published::paper(of_paper[0].paper);
    Table::of(format!("{}-list", paper.name), format!("{} ({})", paper.cited(), paper.name), of_paper)
        .text("", |one| one.entry.name())
        .text("shows", |one| one.caption)
        .text("command", |one| one.command)
        .text("here", here)
}

/// `measured 2026-11-24`, `not measured`, or `not possible: needs …`.
fn here(one: &Listed) -> String {
    let state = one.state.words();
    let why = words::short(&one.why, 300);
    match one.state {
        State::Measured => {
            let (dates, rest) =
                why.split_once("; ").map_or((&*why, None), |(dates, rest)| (dates, Some(rest)));
            let days = distinct(dates.split(" to ").map(|date| date.split('T').next().unwrap_or(date)));
            let rest = rest.map(|rest| format!("; {rest}")).unwrap_or_default();
            format!("{state} {}{rest}", days.join(" to "))
        }
        State::NotMeasured => state.to_owned(),
        State::NotPossible => format!("{state}: {why}"),
    }
}

/// A paper's tables, figures and systems in its order. `beside` is what its file sets beside the published figures. An
/// entry names what of it, and of what the profile's `own` sections show, it shows; what none names follows at the end.
pub fn whole(paper: &'static Paper, subject: &Subject, beside: Vec<Part>, own: Vec<Part>) -> Vec<Part> {
    let mut shown = BTreeSet::new();
    let mut parts = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for one in subject.answers.papers.iter().filter(|one| one.paper == paper.name) {
        let entry = one.entry;
        let id = id(paper, entry, &ids);
        ids.push(id.clone());
        parts.summary(facts(one, subject));
        let mut views = |of: &[Part]| -> Vec<Part> {
            let of_entry = of.iter().filter(|part| entry.view.iter().any(|view| is_view(&part.body, view)));
            let of_entry = of_entry.filter(|part| shown.insert(name(&part.body).to_owned())).cloned();
            // What an entry names is what the page is for.
            of_entry.map(|part| Part { depth: Depth::Summary, ..part }).collect()
        };
        let (beside, own) = (views(&beside), views(&own));
        let theirs = theirs(paper, entry);
        if beside.is_empty() || entry.rows_too {
            parts.summary(rows(&id, paper, entry, &theirs, subject));
            for table in &entry.printed {
                parts.summary(printed(&id, paper, table));
            }
        }
        parts.summary(drawn(&id, entry));
        parts.extend(drawings(entry, &theirs).into_iter().map(Part::summary));
        parts.extend(beside.into_iter().chain(own));
    }
    parts.extend(beside.into_iter().filter(|part| !shown.contains(name(&part.body))));
    parts
}

/// What an entry's tables are called: `nakamura-fbs-table-4-1`. Kawabe & Furuya have two figures 6.
fn id(paper: &Paper, entry: &Entry, taken: &[String]) -> String {
    let number = entry.number.to_ascii_lowercase().replace(' ', "-");
    let id = format!("{}-{}-{number}", paper.name, entry.kind.name());
    if taken.contains(&id) { format!("{id}-again") } else { id }
}

/// The machine of an entry's figures.
fn theirs(paper: &Paper, entry: &Entry) -> Subject {
    let machine = words::joined([paper.name, &entry.machine], "/");
    let publication = published::read(&machine).expect("an entry names a machine of its paper");
    Subject::of_publication(publication).swap_remove(0)
}

/// What an entry draws that is no measurement.
fn drawn(id: &str, entry: &Entry) -> Drawing {
    let node =
        |kind, name: &String, children| Node { kind, label: name.clone(), title: name.clone(), children };
    let outer = |row: &Vec<String>| {
        let (name, inner) = row.split_first()?;
        // The inner ones stand side by side.
        Some(node("core", name, inner.iter().map(|name| node("pu", name, Vec::new())).collect()))
    };
    Drawing {
        id: format!("{id}-drawn"),
        title: format!("{}, drawn", entry.name()),
        caption: "Drawn from the paper's words, as its picture is lost; nothing here is measured.".into(),
        nodes: entry.drawn.iter().filter_map(outer).collect(),
    }
}

/// The published machine, drawn, if an entry shows one.
fn drawings(entry: &Entry, theirs: &Subject) -> Vec<Body> {
    let of_entry =
        drawn_of(theirs).into_iter().filter(|part| entry.view.iter().any(|view| is_view(&part.body, view)));
    let published = |part: Part| match part.body {
        Body::Drawing(one) => {
            let (id, title) =
                (format!("{}-{}", theirs.label, one.id), format!("{}, published", theirs.label));
            Some(Drawing { id, title, ..one }.into())
        }
        Body::Graph(one) => {
            let (id, title) =
                (format!("{}-{}", theirs.label, one.id), format!("{}: {}", theirs.label, one.title));
            Some(Graph { id, title, ..one }.into())
        }
        _ => None,
    };
    of_entry.filter_map(published).collect()
}

/// What the profile's own sections show.
pub fn drawn_of(subject: &Subject) -> Vec<Part> {
    crate::sections::of(subject).into_iter().flat_map(|section| section.parts).collect()
}

/// A part's name; empty for sentences.
fn name(body: &Body) -> &str {
    match body {
        Body::Table(table) => &table.id,
        Body::Chart(chart) => &chart.id,
        Body::Map(map) => &map.id,
        Body::Drawing(drawing) => &drawing.id,
        Body::Graph(graph) => &graph.id,
        Body::Facts(facts) => facts.id,
        Body::Text(_) | Body::Finding(_) | Body::Missing(_) => "",
    }
}

/// Whether an entry's view is this part, or one of those whose names begin so if it ends in a dash. Facts have the
/// names of charts.
fn is_view(body: &Body, view: &str) -> bool {
    let name = name(body);
    !matches!(body, Body::Facts(_)) && (name == view || view.ends_with('-') && name.starts_with(view))
}

/// An entry's name, command and state, and what the paper says in words.
fn facts(one: &Listed, subject: &Subject) -> Facts {
    let entry = one.entry;
    let told = entry.facts.iter().map(|(name, value)| (name.as_str(), Some(value.clone())));
    let repeated = [("repeated by", Some(entry.command.clone())), ("here", Some(here(one)))];
    let rest = [("this machine", machine_here(entry, subject)), ("absent", entry.absent.clone())];
    let shows = [("shows", Some(entry.caption.clone()))];
    Facts::new("", format!("{} ({})", entry.name(), entry.place))
        .facts(shows.into_iter().chain(told).chain(repeated).chain(rest))
}

/// What this machine is, beside what the paper says of its own.
fn machine_here(entry: &Entry, subject: &Subject) -> Option<String> {
    let topology = subject.profile.topology.as_ref().filter(|_| !subject.published)?;
    let is_of_machine = entry.measured.iter().any(|which| which.key == "topology");
    let here = || {
        format!(
            "{}: {}",
            words::short(&machine::name(subject), 120),
            coho_model::shape::counted(topology.counts)
        )
    };
    is_of_machine.then(here)
}

/// Printed numbers that are in no machine's profile.
fn printed(id: &str, paper: &'static Paper, name: &str) -> impl Bodies {
    // As in print, all numbers of a row have as many decimals as the one that needs most.
    let numbers = |numbers: &[f64]| {
        let decimals =
            |one: &f64| words::plain(*one).split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let most = numbers.iter().map(decimals).max().unwrap_or(0);
        words::joined(numbers.iter().map(|one| format!("{one:.most$}")), ", ")
    };
    Table::of(format!("{id}-{name}"), "Printed", &paper.figures[name])
        .text("", |(row, _)| labelled(paper, row))
        .right("published", move |(_, row)| numbers(row))
}

/// What a paper's row is called.
fn labelled<'a>(paper: &'a Paper, name: &'a str) -> &'a str {
    paper.labels.get(name).map_or(name, String::as_str)
}

/// What tells a row of printed figures from the others.
type Row = Vec<(&'static str, String)>;

/// The printed figures that an entry names: its columns over the rows that have them, with this profile's figures of
/// the same quantities under the same parameters beside them.
fn rows(
    id: &str,
    paper: &'static Paper,
    entry: &'static Entry,
    theirs: &Subject,
    subject: &Subject,
) -> Table {
    let figures = theirs.profile.figures();
    let mut mine = if subject.published { Vec::new() } else { subject.profile.figures() };
    let by_kind = theirs.profile.memory.as_ref().zip(subject.profile.memory.as_ref());
    let by_kind = by_kind.filter(|_| !subject.published);
    let by_kind = by_kind.map(|(theirs, mine)| super::hamada_dimmnet::by_kind(mine, theirs));
    let by_kind = Profile { memory: by_kind, ..Profile::default() };
    mine.extend(by_kind.figures());
    let is_of = |column: &Printed, figure: &Measured<'_>| column.of.iter().any(|which| which.is(figure));
    let all = entry.columns.iter().flat_map(|column| figures.iter().filter(|one| is_of(column, one)));
    let keys: Vec<&Parameters> = distinct(all.map(|figure| &figure.parameters));
    let labels: BTreeMap<&Parameters, String> =
        keys.iter().map(|row| (*row, label(row, &keys, paper, theirs))).collect();
    let find = |figures: &[Measured<'_>], column: &Printed, row: &Parameters| {
        figures
            .iter()
            .find(|one| one.parameters == *row && is_of(column, one))
            .map(|one| one.estimate.clone().into_owned())
    };
    let inexact = |row: &Parameters| {
        let of = row.iter().find(|(name, _)| *name == "name")?;
        theirs.profile.sync.as_ref()?.inexact.get(&of.1).copied()
    };
    let mut table = Table::of(id, "Printed", keys.iter().copied()).text("", |row| labels[row].as_str());
    for column in &entry.columns {
        let cell = |row| Some(text(&find(&figures, column, row)?, column, inexact(row)));
        table = table.right(head(column), cell);
        if keys.iter().any(|row| find(&mine, column, row).is_some()) {
            let cell = |row| {
                Some(subject.figure(&find(&mine, column, row)?).scaled(column.times).format(Format::Plain))
            };
            table = table.figures(format!("{}, here", head(column)), "", cell);
        }
    }
    table.done()
}

fn head(column: &'static Printed) -> String {
    words::joined([column.name.as_str(), &column.unit], ", ")
}

/// A number as it was printed.
fn text(estimate: &Estimate, column: &Printed, inexact: Option<Inexact>) -> String {
    let printed = |value: f64| format!("{:.*}", column.decimals, value * column.times);
    match inexact {
        _ if estimate.low < estimate.high => signs::between(
            &words::plain(estimate.low * column.times),
            &words::plain(estimate.high * column.times),
        ),
        None => printed(estimate.median),
        Some(Inexact::Below) => format!("< {}", words::plain(estimate.median * column.times)),
        Some(Inexact::About | Inexact::Between) => {
            format!("≈ {}", words::plain(estimate.median * column.times))
        }
    }
}

/// The values of the parameters that tell rows apart.
fn label(row: &Parameters, all: &[&Parameters], paper: &Paper, subject: &Subject) -> String {
    let tells = |(name, value): &&(&'static str, String)| {
        let mut others = all.iter().filter_map(|other| other.iter().find(|(known, _)| known == name));
        let alone = all.iter().filter(|other| other.iter().any(|(known, _)| known == name)).count() == 1;
        alone || others.any(|(_, other)| other != value)
    };
    let told: Row = row.iter().filter(tells).cloned().collect();
    let value = |(name, value): &(&'static str, String)| match (*name, value.parse::<u64>()) {
        ("a" | "b" | "cpu", Ok(cpu)) => {
            format!("CPU {}", subject.cpu_label(cpu.try_into().unwrap_or(u32::MAX)))
        }
        ("bytes", Ok(bytes)) => words::bytes(bytes),
        (name, Ok(number)) => format!("{number} {name}"),
        (_, Err(_)) => labelled(paper, value).to_owned(),
    };
    words::joined(told.iter().map(value), ", ")
}

#[cfg(test)]
mod tests {
    use coho_profile::{Host, Method, Sync, published::repeated};

    use super::*;
    use crate::testing::{section, text};

    fn whole_of(paper: &'static Paper, profile: Profile) -> String {
        text(&section(super::super::whole(paper, &Subject::new("mine", profile).answered())), Depth::Detail)
    }

    #[test]
    fn each_entry_stands_in_the_papers_order_with_its_printed_figures_though_nothing_was_measured() {
        for paper in repeated() {
            let shown = whole_of(paper, Profile::default());
            let mut rest = shown.as_str();
            for entry in paper.contents.entries.iter().rev() {
                let heading = format!("{} ({})", entry.name(), entry.place);
                let (before, behind) =
                    rest.rsplit_once(&heading).unwrap_or_else(|| panic!("{heading} in {rest}"));
                rest = before;
                let printed = entry.columns.len() + entry.printed.len();
                assert!(printed == 0 || behind.contains("Printed"), "{heading}: {behind}");
            }
            assert!(shown.contains("not measured") && !shown.contains("  measured"), "{shown}");
        }
    }

    #[test]
    fn numbers_of_a_row_have_as_many_decimals_as_in_print() {
        let shown = whole_of(published::paper("nakamura-fbs"), Profile::default());
        assert!(shown.contains("84.1, 15.9, 100.0") && shown.contains("110.7, 10.3, 121.0"), "{shown}");
    }

    #[test]
    fn what_was_measured_stands_in_place_of_what_was_printed_alone() {
        let paper = published::paper("nakamura-fbs");
        let sync = Sync { fork_join: paper.machine().sync.unwrap().fork_join, ..Sync::default() };
        let shown = whole_of(paper, Profile { sync: Some(sync), ..Profile::default() });
        let (_, fig_4_1) = shown.split_once("Fig. 4-1 (").unwrap();
        let (fig_4_1, _) = fig_4_1.split_once("Fig. 4-2 (").unwrap();
        assert!(fig_4_1.contains("measured on an unknown date") && !fig_4_1.contains("Printed"), "{fig_4_1}");
    }

    #[test]
    fn the_rows_of_a_table_stand_above_one_that_has_only_their_means() {
        let paper = published::paper("kawabe-furuya");
        let coherence = paper.machine().coherence;
        let shown = whole_of(paper, Profile { coherence, ..Profile::default() });
        let (_, table_1) = shown.split_once("Table 1 (").unwrap();
        let (table_1, _) = table_1.split_once("Fig. 4 (").unwrap();
        assert!(table_1.contains("39.81") && table_1.contains("Tables 1 and 2"), "{table_1}");
    }

    #[test]
    fn names_from_a_profile_are_harmless() {
        let hostile = "a\u{1b}[31m\nb";
        let host = Host { cpu: Some(hostile.into()), date: Some(hostile.into()), ..Host::default() };
        let method = Method { date: Some(hostile.into()), ..Method::default() };
        let sync = Sync {
            fork_join: published::paper("nakamura-fbs").machine().sync.unwrap().fork_join,
            method,
            ..Sync::default()
        };
        let topology = published::paper("nakamura-fbs").machine().topology;
        let profile = Profile { host: Some(host), sync: Some(sync), topology, ..Profile::default() };
        let listed = coho_model::papers::list(&profile);
        let shown = text(&section(list(&listed)), Depth::Detail)
            + &whole_of(published::paper("nakamura-fbs"), profile);
        assert!(!shown.contains('\u{1b}') && shown.contains("31m"), "{shown}");
    }
}
