//! A path that was asked for, predictions beside what was measured just now, and a fit: what `coho path` prints.

use coho_model::path::summary::{Crossover, Point};
use coho_model::path::{Check, Fit, Summary, VALIDITY, median_error};
use coho_profile::Memory;

use super::error;
use crate::figure::Figure;
use crate::part::{Cell, Column, Missing, Part, PartList, Row, Table, Text};
use crate::words;

/// All that is told of a path.
pub fn path(summary: &Summary) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(Text::new(words::short(&format!("{}: {}", summary.path, summary.about), 2000)));
    if !summary.source.is_empty() {
        parts.summary(Text::labelled("figures", words::short(&summary.source, 2000)));
    }
    let varied = summary.points.iter().any(|point| point.gap_ns > 0.0);
    for table in if varied { gains(summary) } else { times(summary).into_iter().collect() } {
        parts.summary(table);
    }
    for crossover in &summary.crossovers {
        parts.summary(Text::new(crossing(crossover)));
    }
    if !varied {
        parts.summary(loggp(summary));
    }
    for (at, statement) in summary.statements.iter().enumerate() {
        let verdict = if statement.met { "met   " } else { "missed" };
        if at == 0 {
            parts.summary(Text::new("What the paper states:"));
        }
        let label = format!("{} {verdict} Fig. {:<3}", statement.reading, statement.figure);
        parts.summary(Text::labelled(label, statement.text));
    }
    parts.summary(Text::labelled("valid for", summary.validity));
    parts
}

/// A table for each figure: gains by size and instruction, a column for each gap.
fn gains(summary: &Summary) -> Vec<Table> {
    let mut figures: Vec<(Option<&str>, &str)> = Vec::new();
    for point in &summary.points {
        let key = (point.reading.as_deref(), point.figure.as_str());
        if !figures.contains(&key) {
            figures.push(key);
        }
    }
    let table = |(reading, figure): (Option<&str>, &str)| {
        let is_in_figure =
            |point: &&Point| (point.reading.as_deref(), point.figure.as_str()) == (reading, figure);
        let points: Vec<&Point> = summary.points.iter().filter(is_in_figure).collect();
        let title = summary.titles.iter().find(|(name, _)| name == figure).map_or("", |(_, title)| title);
        let reading = reading.map_or(String::new(), |reading| format!("{reading}, "));
        let title = format!("{reading}Fig. {figure}: {title}; time saved, %, by gap");
        let mut gaps: Vec<f64> = Vec::new();
        for point in &points {
            if !gaps.contains(&point.gap_ns) {
                gaps.push(point.gap_ns);
            }
        }
        let rows = points.chunks(gaps.len()).map(|family| {
            let names = [
                Figure::bytes(family[0].bytes as u64).into(),
                words::short(&family[0].instruction, 40).into(),
            ];
            let gain = |point: &&Point| Cell::from(format!("{:+.1}", point.gain * 100.0));
            Row::new(names.into_iter().chain(family.iter().map(gain)))
        });
        let columns = gaps.iter().map(|&gap| Column { is_figures: true, ..Column::text(duration(gap)) });
        let id = format!("path-{}fig-{figure}", reading.replace(", ", "-").to_ascii_lowercase());
        Table::new(id, title)
            .columns([Column::figures("size", ""), Column::text("by")])
            .columns(columns)
            .rows(rows)
    };
    figures.into_iter().map(table).collect()
}

/// Times of all variants by size.
fn times(summary: &Summary) -> Option<Table> {
    let mut variants: Vec<&str> = Vec::new();
    let mut sizes: Vec<(f64, &str)> = Vec::new();
    for time in &summary.times {
        if !variants.contains(&time.variant.as_str()) {
            variants.push(&time.variant);
        }
        if !sizes.contains(&(time.bytes, &time.instruction)) {
            sizes.push((time.bytes, &time.instruction));
        }
    }
    let (scale, unit) = unit(summary.times.iter().filter_map(|time| time.ns));
    let rows = sizes.iter().map(|&(bytes, instruction)| {
        let time_of = |variant: &&str| {
            let key = (bytes, instruction, *variant);
            let mut times = summary
                .times
                .iter()
                .filter(|time| (time.bytes, time.instruction.as_str(), time.variant.as_str()) == key);
            Cell::maybe(times.next().and_then(|time| time.ns).map(|ns| ns / scale))
        };
        let names = [Figure::bytes(bytes as u64).into(), word(instruction)];
        Row::new(names.into_iter().chain(variants.iter().map(time_of)))
    });
    let table = Table::new("path-times", "Times by size")
        .columns([Column::figures("size", ""), Column::text("by")])
        .columns(variants.iter().map(|name| Column::figures(words::short(name, 60), unit)))
        .rows(rows);
    (!sizes.is_empty()).then_some(table)
}

fn word(text: &str) -> Cell {
    if text.is_empty() { Cell::Nothing } else { words::short(text, 40).into() }
}

/// From which size on what is the quickest, and how sure that is.
pub(super) fn crossing(crossover: &Crossover) -> String {
    let mut label: Vec<&str> = crossover.reading.iter().map(String::as_str).collect();
    label.extend(
        [crossover.name.as_str(), crossover.instruction.as_str()].iter().filter(|name| !name.is_empty()),
    );
    let quickest = match (&crossover.to, crossover.bytes, crossover.exact_bytes) {
        (Some(to), Some(bytes), Some(exact)) => {
            let from = match crossover.grid_points {
                Some(points) => format!("{exact:.1} B on ({bytes} on a grid of {points} sizes)"),
                None => format!("{bytes} B on"),
            };
            let passes = match (crossover.by_pass_bytes, crossover.by_pass) {
                (Some((least, greatest)), Some((crossed, passes))) => format!(
                    "; of the single passes, {crossed} of {passes} cross, from {} to {}",
                    words::bytes(least as u64),
                    words::bytes(greatest as u64)
                ),
                _ => String::new(),
            };
            format!("'{to}' from {from}, '{}' below{passes}", crossover.from)
        }
        _ => format!("'{}' at every size", crossover.from),
    };
    words::short(&format!("{}: {quickest}", label.join(", ")), 600)
}

/// LogGP's view of each way.
pub(super) fn loggp(summary: &Summary) -> Table {
    let rows = summary.loggp.iter().map(|view| {
        let name = words::short(&format!("{} {}", view.variant, view.instruction), 60);
        let figures = [view.o_send_ns, view.o_receive_ns, view.L_ns, view.g_ns, 1024.0 * view.G_ns_per_byte];
        Row::new(std::iter::once(name.trim_end().into()).chain(figures.map(Cell::from)))
    });
    let sizes = words::span(summary.loggp.iter().map(|view| view.bytes));
    let title =
        format!("{}: LogGP, in ns; o, L and g of a message of {sizes}", words::short(&summary.path, 60));
    Table::new(format!("loggp-{}", words::short(&summary.path, 40)), title)
        .columns([Column::text("way")])
        .columns(["o, sender", "o, receiver", "L", "g", "G, a KiB"].map(|name| Column::figures(name, "")))
        .rows(rows)
}

/// The unit of a table of times in ns, and its length: the largest in which the least of them is no small fraction.
fn unit(times: impl Iterator<Item = f64>) -> (f64, &'static str) {
    match times.filter(|ns| *ns > 0.0).fold(f64::INFINITY, f64::min) {
        least if least.is_infinite() || least < 1e2 => (1.0, "ns"),
        least if least < 1e5 => (1e3, "us"),
        _ => (1e6, "ms"),
    }
}

/// A time in the unit that leaves the fewest digits.
fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "us"),
        ns => (ns, "ns"),
    };
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

/// Predictions beside what was measured just now: a table for each path, with what an earlier profile's parts predict.
pub fn checked(checks: &[Check], by_profile: &[Check], memory: &Memory) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut paths: Vec<&str> = checks.iter().map(|check| check.path.as_str()).collect();
    paths.dedup();
    for path in paths {
        let own: Vec<&Check> = checks.iter().filter(|check| check.path == path).collect();
        let rows = own.iter().map(|check| {
            let same = |other: &&Check| (&other.path, other.bytes) == (&check.path, check.bytes);
            let earlier = by_profile.iter().find(same).map(|earlier| earlier.predicted_ns);
            Row::new([
                Figure::bytes(check.bytes).into(),
                check.predicted_ns.into(),
                Figure::from(&check.measured).into(),
                error(check).into(),
                Cell::maybe(earlier),
            ])
        });
        let ends =
            memory.transfers.first().map_or(String::new(), |one| format!("{} and {}", one.from, one.to));
        let median = 100.0 * median_error(own.iter().copied()).unwrap_or_default();
        parts.summary(
            Table::new(format!("check-{path}"), "")
                .columns([
                    Column::figures(path, ""),
                    Column::figures("predicted", "ns"),
                    Column::figures("measured", "ns"),
                    Column { is_figures: true, ..Column::text("error") },
                    Column::figures("by the profile", "ns"),
                ])
                .rows(rows)
                .note(format!(
                    "median error {median:.0} %; parts and whole messages were timed in turn and compared pass by \
                     pass, in one run of {:.1} s between CPUs {ends}",
                    memory.method.duration_s
                )),
        );
    }
    parts.summary(Missing::all(&memory.method.not_available));
    if memory.method.interrupted {
        parts.summary(Text::new(words::STOPPED));
    }
    parts.summary(Text::labelled("valid for", VALIDITY));
    parts
}

/// The lines through pairs of sizes and times.
pub fn fitted(fit: &Fit) -> Vec<Part> {
    let rows = fit.segments.iter().map(|part| {
        Row::new([
            part.from_bytes.into(),
            part.to_bytes.into(),
            part.fixed_ns.into(),
            Cell::maybe(part.bytes_per_s.map(|rate| rate / 1e9)),
            format!("{:.1} %", part.error * 100.0).into(),
        ])
    });
    let several =
        if fit.segments.len() > 1 { "; several lines: the protocol changes between them" } else { "" };
    let mut parts = Vec::new();
    parts.summary(
        Table::new("fit", "")
            .columns([
                Column::figures("from", "B"),
                Column::figures("to", "B"),
                Column::figures("fixed", "ns"),
                Column::figures("rate", "GB/s"),
                Column { is_figures: true, ..Column::text("rms error") },
            ])
            .rows(rows)
            .note(format!("{} pairs{several}.", fit.pairs)),
    );
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_unit_that_its_least_time_can_be_read_in() {
        assert_eq!(unit([4.2, 4e6].into_iter()), (1.0, "ns"));
        assert_eq!(unit([420.0, 4e6].into_iter()), (1e3, "us"));
        assert_eq!(unit([4.2e5, 4e6].into_iter()), (1e6, "ms"));
        assert_eq!(unit(std::iter::empty()), (1.0, "ns"));
    }
}
