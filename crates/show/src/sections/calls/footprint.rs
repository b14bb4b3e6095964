//! What calls cost by what their caller has used of its caches, at home and on another core, and what that decides.

use std::collections::HashSet;

use coho_model::delegation::{self, Choice, Decision, DelegationVerdict, Judgement, Mode};
use coho_profile::{CacheState, Calls, Channel, Estimate, Footprint, Ns, Side};

use super::rows::{MACHINE, PAPER_GHZ, name};
use crate::sections::prelude::*;

/// Posted calls are charted beside this much work, in ns, or the nearest that was measured.
const CHARTED_WORK: f64 = 2000.0;
/// Charts in the summary, and in all: a profile may bring any number of calls.
const FIRST: usize = 2;
const MOST: usize = 24;

/// Adds what the curves decide, the curves of the calls that tell most, the channel, and what hosts do to each other.
pub(super) fn add(section: &mut Section, calls: &Calls, judgement: &Judgement, paper: &Calls) {
    let groups = by_call(calls);
    if groups.is_empty() {
        return;
    }
    let verdicts = &judgement.verdicts[..];
    section.summary(table(verdicts, &groups, paper));
    section.summary(verdicts.first().map(|verdict| Text::labelled("held for", &verdict.mode)));
    section.summary(delegation::finding(verdicts).map(|finding| Text::new(format!("{finding}."))));
    for channel in &calls.channel {
        section.summary(Text::labelled("channel", self::channel(channel)));
    }
    for (at, rows) in telling(verdicts, &groups).into_iter().take(MOST).enumerate() {
        let depth = if at < FIRST { Depth::Summary } else { Depth::Detail };
        section.add(depth, chart(at, rows));
    }
    section.detail(reasons(verdicts));
}

/// The rows of one caller that has walked data alone, by call.
fn by_call(calls: &Calls) -> Vec<Vec<&Footprint>> {
    let rows = || calls.footprint.iter().filter(|row| row.is_of_curve());
    let of_call = |key| {
        let mut group: Vec<&Footprint> = rows().filter(|row| row.call_key() == key).collect();
        group.sort_by_key(|row| row.bytes);
        group
    };
    distinct(rows().map(Footprint::call_key)).into_iter().map(of_call).collect()
}

/// A group for each call, the least payload on the first file system for it: those first for which the other core pays.
fn telling<'a, 'b>(
    verdicts: &[DelegationVerdict],
    groups: &'b [Vec<&'a Footprint>],
) -> Vec<&'b Vec<&'a Footprint>> {
    let mut calls = HashSet::new();
    let mut shown: Vec<_> = groups.iter().filter(|group| calls.insert(&group[0].call)).collect();
    shown.sort_by_key(|group| {
        verdict_on(verdicts, group).is_none_or(|verdict| verdict.decision != Decision::From)
    });
    shown
}

fn verdict_on<'a>(verdicts: &'a [DelegationVerdict], rows: &[&Footprint]) -> Option<&'a DelegationVerdict> {
    verdicts.iter().find(|verdict| verdict.is_on(rows[0]))
}

fn table(verdicts: &[DelegationVerdict], groups: &[Vec<&Footprint>], paper: &Calls) -> impl Bodies {
    let ends = |rows: &[&Footprint], figure: fn(&Footprint) -> Option<&Estimate>| {
        let mut medians = rows.iter().filter_map(|row| figure(row)).map(|ns| words::number(ns.median));
        Some(words::joined([medians.next()?, medians.next_back().unwrap_or_default()], "→"))
    };
    let on = |rows: &[&Footprint]| verdict_on(verdicts, rows);
    Table::of("calls-by-footprint", "Calls by how much of its caches the caller has used, ns", groups)
        .text("call", |rows| name(&rows[0].call, rows[0].payload_bytes, rows[0].filesystem.as_deref()))
        .figures("home", "", |rows| ends(rows, |row| row.home_ns.as_ref()))
        .figures("away", "", |rows| ends(rows, |row| row.away_ns.as_ref()))
        .figures("pays from", "", |rows| {
            on(rows).map(|one| pays(one.decision, one.from_footprint_bytes.map(words::bytes)))
        })
        .figures("posted", "", |rows| {
            on(rows).map(|one| pays(one.async_decision, one.async_from_work_ns.map(microseconds)))
        })
        .figures("publ.", "", |rows| published(paper, rows[0]))
        .figures("off", "", |rows| {
            on(rows).map(|one| format!("{}/{} %", percent(one.home_error), percent(one.away_error)))
        })
        .note(format!(
            "home and away: what the call costs its caller, including the walk over its working set afterwards, at \
             the smallest and the largest footprint; pays from: the smallest footprint from which on the gain is \
             beyond chance, at two footprints or more; posted: the least work during the call from which on this holds \
             at every footprint; not taken: `coho run --delegate` cannot take it; off: median distance of the model's curve from the measured one, home/away; publ.: \
             {MACHINE}, second and cold call, from cycles.",
        ))
}

fn pays(decision: Decision, from: Option<String>) -> String {
    match (decision, from) {
        (Decision::From, Some(from)) => from,
        (Decision::Never, _) => "never".to_owned(),
        (Decision::Untaken, _) => "not taken".to_owned(),
        _ => "undecided".to_owned(),
    }
}

fn microseconds(time: Ns) -> String {
    format!("{} us", time / Ns::US)
}

fn percent(error: Option<f64>) -> String {
    error.map_or_else(|| "–".into(), |error| format!("{:.0}", 100.0 * error))
}

/// The paper's second and cold call in its Tables 5 and 6, in ns at its clock: of a system call the kernel's side.
fn published(paper: &Calls, row: &Footprint) -> Option<String> {
    if row.payload_bytes > 1 || row.filesystem.as_deref().is_some_and(|name| name != "tmpfs") {
        return None;
    }
    let ns = |state: CacheState| -> Option<f64> {
        let mut cycles = 0.0;
        for call in paper.calls.iter().filter(|call| call.name == row.call && call.state == state) {
            if call.set == "syscalls" && call.side != Side::Kernel {
                continue;
            }
            cycles += call.counts.CYCLE.as_ref()?.median;
        }
        (cycles > 0.0).then_some(cycles / PAPER_GHZ)
    };
    Some(format!("{}→{}", words::number(ns(CacheState::Second)?), words::number(ns(CacheState::Cold)?)))
}

/// `from CPU 0 to CPU 1: post 13 ns, there and back 355 (350–361) ns, …`.
fn channel(channel: &Channel) -> String {
    let told = [
        ("post", &channel.post_ns),
        ("one way", &channel.one_way_ns),
        ("there and back", &channel.round_trip_ns),
        ("around a busy host", &channel.busy_round_trip_ns),
    ];
    let told =
        told.iter().filter_map(|(what, ns)| Some(format!("{what} {} ns", Figure::from(ns.as_ref()?).text())));
    let mut batch = channel.batches.iter().filter(|batch| batch.requests > 1).filter_map(|batch| {
        Some(format!("of {} together {} ns each", batch.requests, Figure::from(batch.ns.as_ref()?).text()))
    });
    let told = words::joined(told.chain(batch.next_back()), ", ");
    format!("from CPU {} to CPU {}: {told}", channel.caller, channel.host)
}

/// The verdicts in words, without the mode, which is the same of all.
fn reasons(verdicts: &[DelegationVerdict]) -> impl Bodies {
    Table::of("delegation-verdicts", "What the curves decide", verdicts)
        .text("call", |verdict| name(&verdict.call, verdict.payload_bytes, verdict.filesystem.as_deref()))
        .text("verdict", |verdict| {
            verdict.why.strip_suffix(&verdict.mode).unwrap_or(&verdict.why).trim_end_matches([';', ' '])
        })
}

/// Home, away and posted, over what the caller has walked.
fn chart(at: usize, rows: &[&Footprint]) -> Chart {
    let title = name(&rows[0].call, rows[0].payload_bytes, rows[0].filesystem.as_deref());
    let point = |bytes: u64, ns: &Estimate, name: &str| {
        Point::new(bytes as f64, ns, |ns| format!("{name}: {ns} ns at {}", words::bytes(bytes)))
    };
    let line = |name: &str, index: usize, figure: fn(&Footprint) -> Option<&Estimate>| {
        let mut points: Vec<Point> =
            rows.iter().filter_map(|row| Some(point(row.bytes, figure(row)?, name))).collect();
        points.dedup_by(|a, b| a.x == b.x);
        Series::new(name, Colour::nth(index), Stroke::Solid).points(points)
    };
    let far = |row: &Footprint| {
        row.work_ns.as_ref().map_or(f64::INFINITY, |work| (work.median - CHARTED_WORK).abs())
    };
    let name = "away, posted, 2 us of work";
    let nearest = rows.chunk_by(|one, next| one.bytes == next.bytes).filter_map(|group| {
        let nearest = group.iter().min_by(|a, b| far(a).total_cmp(&far(b)))?;
        Some(point(nearest.bytes, nearest.async_ns.as_ref()?, name))
    });
    let posted = Series::new(name, Colour::nth(2), Stroke::Dashed).points(nearest);
    let mut lines = vec![
        line("home", 0, |row| row.home_ns.as_ref()),
        line("away, caller waits", 1, |row| row.away_ns.as_ref()),
        posted,
    ];
    lines.retain(|line| !line.points.is_empty());
    let walked = Axis::bytes("data that the caller has walked since its last call");
    let axes = [walked, Axis::linear("cost to the caller, ns")];
    let title = format!("{title}: cost to its caller by footprint");
    Chart::lines(format!("calls-footprint-{at}"), title, axes, lines)
        .caption("Includes walking the data again afterwards.")
}

/// What each of the columns of [`choices`] means.
const MEANING: &str = "Pays from: at this footprint and all larger ones measured, two at least, the gain is beyond \
                       chance; the gain is that at this footprint. Not taken: `coho run --delegate` cannot take it. \
                       'works 2 us': the caller needs that much work of its own during the call; its gain is the least \
                       over all footprints. For calls that are not shown to pay, the gain is that at the largest \
                       footprint or with the most work. A gain below zero is a loss.";

/// Which calls another core should execute, with the name by which `coho run --delegate` knows each, if it does.
pub fn choices(choices: &[Choice]) -> Vec<Part> {
    let caller = |choice: &Choice| match (choice.mode, choice.from_work_ns) {
        (Mode::Sync, _) => "waits".to_owned(),
        (Mode::Async, Some(work)) => format!("works {}", microseconds(work)),
        (Mode::Async, None) => "works".to_owned(),
    };
    let mut parts = Vec::new();
    parts.summary(
        Table::of("delegation-choices", "", choices)
            .text("call", |one| name(&one.call, one.payload_bytes, one.filesystem.as_deref()))
            .text("caller", caller)
            .figures("pays from", "", |choice| {
                pays(choice.decision, choice.from_footprint_bytes.map(words::bytes))
            })
            .figures("gain", "ns", |choice| choice.gain.as_ref().map(Figure::from))
            .text("--delegate", |choice| choice.delegate)
            .note(MEANING),
    );
    let mut conditions: Vec<&str> = choices.iter().map(|choice| choice.condition.as_str()).collect();
    conditions.dedup();
    for condition in conditions {
        parts.summary(Text::labelled("measured", condition));
    }
    parts
}
