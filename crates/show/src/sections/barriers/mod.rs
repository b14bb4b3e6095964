//! Barriers, fork and join beside what the machine allows, and beside other libraries (Nakamura et al.).

mod charts;
mod fork_join;
mod peers;
mod table;

use coho_model::barrier::{Answer, Basis, Check, Shortest, times_limit};
use coho_profile::{Estimate, Sync};

pub(crate) use charts::{Timed, stroke};
pub(crate) use fork_join::timed as fork_join_times;

use super::predictions::barriers::{measured, not_compared, winners};
use super::ratios;
use crate::sections::prelude::*;

/// Why a barrier may take less than its limit.
pub const LIMIT: &str = "the limit is estimated from hand-overs of a line, by flags for a barrier of flags, else the quicker of turn and \
    flags";

pub(super) const ENTRY: Entry = Entry { id: "barriers", title: "Barriers, fork and join", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let sync = subject.profile.sync.as_ref()?;
    let is_measured = !sync.barriers.is_empty() || !sync.fork_join.is_empty() || !sync.peers.is_empty();
    if !is_measured && sync.method.not_available.is_empty() && !sync.method.interrupted {
        return None;
    }
    let mut section = ENTRY.section(headline(sync, subject.answers.teams.shortest.as_ref()));
    section.summary(limits(subject, sync));
    section.summary(method::distance(&sync.method));
    section.glance(charts::barriers(subject, sync));
    section.summary(table::barriers(subject, sync));
    fork_join::add(&mut section, subject, sync);
    peers::add(&mut section, subject, sync);
    add_predicted(&mut section, subject);
    let title = "Ratios of fork and join";
    section.detail(ratios::table(subject, "fork-join-ratios", title, ratios::is_of_fork_join));
    method::add(&mut section.parts, "barriers-method", &sync.method);
    Some(section)
}

/// The quickest barrier and the team's fork and join, of all threads.
fn headline(sync: &Sync, shortest: Option<&Shortest>) -> String {
    let mut sentences = Vec::new();
    let beside =
        |times: Option<f64>| times.map_or(String::new(), |times| format!(", {times:.2} times the limit"));
    if let Some(Shortest { row, ns, rivals, is_quickest }) = shortest {
        let which = if *is_quickest { "the quickest by" } else { "by" };
        let rivals = match rivals.len() {
            0 => String::new(),
            n => format!(" and {} alike", words::count(n, "other")),
        };
        sentences.push(format!(
            "a barrier of {} threads takes {} ns{}, {which} {}{rivals}",
            row.threads,
            Figure::from(ns).text(),
            beside(times_limit(row.times_limit, ns)),
            words::barrier(&row.algorithm, &row.layout)
        ));
    }
    let team = sync.fork_join.iter().filter(|row| row.algorithm == "team").max_by_key(|row| row.threads);
    sentences.extend(team.and_then(|row| {
        let ns = row.total_ns.as_ref()?;
        Some(format!(
            "fork and join of {} threads by the team {} ns{}",
            row.threads,
            Figure::from(ns).text(),
            beside(times_limit(row.times_limit, ns))
        ))
    }));
    sentences.join("; ")
}

/// What nothing can be quicker than.
fn limits(subject: &Subject, sync: &Sync) -> impl Bodies {
    let limit = sync.limit_ns.as_ref();
    let (barrier, fork_join) = (limit.map(|limit| &limit.barrier), limit.map(|limit| &limit.fork_join));
    let (best, extra) = (sync.best_line_ns.as_ref(), sync.extra_line_ns.as_ref());
    let limits = [
        ("barrier", "barrier: the longest way between two CPUs", "limit, barrier", barrier),
        ("fork-join", "fork and join: to the farthest CPU and back", "limit, fork and join", fork_join),
        ("best-line", "the longest way on the best of 64 lines", "longest way on the best line", best),
        ("extra-line", "what one more remote line costs a reader", "one more remote line", extra),
    ];
    Table::of("barrier-limits", "", limits.into_iter().filter(|(.., ns)| ns.is_some()))
        .text("limit by one-way times, all CPUs", |(_, what, ..)| what)
        .compared("", "ns", "ns", |(.., ns)| ns.map(|ns| subject.figure(ns)))
        .keyed(|(id, _, label, _)| (format!("sync.limit.{id}"), label))
}

/// What the model makes of the same machine: every time beside its prediction, and which barrier wins where.
fn add_predicted(section: &mut Section, subject: &Subject) {
    match &subject.answers.barriers {
        // A paper need not have measured times between CPUs.
        None => {}
        Some(Err(_)) if subject.published => {}
        Some(Err(why)) => section.detail(Text::new(format!("Not predicted: {why}."))),
        Some(Ok(answer)) => {
            let checks = match &answer.comparison {
                Ok(comparison) => &comparison.checks[..],
                Err(_) => &[],
            };
            section.detail(measured(checks));
            section.detail(not_compared(&answer.comparison));
            let is_predicted = !checks.is_empty() || !answer.winners.is_empty();
            section.detail(is_predicted.then(|| Text::new(basis(answer, checks))));
            section.detail(winners(&answer.winners));
        }
    }
}

/// Where predictions come from, and how far they are off.
fn basis(answer: &Answer, checks: &[Check]) -> String {
    let (latencies, extra) = (&answer.latency, &answer.extra_line);
    let extra = format!("{} ns, {}", words::number(extra.fixed.0), extra.source);
    let mut text = format!(
        "Predicted: an event simulation of line transfers; latencies {latencies}; an extra line {extra}."
    );
    let predicted = checks.iter().filter(|check| check.basis != Basis::Fit);
    let mut errors: Vec<f64> = predicted.map(|check| check.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    if let Some(middle) = errors.get(errors.len() / 2) {
        let n = words::count(errors.len(), "prediction");
        let middle = Format::Percent.of(*middle).text();
        text += &format!(" Median size of the error: {middle} of {n}.");
    }
    text
}

/// `2 threads, sequential`.
pub(crate) fn team(threads: u32, mapping: &str) -> String {
    words::joined([words::count(threads as usize, "thread").as_str(), mapping], ", ")
}

/// Who took part, for scripts and for people: `fbs.one-line.2.sequential` and `fbs, one-line, 2 threads, sequential`.
pub(crate) fn key(algorithm: &str, layout: &str, threads: u32, mapping: &str) -> (String, String) {
    let joined = |threads: String, by| words::joined([algorithm, layout, &threads, mapping], by);
    (joined(threads.to_string(), "."), joined(format!("{threads} threads"), ", "))
}

/// A time that a chart can show.
pub(crate) fn shown(estimate: &Option<Estimate>) -> Option<&Estimate> {
    estimate.as_ref().filter(|estimate| scale::is_time(estimate.median))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coho_profile::{BarrierTime, Inexact, Kernel, Profile};

    use super::*;
    use crate::chart::{At, Plot};
    use crate::part::{Cell, Depth};
    use crate::testing::{charts, figures, keys, tables};

    fn of(sync: Sync) -> Option<Section> {
        section(&Subject::new("mine", Profile { sync: Some(sync), ..Profile::default() }))
    }

    fn estimate(ns: f64, n: u64) -> Option<Estimate> {
        Some(Estimate { low: 0.9 * ns, high: 1.1 * ns, n, ..Estimate::exact(ns) })
    }

    fn row(algorithm: &str, threads: u32, ns: f64, n: u64) -> BarrierTime {
        BarrierTime {
            algorithm: algorithm.into(),
            threads,
            mapping: "sequential".into(),
            ns: estimate(ns, n),
            times_limit: Some(ns / 25.0),
            ..BarrierTime::default()
        }
    }

    #[test]
    fn a_barrier_is_the_quickest_only_beyond_what_chance_explains() {
        let headline = |n, others: &[f64]| {
            let others = others.iter().map(|&ns| row("central", 2, ns, n));
            let barriers = std::iter::once(row("fbs", 2, 50.0, n)).chain(others).collect();
            of(Sync { barriers, ..Sync::default() }).unwrap().headline
        };
        for (n, other) in [(1, 90.0), (3, 90.0), (5, 90.0), (40, 55.0)] {
            let alike = headline(n, &[other]);
            assert!(!alike.contains("quickest") && alike.contains(" and 1 other alike"), "{alike}");
        }
        assert!(!headline(40, &[]).contains("quickest"), "it is the only one");
        let apart = headline(40, &[90.0]);
        assert!(apart.contains("the quickest by fbs") && !apart.contains("not told"), "{apart}");
    }

    #[test]
    fn a_small_machine_has_one_chart_of_bars_beside_the_limit() {
        let barriers = vec![row("fbs", 2, 50.0, 40), row("lock", 2, 90.0, 40)];
        let section = of(Sync { barriers, ..Sync::default() }).unwrap();
        let [chart] = charts(&section)[..] else { panic!("{section:?}") };
        assert_eq!((&*chart.id, section.parts[0].depth), ("barriers", Depth::Glance));
        let Plot::Bars { categories, series } = &chart.plot else { panic!("{chart:?}") };
        assert_eq!((categories.len(), series.len()), (2, 1));
        assert!(series[0].bars.iter().flatten().all(|bar| bar.interval.is_some()));
        assert_eq!(chart.marks.len(), 1);
        assert!(matches!(chart.marks[0].at, At::X(ns) if (ns - 25.0).abs() < 1e-9));
    }

    #[test]
    fn many_teams_are_lines_and_no_two_have_one_colour() {
        let names = ["fbs", "lock", "central", "grid", "dissemination-2", "tournament-2", "spin-lock"];
        let teams = |name: &&str| [2, 4, 8, 16].map(|n| row(name, n, 50.0 * f64::from(n), 40));
        let section =
            of(Sync { barriers: names.iter().flat_map(teams).collect(), ..Sync::default() }).unwrap();
        let [chart] = charts(&section)[..] else { panic!("{section:?}") };
        let Plot::Lines(series) = &chart.plot else { panic!("{chart:?}") };
        for (index, one) in series.iter().enumerate() {
            assert!(series[..index].iter().all(|other| other.colour != one.colour), "{}", one.name);
        }
        assert!(series.iter().any(|one| one.name == "limit" && one.points.len() == 4));
    }

    #[test]
    fn the_papers_own_figures_are_shown_and_every_key_is_one() {
        let paper = Subject::load("published:nakamura-fbs").unwrap().remove(0);
        let section = section(&paper).unwrap();
        let figures = figures(&section);
        let value = |id: &str| figures.iter().find(|figure| figure.0 == id).unwrap().1;
        assert_eq!(value("sync.fork-join.fbs.16.total.ns"), 4800.0);
        assert_eq!(value("sync.fork-join.fbs.all.ns"), 4800.0);
        assert!((value("sync.fork-join.lock-over-fbs.all.ratio") - 5.8).abs() < 1e-9);
        let ids: BTreeSet<&String> = figures.iter().map(|(id, _)| id).collect();
        assert_eq!(ids.len(), figures.len(), "{figures:?}");
        let peers = tables(&section).into_iter().find(|table| table.id == "peers").unwrap();
        let hardware =
            keys(peers).iter().position(|key| key.contains("hardware barrier of the SR8000")).unwrap();
        let ns = &peers.rows[hardware].cells[3];
        assert!(matches!(ns, Cell::Figure(ns) if ns.inexact == Some(Inexact::Between)), "{ns:?}");
    }

    #[test]
    fn programs_alone_are_no_barriers() {
        assert!(section(&Subject::new("mine", Profile::default())).is_none());
        let kernels = [("daxpy".to_owned(), Kernel::default())].into();
        assert!(of(Sync { kernels, ..Sync::default() }).is_none());
    }
}
