//! Kawabe & Furuya: tables 1 and 2, what coherence costs a program (Figs. 4 and 6), and processors over time (Fig. 7).

use coho_model::cpi::Line;
use coho_profile::published::{self, Paper};
use coho_profile::{CoherenceTime, PairMethod, Single};

use crate::sections::predictions::cpi;
use crate::sections::prelude::*;

fn paper() -> &'static Paper {
    published::paper("kawabe-furuya")
}

/// What stands beside the paper's figures: like these, all of it rests on free-running pairs.
pub fn parts(subject: &Subject) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut times = subject.coherence().into_iter().flat_map(|coherence| &coherence.coherence_times);
    // The paper beside itself would say nothing.
    if times.any(|time| time.method == PairMethod::FreeRunning) && !subject.published {
        parts.summary(tables(subject));
        parts.summary(cpi_lines(&subject.answers.cpi, subject));
        let here = time(subject, PairMethod::FreeRunning, "on-die").map(|time| time.coherence_ns);
        let here = here.filter(|ns| (0.0..1e6).contains(ns));
        parts.summary(here.map(|here| evolution(Some(here), subject)));
    }
    parts
}

/// The paper's charts alone, for a profile that has nothing to set beside them.
pub fn charts(subject: &Subject) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(cpi_lines(&[], subject));
    parts.summary(evolution(None, subject));
    parts
}

/// Tables 1 and 2: rows as printed there, a column for each machine.
fn tables(subject: &Subject) -> Table {
    let papers = Subject::of_publication(paper().publication());
    let others = papers.iter().filter(|paper| paper.label != subject.label);
    let machines: Vec<_> =
        std::iter::once(subject).chain(others).map(|machine| (machine, rows(machine))).collect();
    Table::of("kawabe-furuya-tables", "Tables 1 and 2", rows(subject).iter().enumerate())
        .text("", |(_, (name, unit, _))| words::joined([*name, *unit], ", "))
        .columns_of(
            &machines,
            |(machine, _)| {
                let short = machine.label.rsplit('/').next().unwrap_or(&machine.label);
                Column::figures(words::short(if machine.published { short } else { "here" }, 20), "")
            },
            |(index, _), (_, rows)| Some(Format::Printed.of(rows[index].2?)),
        )
        .note(
            "Free-running locked increments. A coherence time is the mean of its pairs less the time of an SMT pair, \
             or of one CPU if there is none. A dash: not measured or not published.",
        )
        .done()
}

/// The first coherence time of a class by this method.
fn time<'a>(subject: &'a Subject, method: PairMethod, class: &str) -> Option<&'a CoherenceTime> {
    let is = |time: &&CoherenceTime| time.method == method && words::class_of(&time.class, subject) == class;
    subject.coherence()?.coherence_times.iter().find(is)
}

/// The rows of the paper's tables, with their units and one machine's figures.
fn rows(subject: &Subject) -> [(&'static str, &'static str, Option<f64>); 16] {
    let coherence = subject.coherence();
    let time = |class: &str| time(subject, PairMethod::FreeRunning, class);
    let mean = |class: &str| time(class).map(|time| time.mean_ns).filter(|mean| mean.is_finite());
    let ns = |class: &str| time(class).map(|time| time.coherence_ns);
    let cycles = |class: &str| time(class).and_then(|time| time.coherence_cycles);
    let single = |of: fn(&Single) -> f64| {
        scale::median(coherence.iter().flat_map(|coherence| coherence.singles.iter().map(of)))
    };
    // Other times are given less the SMT pair's, so that it has no coherence time of its own: its pairs' time stands
    // here.
    let smt = scale::median(coherence.iter().flat_map(|coherence| {
        let free = coherence.pairs.iter().filter(|pair| pair.method == PairMethod::FreeRunning);
        free.filter(|pair| words::class_of_pair(pair, subject) == "smt").map(|pair| pair.ns.median)
    }));
    let ratio = |over: Option<f64>, under: Option<f64>| Some(over? / under.filter(|under| *under > 0.0)?);
    let (locked, plain) = (single(|one| one.locked_ns.median), single(|one| one.unlocked_ns.median));
    [
        ("clock", "GHz", subject.clock_ghz()),
        ("one CPU, locked increment", "ns", locked),
        ("one CPU, plain increment", "ns", plain),
        ("SMT pair (no transfer)", "ns", smt),
        ("pairs on one die, mean", "ns", mean("on-die")),
        ("pairs one hop apart, mean", "ns", mean("1-hop")),
        ("pairs two hops apart, mean", "ns", mean("2-hop")),
        ("coherence time on one die", "ns", ns("on-die")),
        ("coherence time on one die", "cycles", cycles("on-die")),
        ("coherence time, one hop", "ns", ns("1-hop")),
        ("coherence time, one hop", "cycles", cycles("1-hop")),
        ("coherence time, two hops", "ns", ns("2-hop")),
        ("coherence time, two hops", "cycles", cycles("2-hop")),
        ("one hop / one die", "", ratio(ns("1-hop"), ns("on-die"))),
        ("two hops / one die", "", ratio(ns("2-hop"), ns("on-die"))),
        ("locked / plain increment", "", ratio(locked, plain)),
    ]
}

/// Cycles per instruction by the share of instructions that cause a coherence event: a chart for each of the paper's
/// machines, as the paper has them, with this machine's lines in both.
fn cpi_lines(mine: &[Line], subject: &Subject) -> Vec<Chart> {
    let line = |line: &Line, whose: &str, stroke| {
        let class = words::class_of(&line.class, subject);
        let name = format!("{whose}: {class}, {} cycles", words::number(line.cycles));
        cpi::series(name, &class, stroke, &line.points)
    };
    let chart = |(id, figure, of): (&str, &str, &str)| {
        let mine = mine.iter().map(|one| line(one, "here", Stroke::Solid));
        let published = subject.answers.published.cpi.iter().filter(|(machine, _)| machine == of);
        let published = published
            .flat_map(|(machine, lines)| lines.iter().map(move |one| line(one, machine, Stroke::Published)));
        let title = format!("Cycles per instruction by the rate of coherence events ({figure})");
        let axes = [
            Axis::linear("instructions that cause a coherence event, %"),
            Axis::linear("cycles per instruction"),
        ];
        Chart::lines(id, title, axes, mine.chain(published).collect()).caption(format!(
            "CPI = {} + events per instruction × cycles of the class, here as in the paper. {}",
            words::number(paper().row("cpi", "base")[0]),
            cpi::FREE_RUNNING
        ))
    };
    [("cpi", "Fig. 4", "e5620"), ("cpi-x7560", "Fig. 6", "x7560")].map(chart).into()
}

/// Processors in the paper's order, and this machine below.
fn evolution(here: Option<f64>, subject: &Subject) -> Chart {
    let published: Vec<(&str, f64)> =
        paper().figures["fig-7"].iter().map(|(name, ns)| (paper().labels[name].as_str(), ns[0])).collect();
    let bar = |ns: f64| Some(Bar::new(ns, |ns| format!("{ns} ns")));
    let mine = here.map(bar);
    let theirs = published.iter().map(|(_, ns)| bar(*ns)).chain(mine.iter().map(|_| None));
    let ours = published.iter().map(|_| None).chain(mine.clone());
    let colour = Colour::of_class("on-die");
    let mut series = vec![BarSeries::new("published", colour, theirs).published(true)];
    series.extend(here.map(|_| BarSeries::new("measured", colour, ours)));
    let transfer = time(subject, PairMethod::Turn, "on-die").map(|turn| turn.mean_ns);
    let transfer = transfer
        .filter(|ns| ns.is_finite())
        .map_or(String::new(), |ns| format!(": a transfer (turn) takes {} ns here", words::number(ns)));
    let names = published.into_iter().map(|(name, _)| name).chain(here.map(|_| "this machine"));
    let categories = names.map(str::to_owned).collect();
    let title = "Coherence time on one die over generations of processors (Fig. 7)";
    let axis = Axis::linear("free-running coherence time on one die, ns");
    Chart::bars("evolution", title, axis, categories, series).caption(format!(
        "On today's CPUs, many free-running increments happen in one ownership, so a shorter bar need not mean a \
         quicker transfer{transfer}."
    ))
}

#[cfg(test)]
mod tests {
    use coho_profile::Profile;

    use super::*;
    use crate::testing::{charts, section};

    #[test]
    fn what_the_paper_draws_is_drawn_though_nothing_was_measured_and_in_its_order() {
        let section = section(super::charts(&Subject::new("mine", Profile::default()).answered()));
        let charts = charts(&section);
        let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        assert_eq!(ids, ["cpi", "cpi-x7560", "evolution"]);
        let Plot::Bars { categories, series } = &charts[2].plot else { panic!("{charts:?}") };
        let starts = ["Nehalem Xeon X7560", "Nehalem Xeon E5620", "Sandy Bridge", "Haswell"];
        assert!(categories.iter().zip(starts).all(|(name, start)| name.starts_with(start)), "{categories:?}");
        assert_eq!((categories.len(), series.len()), (4, 1));
    }

    #[test]
    fn the_tables_come_out_as_printed() {
        let rows = rows(&Subject::only("published:kawabe-furuya/x7560").unwrap());
        assert_eq!([1, 3, 10].map(|index| rows[index].2), [Some(11.94), Some(13.29), Some(463.37)]);
    }
}
