//! The page's section on commands that were run under several placements, and what was chosen for each.

use coho_profile::{Examination, Live, PlacementRate, PlacementTime, Trial};
use coho_run::trial;
use maud::{Markup, html};

use super::subject::Subject;
use super::{tables, text};
use crate::terminal::run;

/// Commands, or rows of one table, at most: a profile may bring any number.
const MOST: usize = 50;

/// What `coho run` remembers in a profile.
pub fn section(subject: &Subject) -> Markup {
    let runs = subject.profile.run.as_ref().filter(|runs| !runs.commands.is_empty() || !runs.live.is_empty());
    let Some(runs) = runs else {
        return html! { p.missing { "Nothing was tried: " code { "coho run --try" } " writes what it finds here." } };
    };
    let beyond = runs.commands.len().saturating_sub(MOST) + runs.live.len().saturating_sub(MOST);
    html! {
        @for (name, trial) in runs.commands.iter().take(MOST) {
            h4 { (text::short(name, 80)) }
            (tried(trial))
        }
        @for (name, live) in runs.live.iter().take(MOST) {
            h4 { (text::short(name, 80)) ", while it ran" }
            (lived(live))
        }
        @if beyond > 0 { p.note { "And " (beyond) " more commands, in the profile." } }
    }
}

fn command(words: &[String], date: Option<&str>) -> Markup {
    html! {
        p { code { (text::short(&words.join(" "), 300)) }
            @if let Some(date) = date { ", " (text::short(date, 40)) } }
    }
}

/// A placement's name, in bold if it is taken.
fn name(name: &str, chosen: bool) -> Markup {
    let name = text::short(name, 40);
    html! { th scope="row" { @if chosen { strong { (name) } } @else { (name) } } }
}

fn tried(trial: &Trial) -> Markup {
    let medians = || trial.placements.iter().filter_map(|one| Some(one.seconds.as_ref()?.median));
    let (unit, per_s) = if medians().any(|seconds| seconds < 1.0) { ("ms", 1e3) } else { ("s", 1.0) };
    let time = |one: &PlacementTime| match (&one.same_as, &one.seconds) {
        (Some(other), _) => format!("as {}", text::short(other, 40)),
        (None, None) => "–".into(),
        (None, Some(time)) => {
            text::with_interval(time.median * per_s, Some((time.low * per_s, time.high * per_s)))
        }
    };
    let counter = |one: &PlacementTime, name: &str| {
        one.counters.get(name).map_or("–".to_owned(), |count| text::number(count.median))
    };
    // As `coho run --place auto` has it: where nothing is better beyond chance, the scheduler places.
    let taken = trial::choice(trial).unwrap_or("none");
    html! {
        (command(&trial.command, trial.date.as_deref()))
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Placement" } th scope="col" { "CPUs" } th scope="col" { (unit) " (95 %)" }
                th scope="col" { "× best (95 %)" } th scope="col" { "Waits" } th scope="col" { "Moves" }
                th scope="col" { "L2 misses" } th scope="col" { "L3 misses" } th scope="col" { "Clock, GHz" }
            } }
            tbody { @for one in trial.placements.iter().take(MOST) {
                tr {
                    (name(&one.name, one.name == taken))
                    td { (tables::cpu_list(&one.cpus)) }
                    td.number { (time(one)) }
                    td.number { (one.times_best.as_ref().map_or("–".to_owned(), text::ratio)) }
                    @for name in ["voluntary_switches", "migrations", "l2_misses", "l3_misses", "clock_ghz"] {
                        td.number { (counter(one, name)) }
                    }
                }
            } }
        } }
        p.note { "By trying: " (run::verdict(trial)) "." }
    }
}

fn lived(live: &Live) -> Markup {
    html! {
        (command(&live.command, live.date.as_deref()))
        @match live.examinations.last() {
            Some(last) => (examined(last, &live.progress)),
            None => p.missing { "It ended before a placement was settled on." },
        }
        @if live.examinations.len() > 1 {
            p.note { (live.examinations.len()) " examinations; the last is shown. Settled on, in turn: "
                (live.examinations.iter().map(|one| text::short(&one.best, 40)).collect::<Vec<_>>().join(", ")) "." }
        }
    }
}

fn examined(examination: &Examination, progress: &str) -> Markup {
    let rate = |one: &PlacementRate| match (&one.same_as, &one.rate) {
        (Some(other), _) => format!("as {}", text::short(other, 40)),
        (None, rate) => rate.as_ref().map_or("–".into(), text::estimate),
    };
    html! {
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Placement" } th scope="col" { "CPUs" } th scope="col" { "Progress a second (95 %)" }
                th scope="col" { "Settled on / this (95 %)" }
            } }
            tbody { @for one in examination.placements.iter().take(MOST) {
                tr {
                    (name(&one.name, one.name == examination.best))
                    td { (tables::cpu_list(&one.cpus)) }
                    td.number { (rate(one)) }
                    td.number { (one.best_times.as_ref().map_or("–".to_owned(), text::estimate)) }
                }
            } }
        } }
        p.note { "Progress: " code { (text::short(progress, 80)) } ", " (text::number(examination.at_s)) " s after its begin. "
            @if examination.decided { "Beyond chance." } @else { "Nothing was better beyond chance." } }
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::{Estimate, Profile, Runs};

    use super::*;

    fn page(runs: Runs) -> String {
        section(&Subject::of_file("mine.json".as_ref(), Profile { run: Some(runs), ..Profile::default() }))
            .into_string()
    }

    #[test]
    fn what_was_tried_and_what_was_lived_are_shown() {
        let placement = |name: &str, seconds| PlacementTime {
            name: name.into(),
            cpus: vec![0, 1],
            seconds: Some(Estimate::exact(seconds)),
            ..PlacementTime::default()
        };
        let trial = Trial {
            command: vec!["<pair>".into(), "20000".into()],
            best: Some("compact".into()),
            winners: vec!["compact".into()],
            placements: vec![placement("compact", 1.5), placement("spread", 9.25), placement("none", 4.5)],
            ..Trial::default()
        };
        let rate = |name: &str, rate| PlacementRate {
            name: name.into(),
            rate: Some(Estimate::exact(rate)),
            ..PlacementRate::default()
        };
        let examination = |best: &str| Examination {
            best: best.into(),
            decided: true,
            placements: vec![rate("compact", 260_000.0), rate("none", 13_500.0)],
            ..Examination::default()
        };
        let live = Live {
            progress: "([0-9]+) trips/s".into(),
            examinations: vec![examination("none"), examination("compact")],
            ..Live::default()
        };
        let mut runs = Runs::default();
        runs.commands.insert("pair".into(), trial);
        runs.live.insert("server".into(), live);
        let page = page(runs);
        for text in
            ["&lt;pair&gt; 20000", "<strong>compact</strong>", "9.25", "260000", "trips/s", "none, compact"]
        {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("<pair>"));
    }

    #[test]
    fn what_is_taken_is_bold_and_not_what_was_quickest_by_chance() {
        let bold = |winners: &[&str]| {
            let placement = |name: &str| PlacementTime { name: name.into(), ..PlacementTime::default() };
            let trial = Trial {
                best: Some("compact".into()),
                winners: winners.iter().map(|name| (*name).to_owned()).collect(),
                placements: ["compact", "spread", "none"].map(placement).to_vec(),
                ..Trial::default()
            };
            let mut runs = Runs::default();
            runs.commands.insert("pair".into(), trial);
            let page = page(runs);
            ["compact", "spread", "none"].map(|name| page.contains(&format!("<strong>{name}</strong>")))
        };
        assert_eq!(bold(&["compact"]), [true, false, false]);
        assert_eq!(bold(&["compact", "none"]), [false, false, true], "the scheduler does as well");
        assert_eq!(bold(&["compact", "spread", "none"]), [false, false, true]);
    }

    #[test]
    fn a_profile_without_says_so() {
        assert!(page(Runs::default()).contains("Nothing was tried"));
    }
}
