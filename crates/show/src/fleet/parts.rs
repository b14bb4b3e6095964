//! What is worth showing of a fleet.

use std::collections::BTreeSet;

use coho_model::fleet::{Distribution, Group, MissingHost, Outlier, Report};

use crate::chart::{Axis, Bin, Chart, Colour, Plot};
use crate::figure::{Figure, Format};
use crate::part::{Part, PartList, Table, Text};
use crate::words;

/// How many skipped profiles, and machines of a kind of oddity, are named.
const NAMED: usize = 8;
/// How many oddities are listed.
const LISTED: usize = 390;
const BINS: usize = 30;

/// Everything, the most urgent first.
pub fn parts(report: &Report) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(Text::new(summed_up(report)));
    parts.summary(missing(report));
    parts.summary(first(report));
    parts.summary(groups(report));
    parts.detail(odd(report));
    parts.summary(changes(report));
    parts.summary(drift(report));
    let of_largest = |one: &&Distribution| report.groups.first().is_some_and(|group| group.id == one.group);
    let (largest, others): (Vec<_>, Vec<_>) = report.distributions.iter().partition(of_largest);
    parts.summary(largest.into_iter().map(|one| histogram(one, report)));
    parts.detail(others.into_iter().map(|one| histogram(one, report)));
    parts.summary(notes(report));
    parts.summary(skipped(report));
    parts
}

/// `120 machines in 3 groups, 124 surveys; 4 machines are odd in their group; 2 profiles were skipped.`
pub(super) fn summed_up(report: &Report) -> String {
    let judged: usize = groups_judged(report).map(|group| group.machines).sum();
    let odd = match (report.odd.len(), judged) {
        (0, 0) => format!("no group has the {} machines that show what is usual", report.fewest),
        (0, _) => "no machine is odd in its group".into(),
        (1, _) => "1 machine is odd in its group".into(),
        (n, _) => format!("{n} machines are odd in their groups"),
    };
    let unjudged = report.machines - judged;
    let unjudged = match unjudged {
        0 => String::new(),
        _ if judged == 0 => String::new(),
        n => format!(
            "; {} in groups of fewer than {} were not judged",
            words::count(n, "machine"),
            report.fewest
        ),
    };
    let skipped = match report.skipped.len() {
        0 => String::new(),
        n => format!("; {} skipped", words::count(n, "profile")),
    };
    let missing = match report.missing.len() {
        0 => String::new(),
        n => format!("; {} missing", words::count(n, "host")),
    };
    format!(
        "{} in {}, {}; {odd}{unjudged}{skipped}{missing}.",
        words::count(report.machines, "machine"),
        words::count(report.groups.len(), "group"),
        words::count(report.surveys, "survey")
    )
}

fn groups_judged(report: &Report) -> impl Iterator<Item = &Group> {
    report.groups.iter().filter(|group| group.machines >= report.fewest)
}

/// What to look at first: each kind of oddity with the machine that is farthest off.
fn first(report: &Report) -> Option<Table> {
    let mut kinds: Vec<(&str, Vec<&Outlier>)> = Vec::new();
    for one in &report.outliers {
        let kind = one.figure.split(' ').next().unwrap_or_default();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, all)) => all.push(one),
            None => kinds.push((kind, vec![one])),
        }
    }
    let machines = |all: &[&Outlier]| -> Vec<String> {
        let mut seen = BTreeSet::new();
        let names = all.iter().map(|one| one.machine.as_str()).filter(|name| seen.insert(*name));
        names.map(|name| words::short(name, 60)).collect()
    };
    let rows: Vec<(&str, Vec<String>, String)> =
        kinds.iter().map(|(kind, all)| (*kind, machines(all), words::short(&all[0].why, 400))).collect();
    let others = |names: &[String]| {
        let more = names.len().saturating_sub(1 + NAMED);
        let named =
            names.iter().skip(1).take(NAMED).cloned().chain((more > 0).then(|| format!("{more} more")));
        words::joined(named, ", ")
    };
    let table = Table::of("fleet-first", "What to look at first", rows.iter())
        .text("what", |(kind, ..)| *kind)
        .figures("machines", "", |(_, names, _)| Figure::count(names.len()))
        .text("farthest", |(_, names, _)| names[0].as_str())
        .text("what is odd there", |(.., why)| why.as_str())
        .text("others", |(_, names, _)| Some(others(names)).filter(|names| !names.is_empty()));
    (!rows.is_empty()).then(|| table.done())
}

fn groups(report: &Report) -> Table {
    let fact = |group: &Group, name: &str| group.facts.get(name).map(|fact| words::short(fact, 160));
    let names: Vec<&'static str> =
        report.groups.first().map(|one| one.facts.keys().copied().collect()).unwrap_or_default();
    let spoken = |name: &'static str| if name == "cpu" { "CPU".into() } else { name.replace('_', " ") };
    let table = Table::of("fleet-groups", "Groups of equal machines", report.groups.iter())
        .text("group", |group| group.id.as_str())
        .figures("machines", "", |group| Figure::count(group.machines))
        .figures("odd", "", |group| (group.machines >= report.fewest).then(|| Figure::count(group.odd)))
        .text("differs", |group| (!group.differs.is_empty()).then_some(group.differs.as_str()));
    let table =
        names.into_iter().fold(table, |table, name| table.text(spoken(name), move |group| fact(group, name)));
    table.detail_after(40).done()
}

fn odd(report: &Report) -> Option<Table> {
    let table = Table::of("fleet-odd", "Everything odd", report.outliers.iter().take(LISTED))
        .text("machine", |one| words::short(&one.machine, 60))
        .text("figure", |one: &Outlier| words::short(&one.figure, 80))
        .figures("z", "", |one| one.z.map(Figure::exact))
        .text("why", |one| words::short(&one.why, 300))
        .note(
            "z: how far the value lies from its group's median, in units of 1.48 median absolute deviations; how far is odd \
             allows for how many figures and machines were looked at",
        )
        .note_if(
            report.outliers.len() > LISTED,
            format!("{} more: `coho fleet report --json` lists all", report.outliers.len().saturating_sub(LISTED)),
        );
    (!report.outliers.is_empty()).then(|| table.done())
}

fn changes(report: &Report) -> Option<Table> {
    let table = Table::of("fleet-changes", "What changed since the baseline", report.changes.iter())
        .text("figure", |one| words::short(&one.figure, 100))
        .figures("now over then", "", |one| Format::Ratio.of(one.ratio))
        .figures("machines", "", |one| Figure::count(one.machines))
        .figures("more", "", |one| Figure::count(one.more))
        .figures("less", "", |one| Figure::count(one.less))
        .text("together", |one| words::yes_no(one.together))
        .note("more, less: on how many machines it grew or fell beyond the chance of so many comparisons")
        .note("together: whether more machines grew, or fell, than chance allows")
        .detail_after(20);
    (!report.changes.is_empty()).then(|| table.done())
}

fn drift(report: &Report) -> Option<Table> {
    let table = Table::of("fleet-drift", "Machines that changed over their surveys", report.drift.iter())
        .text("machine", |one| words::short(&one.machine, 60))
        .text("figure", |one| words::short(&one.figure, 100))
        .text("since", |one| one.since.as_str())
        .figures("first", "", |one| Figure::exact(one.first))
        .figures("latest", "", |one| Figure::exact(one.latest))
        .figures("surveys", "", |one| Figure::count(one.surveys))
        .detail_after(20);
    (!report.drift.is_empty()).then(|| table.done())
}

/// How a group's values of a figure are distributed; `None` of fewer than judge a group, or where all are equal.
fn histogram(of: &Distribution, report: &Report) -> Option<Chart> {
    let (least, most) = (*of.values.first()?, *of.values.last()?);
    if of.values.len() < report.fewest || least >= most {
        return None;
    }
    let (unit, scale) = if of.unit == "bytes/s" { ("GB/s", 1e-9) } else { (of.unit, 1.0) };
    let step = (most - least) / BINS as f64;
    let bin = |at: usize| {
        let (from, to) = (least + step * at as f64, least + step * (at + 1) as f64);
        let is_in = |value: &&f64| **value >= from && (**value < to || at + 1 == BINS);
        let count = of.values.iter().filter(is_in).count() as u64;
        let [from, to] = [from * scale, to * scale];
        let hover = format!(
            "{}–{} {unit}: {}",
            words::number(from),
            words::number(to),
            words::count(count, "machine")
        );
        Bin { from, to, count, colour: Colour::nth(0), hover }
    };
    let which = if of.parameters.is_empty() {
        String::new()
    } else {
        format!(" ({})", words::short(&of.parameters, 120))
    };
    let title = format!("{} in group {}", words::sentence(of.label), of.group);
    let id = format!("fleet-{}-{}", of.group, of.key.replace('.', "-"));
    let axes = [Axis::linear(words::joined([of.label, unit], ", ")).tight(), Axis::linear("machines")];
    let [x, y] = axes;
    let chart = Chart::new(id, title, x, y, Plot::Histogram((0..BINS).map(bin).collect()));
    Some(chart.caption(format!("{}{which}.", words::count(of.values.len(), "machine"))))
}

fn notes(report: &Report) -> Vec<Text> {
    let note = |note: &coho_model::fleet::Note| {
        let machine = words::short(&note.machine, 60);
        Text::new(format!("{}.", words::joined([machine.as_str(), note.text.as_str()], ": ")))
    };
    report.notes.iter().take(NAMED).map(note).collect()
}

fn missing(report: &Report) -> Option<Table> {
    let table = Table::of("fleet-missing", "Hosts of a survey that have no profile", report.missing.iter())
        .text("host", |one| words::short(&one.host, 60))
        .text("why", |one| one.why.as_str())
        .text("listed in", |one| words::short(&one.file, 100))
        .detail_after(LISTED);
    (!report.missing.is_empty()).then(|| table.done())
}

fn skipped(report: &Report) -> Option<Table> {
    let table = Table::of("fleet-skipped", "Skipped profiles", report.skipped.iter())
        .text("file", |one| words::short(&one.file, 100))
        .text("why", |one| words::short(&one.why, 200))
        .detail_after(NAMED);
    (!report.skipped.is_empty()).then(|| table.done())
}

/// What to say of a missing host, in a line.
pub fn say_missing(missing: &MissingHost) -> String {
    let MissingHost { host, file, why } = missing;
    format!("coho: missing {}, which {} lists: {why}", words::short(host, 60), words::short(file, 200))
}

/// What to say of a skipped profile, in a line.
pub fn say_skipped(file: &str, why: &str) -> String {
    format!("coho: skipped {}: {}", words::short(file, 200), words::short(why, 300))
}
