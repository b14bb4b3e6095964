//! Kawabe & Furuya: tables 1 and 2, what coherence costs a program (Figs. 4 and 6), and processors over time (Fig. 7).

use coho_profile::PairMethod;
use coho_profile::published::kawabe_furuya;

use crate::Subject;
use crate::chart::{Axis, Bar, BarSeries, Chart, Colour, Plot, Series, Stroke};
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Part, Row, Table};
use crate::sections::predictions::cpi::points;
use crate::words;

/// What there is to set beside: all of it rests on free-running pairs, as the paper's does.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let free_running = subject.coherence().is_some_and(|coherence| {
        coherence.coherence_times.iter().any(|time| time.method == PairMethod::FreeRunning)
    });
    // The paper beside itself would say nothing.
    if !free_running || subject.published {
        return Vec::new();
    }
    let papers = Subject::of_publication(kawabe_furuya::figures().publication());
    let others: Vec<&Subject> = papers.iter().filter(|paper| paper.label != subject.label).collect();
    let mut parts = vec![Part::summary(tables(subject, &others))];
    parts.extend(cpi(subject).map(Part::summary));
    parts.extend(evolution(subject).map(Part::summary));
    parts
}

/// Tables 1 and 2: rows as printed there, a column for each machine.
fn tables(subject: &Subject, papers: &[&Subject]) -> Table {
    let machines: Vec<&Subject> = std::iter::once(subject).chain(papers.iter().copied()).collect();
    let columns: Vec<[Option<f64>; 16]> = machines.iter().map(|machine| column(machine)).collect();
    let name = |machine: &&Subject| {
        let short = machine.label.rsplit('/').next().unwrap_or(&machine.label);
        Column::figures(words::short(if machine.published { short } else { "here" }, 20), "")
    };
    let row = |(index, (name, unit)): (usize, &(&str, &str))| {
        let label = if unit.is_empty() { (*name).to_owned() } else { format!("{name}, {unit}") };
        let figures = columns.iter().map(|column| {
            Cell::maybe(column[index].map(|value| Figure::exact(value).format(Format::Printed)))
        });
        Row::new(std::iter::once(Cell::Text(label)).chain(figures))
    };
    Table::new("kawabe-furuya-tables", "Tables 1 and 2")
        .columns(std::iter::once(Column::text("")).chain(machines.iter().map(name)))
        .rows(ROWS.iter().enumerate().map(row))
        .note(
            "Free-running locked increments. A coherence time is the mean of its pairs less the time of an SMT pair, \
             or of one CPU if there is none. A dash: not measured or not published.",
        )
}

const ROWS: [(&str, &str); 16] = [
    ("clock", "GHz"),
    ("one CPU, locked increment", "ns"),
    ("one CPU, plain increment", "ns"),
    ("SMT pair (no transfer)", "ns"),
    ("pairs on one die, mean", "ns"),
    ("pairs one hop apart, mean", "ns"),
    ("pairs two hops apart, mean", "ns"),
    ("coherence time on one die", "ns"),
    ("coherence time on one die", "cycles"),
    ("coherence time, one hop", "ns"),
    ("coherence time, one hop", "cycles"),
    ("coherence time, two hops", "ns"),
    ("coherence time, two hops", "cycles"),
    ("one hop / one die", ""),
    ("two hops / one die", ""),
    ("locked / plain increment", ""),
];

/// One machine's column of the paper's tables.
fn column(subject: &Subject) -> [Option<f64>; 16] {
    let coherence = subject.coherence();
    let time = |class: &str| {
        let times = coherence?.coherence_times.iter();
        times.into_iter().find(|time| {
            time.method == PairMethod::FreeRunning && words::class_of(&time.class, subject) == class
        })
    };
    let mean = |class: &str| time(class).map(|time| time.mean_ns).filter(|mean| mean.is_finite());
    let ns = |class: &str| time(class).map(|time| time.coherence_ns);
    let cycles = |class: &str| time(class).and_then(|time| time.coherence_cycles);
    let single = |of: fn(&coho_profile::Single) -> f64| {
        crate::scale::median(coherence.iter().flat_map(|coherence| coherence.singles.iter().map(of)))
    };
    // No time is printed of the SMT pair, to which all others are compared: there is none but its pairs' own.
    let smt = crate::scale::median(coherence.iter().flat_map(|coherence| {
        let free = coherence.pairs.iter().filter(|pair| pair.method == PairMethod::FreeRunning);
        free.filter(|pair| words::class_of_pair(pair, subject) == "smt").map(|pair| pair.ns.median)
    }));
    let ratio = |over: Option<f64>, under: Option<f64>| Some(over? / under.filter(|under| *under > 0.0)?);
    let (locked, plain) = (single(|one| one.locked_ns.median), single(|one| one.unlocked_ns.median));
    [
        subject.clock_ghz(),
        locked,
        plain,
        smt,
        mean("on-die"),
        mean("1-hop"),
        mean("2-hop"),
        ns("on-die"),
        cycles("on-die"),
        ns("1-hop"),
        cycles("1-hop"),
        ns("2-hop"),
        cycles("2-hop"),
        ratio(ns("1-hop"), ns("on-die")),
        ratio(ns("2-hop"), ns("on-die")),
        ratio(locked, plain),
    ]
}

/// Cycles per instruction by the share of instructions that cause a coherence event: the model's lines, here and published.
fn cpi(subject: &Subject) -> Option<Chart> {
    let mine = &subject.answers.cpi;
    if mine.is_empty() {
        return None;
    }
    let line = |line: &coho_model::cpi::Line, whose: &str, published: bool| {
        let class = words::class_of(&line.class, subject);
        let name = format!("{whose}: {class}, {} cycles", words::number(line.cycles));
        Series {
            colour: Colour::of_class(&class),
            stroke: if published { Stroke::Published } else { Stroke::Solid },
            points: points(&line.points, &name),
            name,
        }
    };
    let mut series: Vec<Series> = mine.iter().map(|one| line(one, "here", false)).collect();
    for (machine, lines) in &subject.answers.published_cpi {
        series.extend(lines.iter().map(|one| line(one, machine, true)));
    }
    Some(
        Chart::new(
            "cpi",
            "Cycles per instruction by the rate of coherence events (Figs. 4 and 6)",
            Axis::linear("instructions that cause a coherence event, %"),
            Axis::linear("cycles per instruction"),
            Plot::Lines(series),
        )
        .caption(format!(
            "CPI = {} + events per instruction × cycles of the class, by free-running increments, here as in the \
             paper; many of these may happen in one ownership. With `coho predict cpi --method turn`, each event is a \
             change of ownership.",
            words::number(kawabe_furuya::figures().method.base_cpi)
        )),
    )
}

/// Coherence time on one die over generations of processors.
fn evolution(subject: &Subject) -> Option<Chart> {
    let here = column(subject)[7].filter(|ns| (0.0..1e6).contains(ns))?;
    let mut published: Vec<(String, f64)> = kawabe_furuya::figures().evolution_on_die.into_iter().collect();
    published.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bar = |ns: f64| Some(Bar { value: ns, interval: None, hover: format!("{} ns", words::number(ns)) });
    let mut categories: Vec<String> = published.iter().map(|(name, _)| name.clone()).collect();
    let n = categories.len();
    categories.push("this machine".into());
    let series = vec![
        BarSeries {
            name: "published".into(),
            colour: Colour::of_class("on-die"),
            published: true,
            bars: published.iter().map(|(_, ns)| bar(*ns)).chain([None]).collect(),
        },
        BarSeries {
            name: "measured".into(),
            colour: Colour::of_class("on-die"),
            published: false,
            bars: (0..n).map(|_| None).chain([bar(here)]).collect(),
        },
    ];
    let transfer = subject.coherence().and_then(|coherence| {
        let turn = coherence.coherence_times.iter().find(|time| {
            time.method == PairMethod::Turn && words::class_of(&time.class, subject) == "on-die"
        })?;
        Some(turn.mean_ns).filter(|ns| ns.is_finite())
    });
    let transfer = transfer
        .map_or(String::new(), |ns| format!(": a transfer (turn) takes {} ns here", words::number(ns)));
    Some(
        Chart::new(
            "evolution",
            "Coherence time on one die over generations of processors (Fig. 7)",
            Axis::linear("free-running coherence time on one die, ns"),
            Axis::linear(""),
            Plot::Bars { categories, series },
        )
        .caption(format!(
            "On today's CPUs, many free-running increments happen in one ownership, so a shorter bar need not mean a \
             quicker transfer{transfer}."
        )),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_come_out_as_printed() {
        let paper = Subject::only("published:kawabe-furuya/x7560").unwrap();
        let figures = column(&paper);
        assert_eq!((figures[1], figures[3]), (Some(11.94), Some(13.29)));
        assert_eq!(figures[10], Some(463.37));
    }

    #[test]
    fn a_profile_without_free_running_pairs_has_nothing_to_set_beside() {
        assert!(parts(&Subject::new("empty", coho_profile::Profile::default())).is_empty());
    }
}
