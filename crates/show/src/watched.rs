//! What `coho watch` tells.

use coho_model::watch::{Change, Watched, What, When, Window};

use crate::figure::{Figure, Format};
use crate::part::{Column, Part, Table, TableOf, Text};
use crate::words;

/// A share of the CPUs' time from which it is told that the hypervisor took it.
const STOLEN: f64 = 0.01;

/// Says whether the machine changed, then lists the pauses and runs.
pub fn parts(watched: &Watched) -> Vec<Part> {
    let mut parts: Vec<Part> = watched.changes.iter().map(|change| text(told(change))).collect();
    if watched.changes.is_empty() {
        parts.push(text(nothing(watched)));
    } else if let Some(first) = watched.changes.iter().find(|change| change.is_machine) {
        parts.push(text(consequence(first, watched)));
    }
    parts.extend(watched.windows.iter().filter_map(stolen).map(text));
    parts.push(Part::summary(table(watched).done()));
    parts
}

fn text(sentence: String) -> Part {
    Part::summary(Text::new(sentence))
}

/// `a hand-over between CPUs 0 and 1`, and the unit.
fn quantity(what: What) -> (String, &'static str) {
    match what {
        What::HandOverNs { a, b } => (format!("a hand-over between CPUs {a} and {b}"), "ns"),
        What::ClockGhz => ("the clock".into(), "GHz"),
        What::MemoryNs => ("a load from memory".into(), "ns"),
    }
}

fn told(change: &Change) -> String {
    let (what, unit) = quantity(change.what);
    let (before, after) = (words::number(change.before), words::number(change.after));
    let at = change.at_s.map_or(String::new(), |at| format!(", {at:.1} s after it began"));
    let run = change.run;
    if change.is_machine {
        format!(
            "The machine changed during run {run}{at}: {what} was {before} {unit} before and {after} {unit} after."
        )
    } else {
        format!(
            "During run {run}{at}, {what} went from {before} to {after} {unit}. The pauses around the run do not differ like \
             that, so the command may have caused it."
        )
    }
}

/// What it means for what the command measured.
fn consequence(first: &Change, watched: &Watched) -> String {
    let (run, runs) = (first.run, watched.command.runs);
    match (runs, run) {
        (1, _) => "What the command measured is of a machine that changed meanwhile: measure again.".into(),
        (_, 1) => "Its first run is not comparable with the others.".into(),
        _ if run == runs => format!("Run {run} is not comparable with the runs before it."),
        _ => format!("Runs from {run} on are not comparable with earlier runs."),
    }
}

/// What was looked at, none of which changed.
fn nothing(watched: &Watched) -> String {
    let pauses: Vec<&Window> = watched.windows.iter().filter(|window| window.when.is_pause()).collect();
    let of =
        |figure: fn(&Window) -> Vec<f64>| pauses.iter().flat_map(|pause| figure(pause)).collect::<Vec<_>>();
    let kept = |what: &str, values: Vec<f64>, unit: &str| {
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        let (least, most) = (words::number(least), words::number(most));
        Some(if least == most {
            format!("{what} {most} {unit}")
        } else {
            format!("{what} {least} to {most} {unit}")
        })
    };
    let pairs = pauses.iter().map(|pause| pause.hand_over.len()).max().unwrap_or(0);
    let pair = watched.windows.iter().find_map(|window| window.hand_over.first());
    let hand_over = match (pairs, pair) {
        (1, Some(pair)) => format!("hand-overs between CPUs {} and {}", pair.a, pair.b),
        _ => format!("hand-overs between {}", words::count(pairs, "pair")),
    };
    let all = [
        kept(
            &format!("{hand_over} took"),
            of(|pause| pause.hand_over.iter().map(|pair| pair.ns.median).collect()),
            "ns",
        ),
        kept("the clock was", of(|pause| pause.clock_ghz.iter().map(|ghz| ghz.median).collect()), "GHz"),
        kept(
            "loads from memory took",
            of(|pause| pause.memory_ns.iter().map(|ns| ns.median).collect()),
            "ns",
        ),
    ];
    let looks: u64 = watched
        .windows
        .iter()
        .filter(|window| !window.when.is_pause())
        .flat_map(|run| run.hand_over.iter().map(|pair| pair.ns.n))
        .sum();
    let meanwhile = match looks {
        0 => "What happened during the runs was not seen.".to_owned(),
        looks => format!("No jump was seen in {} during the runs.", words::count(looks, "look")),
    };
    match words::joined(all.into_iter().flatten(), ", ") {
        none if none.is_empty() => "Nothing could be looked at.".into(),
        all => format!("No change was seen. In the pauses, {all}. {meanwhile}"),
    }
}

fn stolen(window: &Window) -> Option<String> {
    let share = window.stolen.filter(|share| *share >= STOLEN)?;
    Some(format!(
        "The hypervisor took {:.0} % of the CPUs' time {}.",
        100.0 * share,
        match window.when {
            When::Before => "before the first run".into(),
            When::After => "after the last run".into(),
            When::Run(run) => format!("in run {run}"),
            When::Between(run) => format!("between runs {run} and {}", run + 1),
        }
    ))
}

/// Pairs that have a column of their own each; of more, there is one with their least and their most.
const OWN_COLUMN: usize = 2;

fn table(watched: &Watched) -> TableOf<&Window> {
    let pairs: Vec<(u32, u32)> = watched
        .windows
        .first()
        .map(|first| first.hand_over.iter().map(|pair| (pair.a, pair.b)).collect())
        .unwrap_or_default();
    let table = Table::of("watch", "", &watched.windows)
        .text("when", |window| window.when.to_string())
        .right("seconds", |window| format!("{:.1}–{:.1}", window.from_s, window.to_s));
    let table = if pairs.len() > OWN_COLUMN {
        table.right(format!("{} pairs, ns", pairs.len()), |window| {
            let times = || window.hand_over.iter().map(|pair| pair.ns.median);
            let ends = times().reduce(f64::min).zip(times().reduce(f64::max));
            ends.map_or(String::new(), |(least, most)| {
                format!("{}–{}", words::number(least), words::number(most))
            })
        })
    } else {
        table.columns_of(
            pairs,
            |(a, b)| Column::figures(format!("CPUs {a}, {b}"), "ns"),
            |window, pair| {
                let found = window.hand_over.iter().find(|found| (found.a, found.b) == pair);
                found.map(|found| Figure::from(&found.ns))
            },
        )
    };
    table
        .figures("clock", "GHz", |window| window.clock_ghz.as_ref().map(Figure::from))
        .figures("memory", "ns", |window| window.memory_ns.as_ref().map(Figure::from))
        .figures("stolen", "", |window| window.stolen.map(|share| Format::Percent.of(share)))
}

#[cfg(test)]
mod tests {
    use coho_model::watch::{Command, HandOver, changes};
    use coho_profile::Estimate;

    use super::*;
    use crate::part::Body;

    fn window(when: When, ns: f64) -> Window {
        let figure = Estimate { n: 24, low: ns - 0.5, high: ns + 0.5, ..Estimate::exact(ns) };
        Window { when, hand_over: vec![HandOver { a: 0, b: 1, ns: figure }], ..Window::default() }
    }

    fn said(windows: Vec<Window>, runs: u32) -> String {
        let changes = changes(&windows, &[]);
        let watched =
            Watched { changes, windows, command: Command { status: 0, runs }, ..Watched::default() };
        parts(&watched)
            .iter()
            .filter_map(|part| match &part.body {
                Body::Text(text) => Some(text.text.clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn what_is_not_comparable_is_named() {
        let of = |times: &[f64]| {
            let last = times.len() - 1;
            let when = |at: usize| match at {
                0 => When::Before,
                at if at == last => When::After,
                at => When::Between(at as u32),
            };
            said(times.iter().enumerate().map(|(at, &ns)| window(when(at), ns)).collect(), last as u32)
        };
        assert!(of(&[26.0, 128.0]).ends_with("of a machine that changed meanwhile: measure again."));
        assert!(of(&[26.0, 128.0, 128.0]).ends_with("Its first run is not comparable with the others."));
        assert!(
            of(&[26.0, 26.0, 128.0, 128.0]).ends_with("Runs from 2 on are not comparable with earlier runs.")
        );
        let last = of(&[26.0, 26.0, 128.0]);
        assert!(last.starts_with(
            "The machine changed during run 2: a hand-over between CPUs 0 and 1 was 26.0 ns before"
        ));
        assert!(last.ends_with("Run 2 is not comparable with the runs before it."), "{last}");
    }

    #[test]
    fn no_change_is_said_only_of_what_was_looked_at() {
        let calm = vec![window(When::Before, 26.0), window(When::After, 26.4)];
        assert_eq!(
            said(calm, 1),
            "No change was seen. In the pauses, hand-overs between CPUs 0 and 1 took 26.0 to 26.4 ns. What happened during the runs was \
             not seen."
        );
        assert_eq!(said(vec![Window::default()], 1), "Nothing could be looked at.");
        let stolen = Window { stolen: Some(0.034), ..window(When::Run(1), 26.0) };
        let text = said(vec![window(When::Before, 26.0), stolen, window(When::After, 26.0)], 1);
        assert!(text.contains("No jump was seen in 24 looks during the runs.\nThe hypervisor took 3 % of the CPUs' time in run 1."));
    }
}
