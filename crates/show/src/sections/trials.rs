//! Commands that ran under several placements, and what was chosen for each.

use std::cmp::Ordering;

use coho_model::trial::{choice, differences, family, fingerprint};
use coho_profile::{Estimate, Examination, Live, PlacementRate, PlacementTime, Trial};

use crate::part::Cell;
use crate::sections::prelude::*;

/// Counters that are named for one placement, at most.
const COUNTERS: usize = 3;
/// Commands that are shown, at most: a profile may have any number.
const MOST: usize = 50;

pub(super) const ENTRY: Entry = Entry { id: "runs", title: "Commands under placements", of: section };

/// What `coho run` remembers in a profile.
pub fn section(subject: &Subject) -> Option<Section> {
    let runs = subject.profile.run.as_ref()?;
    let commands = runs.commands.len() + runs.live.len();
    if commands == 0 {
        return None;
    }
    let names = runs.commands.keys().chain(runs.live.keys()).take(3).map(|name| words::short(name, 30));
    let headline = format!("{}: {}", words::count(commands, "command"), words::joined(names, ", "));
    let mut section = ENTRY.section(headline);
    for (name, trial) in runs.commands.iter().take(MOST) {
        let taken = choice(trial).unwrap_or("none");
        let name = words::short(name, 80);
        section.summary(Text::labelled(name.clone(), format!("{taken} is taken: {}.", verdict(trial))));
        let title = titled(&name, &trial.command, trial.date.as_deref());
        section.detail(times(&format!("run-{name}"), title, trial, Some(taken)));
    }
    for (name, live) in runs.live.iter().take(MOST) {
        lived(&mut section, &words::short(name, 80), live);
    }
    let cut = format!("At most {MOST} commands of a kind are shown; all are in the profile.");
    section.detail((commands > MOST).then(|| Text::new(cut)));
    Some(section)
}

fn titled(name: &str, command: &[String], date: Option<&str>) -> String {
    let date = date.map_or(String::new(), |date| format!(", {}", words::short(date, 40)));
    let line = words::short(&command.join(" "), 300);
    // A command without a name of its own is called by its line.
    if name == line { format!("{name}{date}") } else { format!("{name}: {line}{date}") }
}

fn lived(section: &mut Section, name: &str, live: &Live) {
    let Some(last) = live.examinations.last() else {
        let what = format!("a placement of {name} while it ran");
        section.summary(Missing::new(what, "it ended before one was settled on"));
        return;
    };
    section.summary(Text::labelled(name, settled(last, &live.progress)));
    let order = words::joined(live.examinations.iter().map(|one| words::short(&one.best, 40)), ", ");
    let title = titled(&format!("{name}, while it ran"), &live.command, live.date.as_deref());
    section.detail(
        Table::of(format!("live-{name}"), title, last.placements.iter().take(MOST))
            .text("placement", |one| starred(&one.name, one.name == last.best))
            .text("CPUs", |one| words::cpus(&one.cpus))
            .figures("progress a second", "", |one| {
                same_as(&one.same_as).or_else(|| Some(one.rate.as_ref()?.into()))
            })
            .figures("settled on / this", "", |one| one.best_times.as_ref())
            .note(format!(
                "Progress: `{}`, {} s after it began; *: chosen. Chosen, in turn: {}.",
                words::short(&live.progress, 80),
                words::number(last.at_s),
                words::short(&order, 400)
            )),
    );
}

/// A placement's name, with a mark if it was chosen.
fn starred(name: &str, is_chosen: bool) -> String {
    words::short(name, 40) + if is_chosen { "*" } else { "" }
}

/// What stands in place of a figure if another placement is on the same CPUs.
fn same_as(other: &Option<String>) -> Option<Cell> {
    Some(format!("as {}", words::short(other.as_ref()?, 40)).into())
}

/// The times, which is best, and what may explain it.
pub fn trial(trial: &Trial) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(times("trial", String::new(), trial, None));
    parts.summary(Text::new(format!("{}.", verdict(trial))));
    parts.summary(explained(trial).map(|line| Text::new(format!("- {line}"))));
    parts.summary(fingerprint(trial).map(Text::new));
    let missing = trial.method.not_available.iter();
    parts.summary(Missing::by_reason(missing.map(|(what, why)| (what.replace('_', " "), why.as_str()))));
    let stopped = "Stopped before its end; whole rounds are above.";
    parts.summary(trial.method.interrupted.then(|| Text::new(stopped)));
    parts
}

/// A row for each placement; the one that is `taken` is marked.
fn times<'a>(id: &str, title: String, trial: &'a Trial, taken: Option<&str>) -> TableOf<&'a PlacementTime> {
    let in_ms = trial.placements.iter().any(|one| one.seconds.as_ref().is_some_and(|s| s.median < 1.0));
    let (unit, per_s) = if in_ms { ("ms", 1e3) } else { ("s", 1.0) };
    let has = |name: &str| trial.placements.iter().any(|one| one.counters.contains_key(name));
    let counters = [
        ("voluntary_switches", Column::figures("waits", "")),
        ("migrations", Column::figures("moves", "")),
        ("l2_misses", Column::figures("L2 misses", "").detail()),
        ("l3_misses", Column::figures("L3 misses", "").detail()),
        ("clock_ghz", Column::figures("GHz", "").detail()),
    ];
    Table::of(id, title, trial.placements.iter().take(MOST))
        .text("placement", |one| starred(&one.name, taken == Some(&one.name)))
        .text("CPUs", |one| words::short(&words::cpus(&one.cpus), 12))
        .figures(format!("{unit} (95 %)"), "", |one| {
            let seconds = || Some(Figure::from(one.seconds.as_ref()?).scaled(per_s).into());
            same_as(&one.same_as).or_else(seconds)
        })
        .figures("× best (95 %)", "", |one| {
            Some(Figure::from(one.times_best.as_ref()?).format(Format::Ratio))
        })
        .columns_of(
            &counters,
            |(_, column)| column.clone(),
            |one, (name, _)| one.counters.get(*name).map(|value| value.median),
        )
        .note_if(taken.is_some(), "*: taken by `coho run --place auto`.")
        .note_if(has("voluntary_switches"), "Waits: how often a run slept until something happened.")
        .note_if(has("migrations"), "Moves: how often the scheduler moved its threads to another CPU.")
}

fn ratio(estimate: &Estimate) -> String {
    Figure::from(estimate).format(Format::Ratio).text()
}

/// A placement's name in a sentence.
fn named(name: &str) -> String {
    words::short(name, 60)
}

/// Which placement is best, with the nearest other, in a sentence without its point.
pub fn verdict(trial: &Trial) -> String {
    let Some(best) = trial.best.as_deref().map(named) else { return "no round was finished".into() };
    let others = trial.placements.iter().filter_map(|one| Some((one, one.times_best.as_ref()?)));
    let nearest = others.clone().min_by(|one, other| one.1.median.total_cmp(&other.1.median));
    let Some((nearest, over)) = nearest else {
        return format!("nothing to choose from: {best} is the only placement");
    };
    let (nearest, over) = (named(&nearest.name), ratio(over));
    let rounds = words::count(trial.method.passes, "round");
    if trial.decided {
        return format!("{best} is best: {nearest} takes {over} times as long ({rounds})");
    }
    if let Some(needed) = lacks_rounds(trial) {
        let seen = format!("{nearest} took {over} times as long as {best}");
        return format!("{rounds} cannot decide, {needed} or more could: {seen}");
    }
    // Some placements may be worse than others beyond chance, though no single one is best.
    let is_loser = |one: &PlacementTime| {
        one.same_as.is_none() && one.seconds.is_some() && !trial.winners.contains(&one.name)
    };
    // A file may name a best one and no winners: without them nobody has lost.
    if trial.winners.is_empty() || !trial.placements.iter().any(is_loser) {
        return format!(
            "nothing is better beyond chance: {nearest} takes {over} times as long as {best} ({rounds})"
        );
    }
    let losers = others.filter(|(one, _)| is_loser(one));
    let losers = losers.map(|(one, over)| format!("{} ({} times {best})", named(&one.name), ratio(over)));
    format!(
        "{} cannot be told apart; worse than one of them beyond chance: {} ({rounds})",
        words::joined(trial.winners.iter().map(|winner| named(winner)), " and "),
        words::joined(losers, ", ")
    )
}

/// How many rounds it takes to tell which of so many placements is best, if there were fewer.
fn lacks_rounds(trial: &Trial) -> Option<usize> {
    let needed = family(trial).fewest_rounds();
    (trial.method.passes < needed as u64).then_some(needed)
}

/// What differs between the best placement and each other, beside the time.
fn explained(trial: &Trial) -> impl Iterator<Item = String> {
    let best = trial.placements.iter().find(|one| Some(&one.name) == trial.best.as_ref());
    let others = trial.placements.iter().filter(|one| one.times_best.is_some() && one.same_as.is_none());
    others.filter_map(move |other| {
        let best = best?;
        let counters = differences(best, other)
            .into_iter()
            .take(COUNTERS)
            .map(|one| counted(&one.counter, one.best, one.other));
        let counters = words::joined(counters, ", ");
        (!counters.is_empty())
            .then(|| format!("{} and {}: {counters}", named(&best.name), named(&other.name)))
    })
}

/// A counter's name and its two values.
fn counted(counter: &str, best: f64, other: f64) -> String {
    let (name, unit, per_unit) = match counter {
        "cpu_seconds" if best.max(other) < 1.0 => ("CPU time", " ms", 1e3),
        "cpu_seconds" => ("CPU time", " s", 1.0),
        "voluntary_switches" => ("waits", "", 1.0),
        "involuntary_switches" => ("interruptions by other tasks", "", 1.0),
        "migrations" => ("moves", "", 1.0),
        "l2_misses" => ("L2 misses", "", 1.0),
        "l3_misses" => ("L3 misses", "", 1.0),
        "clock_ghz" => ("clock", " GHz", 1.0),
        other => (other, "", 1.0),
    };
    let [best, other] = [best, other].map(|value| words::times(value * per_unit));
    format!("{} {best}{unit} against {other}{unit}", words::short(name, 40).replace('_', " "))
}

/// Where a live command stays, and how fast it is there and at the next best place.
pub fn settled(examination: &Examination, progress: &str) -> String {
    let unit = if progress == "instructions" { " instructions/s" } else { "/s" };
    let speed = |one: &PlacementRate| one.rate.as_ref().map(|rate| rate.median);
    let figure = |one: &PlacementRate| {
        speed(one).map_or_else(|| "–".into(), |speed| format!("{}{unit}", with_prefix(speed)))
    };
    let best = named(&examination.best);
    let is_best = |one: &&PlacementRate| one.name == examination.best;
    let Some(own) = examination.placements.iter().find(is_best) else { return format!("live: {best}") };
    let others =
        examination.placements.iter().filter(|one| one.best_times.is_some() && one.same_as.is_none());
    let next = others.max_by(|one, other| speed(one).partial_cmp(&speed(other)).unwrap_or(Ordering::Equal));
    let doubt = if examination.decided { "" } else { ": nothing is better beyond chance" };
    let beside = next.map(|next| format!("{} {}{doubt}", named(&next.name), figure(next)));
    let beside = beside.unwrap_or_else(|| "nothing else to compare".to_owned());
    let (cpus, rounds) = (words::cpus(&own.cpus), words::count(examination.rounds, "round"));
    format!("live: {best} (CPUs {}): {}, {beside} ({rounds})", words::short(&cpus, 16), figure(own))
}

/// `260 k`, `1.21 G`.
fn with_prefix(value: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let (factor, name) = PREFIXES.into_iter().find(|(factor, _)| value >= *factor).unwrap_or((1.0, ""));
    words::number(value / factor) + name
}

#[cfg(test)]
mod tests;
