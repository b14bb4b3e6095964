//! Barriers, fork and join beside what the machine allows, and beside other libraries (Nakamura et al.).

mod charts;
mod fork_join;
mod peers;
mod predicted;
mod table;

use coho_model::barrier::is_slower;
use coho_profile::{Estimate, Sync};

pub(crate) use charts::{Timed, bar};
pub(crate) use fork_join::timed as fork_join_times;

use super::{Entry, method, ratios};
use crate::Subject;
use crate::figure::Figure;
use crate::part::{Column, Row, Section, Table};
use crate::{scale, words};

/// Why a barrier may take less than its limit.
pub const LIMIT: &str = "the limit is estimated from hand-overs of a line, the quicker of turn and flags";

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "barriers", title: "Barriers, fork and join", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let sync = subject.profile.sync.as_ref()?;
    let measured = !sync.barriers.is_empty() || !sync.fork_join.is_empty() || !sync.peers.is_empty();
    if !measured && sync.method.not_available.is_empty() && !sync.method.interrupted {
        return None;
    }
    let mut section = ENTRY.section(headline(sync));
    limits(&mut section, subject, sync);
    section.summary(charts::barriers(subject, sync));
    if !sync.barriers.is_empty() {
        section.summary(table::barriers(subject, sync));
    }
    fork_join::add(&mut section, subject, sync);
    peers::add(&mut section, subject, sync);
    predicted::add(&mut section, subject);
    if let Some(table) =
        ratios::table(subject, "fork-join-ratios", "Ratios of fork and join", ratios::is_of_fork_join)
    {
        section.detail(table);
    }
    method::add(&mut section.parts, "barriers-method", &sync.method);
    Some(section)
}

/// The quickest barrier and the team's fork and join, of all threads.
fn headline(sync: &Sync) -> String {
    let mut sentences = Vec::new();
    let beside =
        |times: Option<f64>| times.map_or_else(String::new, |times| format!(", {times:.2} times the limit"));
    let all = sync.barriers.iter().map(|row| row.threads).max();
    let of_all = sync.barriers.iter().filter(|row| Some(row.threads) == all);
    let measured: Vec<_> = of_all.filter_map(|row| Some((row, row.ns.as_ref()?))).collect();
    if let Some((row, ns)) = measured.iter().min_by(|a, b| a.1.median.total_cmp(&b.1.median)) {
        // Its interval and another's overlap, or one has none: the next run may find the other quicker.
        let others = measured.iter().filter(|(other, _)| !std::ptr::eq(*other, *row));
        let alike = others.filter(|(_, other)| !is_slower(ns, other)).count();
        let which = if alike == 0 && measured.len() > 1 { "the quickest by" } else { "by" };
        let others = match alike {
            0 => String::new(),
            n => format!(", not told from {}", words::count(n, "other")),
        };
        sentences.push(format!(
            "a barrier of {} threads takes {} ns{}, {which} {}{others}",
            row.threads,
            Figure::from(*ns).text(),
            beside(row.times_limit),
            name(&row.algorithm, &row.layout)
        ));
    }
    let team = sync.fork_join.iter().filter(|row| row.algorithm == "team").max_by_key(|row| row.threads);
    if let Some((row, ns)) = team.and_then(|row| Some((row, row.total_ns.as_ref()?))) {
        let ns = Figure::from(ns).text();
        sentences.push(format!(
            "fork and join of {} threads {ns} ns{}",
            row.threads,
            beside(row.times_limit)
        ));
    }
    sentences.join("; ")
}

/// What nothing can be quicker than.
fn limits(section: &mut Section, subject: &Subject, sync: &Sync) {
    let mut rows = Vec::new();
    let mut add = |id: &str, what: &str, label: &str, ns: &Estimate| {
        let row = Row::new([what.into(), subject.figure(ns).into()]);
        rows.push(row.keyed(format!("sync.limit.{id}"), label));
    };
    if let Some(limit) = &sync.limit_ns {
        add("barrier", "barrier: the longest way between two CPUs", "limit, barrier", &limit.barrier);
        let what = "fork and join: to the farthest CPU and back";
        add("fork-join", what, "limit, fork and join", &limit.fork_join);
    }
    if let Some(ns) = &sync.best_line_ns {
        add("best-line", "the longest way on the best of 64 lines", "longest way on the best line", ns);
    }
    if let Some(ns) = &sync.extra_line_ns {
        add("extra-line", "what one more remote line costs a reader", "one more remote line", ns);
    }
    if !rows.is_empty() {
        let columns =
            [Column::text("limit by one-way times, all CPUs"), Column::figures("", "ns").compared("ns")];
        section.summary(Table::new("barrier-limits", "").columns(columns).rows(rows));
    }
}

/// The algorithm with its layout where that is a choice.
pub(crate) fn name(algorithm: &str, layout: &str) -> String {
    if layout.is_empty() { algorithm.to_owned() } else { format!("{algorithm}, {layout}") }
}

/// `2 threads, sequential`.
pub(crate) fn team(threads: u32, mapping: &str) -> String {
    let words = [words::count(threads as usize, "thread"), mapping.to_owned()];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Who took part, for scripts and for people: `fbs.one-line.2.sequential` and `fbs, one-line, 2 threads, sequential`.
pub(crate) fn key(algorithm: &str, layout: &str, threads: u32, mapping: &str) -> (String, String) {
    let joined = |threads: String, by: &str| {
        let words = [algorithm.to_owned(), layout.to_owned(), threads, mapping.to_owned()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(by)
    };
    (joined(threads.to_string(), "."), joined(format!("{threads} threads"), ", "))
}

/// A time that a chart can show.
pub(crate) fn shown(estimate: &Option<Estimate>) -> Option<&Estimate> {
    estimate.as_ref().filter(|estimate| scale::is_time(estimate.median))
}

#[cfg(test)]
mod tests {
    use coho_profile::{BarrierTime, ForkJoinTime, Kernel, Profile, SyncPeer};

    use super::*;
    use crate::chart::Plot;
    use crate::part::{Body, Depth};

    fn of(sync: Sync) -> Option<Section> {
        section(&Subject::new("mine", Profile { sync: Some(sync), ..Profile::default() }))
    }

    fn estimate(ns: f64, n: u64) -> Option<Estimate> {
        Some(Estimate { low: 0.9 * ns, high: 1.1 * ns, n, ..Estimate::exact(ns) })
    }

    fn row(algorithm: &str, threads: u32, ns: f64, n: u64) -> BarrierTime {
        let (algorithm, mapping) = (algorithm.to_owned(), "sequential".to_owned());
        let times_limit = Some(ns / 25.0);
        BarrierTime {
            algorithm,
            threads,
            mapping,
            ns: estimate(ns, n),
            times_limit,
            ..BarrierTime::default()
        }
    }

    fn plots(section: &Section) -> Vec<(&str, &Plot, Depth)> {
        section
            .parts
            .iter()
            .filter_map(|part| match &part.body {
                Body::Chart(chart) => Some((chart.id.as_str(), &chart.plot, part.depth)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_barrier_is_the_quickest_only_beyond_what_chance_explains() {
        let told = |n, others: &[f64]| {
            let others = others.iter().map(|&ns| row("central", 2, ns, n));
            let barriers = std::iter::once(row("fbs", 2, 50.0, n)).chain(others).collect();
            headline(&Sync { barriers, ..Sync::default() })
        };
        for few in [1, 3, 5] {
            let told = told(few, &[90.0]);
            assert!(!told.contains("quickest") && told.contains("not told from 1 other"), "{told}");
        }
        assert!(!told(40, &[]).contains("quickest"), "it is the only one");
        let apart = told(40, &[90.0]);
        assert!(apart.contains("the quickest by fbs") && !apart.contains("not told"), "{apart}");
        let alike = told(40, &[55.0]);
        assert!(!alike.contains("quickest") && alike.contains("not told from 1 other"), "{alike}");
    }

    #[test]
    fn a_small_machine_has_one_chart_of_bars_beside_the_limit() {
        let section =
            of(Sync { barriers: vec![row("fbs", 2, 50.0, 40), row("lock", 2, 90.0, 40)], ..Sync::default() })
                .unwrap();
        let charts = plots(&section);
        let [("barriers", Plot::Bars { categories, series }, Depth::Summary)] = &charts[..] else {
            panic!("{charts:?}")
        };
        assert_eq!((categories.len(), series.len()), (2, 1));
        assert!(series[0].bars.iter().flatten().all(|bar| bar.interval.is_some()));
        let Body::Chart(chart) = &section.parts[0].body else { panic!("{section:?}") };
        assert_eq!(chart.marks.len(), 1);
        assert!(matches!(chart.marks[0].at, crate::chart::At::X(ns) if (ns - 25.0).abs() < 1e-9));
    }

    #[test]
    fn many_teams_are_lines_and_no_two_have_one_colour() {
        let names = ["fbs", "lock", "central", "grid", "dissemination-2", "tournament-2", "spin-lock"];
        let barriers = names
            .iter()
            .flat_map(|name| [2, 4, 8, 16].map(|n| row(name, n, 50.0 * f64::from(n), 40)))
            .collect();
        let section = of(Sync { barriers, ..Sync::default() }).unwrap();
        let charts = plots(&section);
        let [("barriers", Plot::Lines(series), _)] = &charts[..] else { panic!("{charts:?}") };
        for (index, one) in series.iter().enumerate() {
            assert!(series[..index].iter().all(|other| other.colour != one.colour), "{}", one.name);
        }
        assert!(series.iter().any(|one| one.name == "limit" && one.points.len() == 4));
    }

    #[test]
    fn the_papers_own_figures_are_shown_and_every_key_is_one() {
        let paper = Subject::load("published:nakamura-fbs").unwrap().remove(0);
        let section = section(&paper).unwrap();
        let mut ids = Vec::new();
        let mut value_of = |wanted: &str| {
            let mut found = None;
            for part in &section.parts {
                let Body::Table(table) = &part.body else { continue };
                for row in &table.rows {
                    for (column, cell) in table.columns.iter().zip(&row.cells) {
                        let (Some(key), Some(end), crate::part::Cell::Figure(figure)) =
                            (&row.key, column.key, cell)
                        else {
                            continue;
                        };
                        let id = format!("{}.{end}", key.id);
                        found = found.or((id == wanted).then(|| figure.clone()));
                        ids.push(id);
                    }
                }
            }
            found.unwrap_or_else(|| panic!("no {wanted}"))
        };
        assert_eq!(value_of("sync.fork-join.fbs.16.total.ns").value, 4800.0);
        assert_eq!(value_of("sync.fork-join.fbs.all.ns").value, 4800.0);
        assert!((value_of("sync.fork-join.lock-over-fbs.all.ratio").value - 5.8).abs() < 1e-9);
        let hardware = value_of("sync.peer.hardware barrier of the SR8000.barrier.8.ns");
        assert_eq!(hardware.inexact, Some(coho_profile::Inexact::Between));
        // The closure has looked at the whole section four times.
        let once = &ids[..ids.len() / 4];
        assert_eq!(once.iter().collect::<std::collections::BTreeSet<_>>().len(), once.len(), "{once:?}");
    }

    #[test]
    fn regions_of_earlier_versions_share_no_key_with_ours() {
        let ids = |by: &str| {
            let peer = |operation: &str| SyncPeer {
                name: "libgomp".into(),
                operation: operation.into(),
                threads: 2,
                ns: estimate(100.0, 9),
                ratio: estimate(100.0, 9),
                ..SyncPeer::default()
            };
            let region = ForkJoinTime {
                algorithm: "fbs".into(),
                by: by.into(),
                threads: 2,
                total_ns: estimate(100.0, 9),
                ..ForkJoinTime::default()
            };
            let peers = vec![peer("barrier"), peer("fork-join")];
            let section = of(Sync { fork_join: vec![region], peers, ..Sync::default() }).unwrap();
            let tables = section.parts.into_iter().filter_map(|part| match part.body {
                Body::Table(table) => Some(table),
                _ => None,
            });
            let rows = tables.flat_map(|table| table.rows).filter_map(|row| row.key);
            rows.map(|key| key.id).collect::<Vec<_>>()
        };
        let (earlier, ours) = (ids(""), ids("barrier"));
        let common: Vec<_> = earlier.iter().filter(|id| ours.contains(id)).collect();
        assert_eq!(common, ["sync.peer.libgomp.barrier.2"]);
        assert!(earlier.iter().any(|id| id == "sync.peer.libgomp.fork-join.2.back-to-back"), "{earlier:?}");
    }

    #[test]
    fn programs_alone_are_no_barriers() {
        assert!(section(&Subject::new("mine", Profile::default())).is_none());
        let kernels = [("daxpy".to_owned(), Kernel::default())].into();
        assert!(of(Sync { kernels, ..Sync::default() }).is_none());
    }
}
