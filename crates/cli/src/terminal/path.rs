//! A transfer path for people: gains by gap, times by size, crossovers, what the paper states.

use std::io::{self, Write};

use super::table::{dense, table, wrapped};
use crate::commands::path::{Crossover, Point, Shown};
use crate::report::text;

/// Writes all that is shown of a path.
pub fn write(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    writeln!(out, "{}", wrapped("", &text::tame(&format!("{}: {}", shown.path, shown.about))))?;
    if !shown.source.is_empty() {
        writeln!(out, "{}", wrapped("Figures: ", &text::tame(&shown.source)))?;
    }
    let varied = shown.points.iter().any(|point| point.gap_ns > 0.0);
    if varied {
        gains(out, shown)?;
    } else {
        times(out, shown)?;
    }
    if !shown.crossovers.is_empty() {
        writeln!(out)?;
    }
    for crossover in &shown.crossovers {
        writeln!(out, "{}", crossing(crossover))?;
    }
    if !varied {
        loggp(out, shown)?;
    }
    if !shown.statements.is_empty() {
        statements(out, shown)?;
    }
    writeln!(out, "\n{}", wrapped("Valid for ", shown.validity))
}

/// A table for each figure: gains by size and instruction, a column for each gap.
fn gains(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    let mut figures: Vec<(Option<&str>, &str)> = Vec::new();
    for point in &shown.points {
        let key = (point.reading.as_deref(), point.figure.as_str());
        if !figures.contains(&key) {
            figures.push(key);
        }
    }
    for (reading, figure) in figures {
        let of = |point: &&Point| (point.reading.as_deref(), point.figure.as_str()) == (reading, figure);
        let points: Vec<&Point> = shown.points.iter().filter(of).collect();
        let title = shown.titles.iter().find(|(name, _)| name == figure).map_or("", |(_, title)| title);
        let reading = reading.map_or(String::new(), |reading| format!("{reading}, "));
        let heading =
            format!("\n{reading}Fig. {}: {}; time saved, %, by gap", text::tame(figure), text::tame(title));
        writeln!(out, "{}", wrapped("", &heading).trim_start_matches(' '))?;
        let mut gaps: Vec<f64> = Vec::new();
        for point in &points {
            if !gaps.contains(&point.gap_ns) {
                gaps.push(point.gap_ns);
            }
        }
        let mut header = vec!["size".to_owned(), "by".to_owned()];
        header.extend(gaps.iter().map(|&gap| duration(gap)));
        let rows = points.chunks(gaps.len()).map(|family| {
            let mut row = vec![text::bytes(family[0].bytes as u64), text::tame(&family[0].instruction)];
            row.extend(family.iter().map(|point| format!("{:+.1}", point.gain * 100.0)));
            row
        });
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        writeln!(out, "{}", dense(&header, 2, rows.collect()))?;
    }
    Ok(())
}

/// Times of all variants by size.
fn times(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    let mut variants: Vec<&str> = Vec::new();
    for time in &shown.times {
        if !variants.contains(&time.variant.as_str()) {
            variants.push(&time.variant);
        }
    }
    let mut sizes: Vec<(f64, &str)> = Vec::new();
    for time in &shown.times {
        if !sizes.contains(&(time.bytes, &time.instruction)) {
            sizes.push((time.bytes, &time.instruction));
        }
    }
    if sizes.is_empty() {
        return Ok(());
    }
    let (scale, unit) = unit(shown.times.iter().filter_map(|time| time.ns));
    let rows = sizes.iter().map(|&(bytes, instruction)| {
        let of = |variant: &&str| {
            let mut found = shown.times.iter().filter(|time| {
                (time.bytes, time.instruction.as_str(), time.variant.as_str())
                    == (bytes, instruction, *variant)
            });
            found
                .next()
                .and_then(|time| time.ns)
                .map_or_else(|| "–".to_owned(), |ns| text::number(ns / scale))
        };
        let size = format!("{} {}", text::bytes(bytes as u64), text::tame(instruction));
        std::iter::once(size.trim_end().to_owned()).chain(variants.iter().map(of)).collect()
    });
    let names: Vec<String> = variants.iter().map(|name| format!("{}, {unit}", text::tame(name))).collect();
    let header: Vec<&str> = std::iter::once("size").chain(names.iter().map(String::as_str)).collect();
    writeln!(out, "{}", dense(&header, 1, rows.collect()))
}

fn crossing(crossover: &Crossover) -> String {
    let mut label: Vec<&str> = crossover.reading.iter().map(String::as_str).collect();
    label.extend(
        [crossover.name.as_str(), crossover.instruction.as_str()].iter().filter(|name| !name.is_empty()),
    );
    let found = match (&crossover.to, crossover.bytes, crossover.exact_bytes) {
        (Some(to), Some(bytes), Some(exact)) => {
            let from = match crossover.grid_points {
                Some(points) => format!("{exact:.1} B on ({bytes} on a grid of {points} sizes)"),
                None => format!("{bytes} B on"),
            };
            let passes = match (crossover.by_pass_bytes, crossover.by_pass) {
                (Some((least, greatest)), Some((crossed, passes))) => format!(
                    "; taken by themselves, {crossed} of {passes} passes cross, from {} to {}",
                    text::bytes(least as u64),
                    text::bytes(greatest as u64)
                ),
                _ => String::new(),
            };
            format!("'{to}' from {from}, '{}' below{passes}", crossover.from)
        }
        _ => format!("'{}' at every size", crossover.from),
    };
    wrapped("", &text::tame(&format!("{}: {found}", label.join(", "))))
}

fn loggp(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    let rows = shown.loggp.iter().map(|view| {
        let name = format!("{} {}", view.variant, view.instruction);
        let figures = [view.o_send_ns, view.o_receive_ns, view.L_ns, view.g_ns, 1024.0 * view.G_ns_per_byte];
        let mut row = figures.into_iter().map(text::number);
        let mut next = || row.next().unwrap_or_default();
        [text::tame(name.trim_end()), next(), next(), next(), next(), next()]
    });
    let header = ["ns", "o, sender", "o, receiver", "L", "g", "G, a KiB"];
    let sizes = text::span(shown.loggp.iter().map(|view| view.bytes));
    writeln!(out, "\nLogGP; o, L and g of a message of {sizes}")?;
    writeln!(out, "{}", table(header, 1, rows.collect()))
}

fn statements(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    writeln!(out, "\nWhat the paper states:")?;
    for statement in &shown.statements {
        let verdict = if statement.met { "met   " } else { "missed" };
        let label = format!("{} {verdict} Fig. {:<3}", statement.reading, statement.figure);
        writeln!(out, "{}", wrapped(&label, statement.text))?;
    }
    Ok(())
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
