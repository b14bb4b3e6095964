//! Fork and join of an empty parallel region.

use std::collections::BTreeSet;

use coho_profile::{Estimate, ForkJoinTime, Sync};

use super::charts::{MOST, Timed, chart};
use super::{key, shown, team};
use crate::sections::prelude::*;

/// A longer table shows the largest team and coho's own first.
const FEW: usize = 8;
/// Regions whose parts are drawn, at most.
const MOST_PARTS: usize = 24;

pub(super) fn add(section: &mut Section, subject: &Subject, sync: &Sync) {
    section.summary(times(subject, sync));
    let title = "Fork and join of an empty parallel region";
    let chart = chart("fork-join", title, &timed(sync), "time of fork and join, ns", subject.published);
    let chart = chart.map(|chart| {
        chart.caption(
            "Team: one word starts the threads, and one word of each thread ends the region. The others: a barrier at \
             each end (Nakamura et al.). The caller comes from a serial part while all others wait.",
        )
    });
    let is_large = sync.fork_join.iter().any(|row| row.threads != sync.fork_join[0].threads);
    section.add(if is_large { Depth::Summary } else { Depth::Detail }, chart);
    section.detail(parts(subject, sync));
}

/// The times of whole regions.
pub(crate) fn timed(sync: &Sync) -> Vec<Timed<'_>> {
    let rows = sync.fork_join.iter().filter_map(|row| {
        let ns = shown(&row.total_ns)?;
        Some(Timed { name: row.algorithm.clone(), threads: row.threads, mapping: &row.mapping, ns })
    });
    rows.take(MOST).collect()
}

/// What the time of fork and join includes, and why its parts do not add up.
const COURSE: &str = "The caller's time beyond a serial part during which all others wait. The whole is timed in \
    bursts, the parts region by region less the clock's readings. So the parts do not add up to the whole; compare a \
    part only with the same part of other rows.";

fn times<'a>(subject: &Subject, sync: &'a Sync) -> TableOf<&'a ForkJoinTime> {
    let largest = sync.fork_join.iter().map(|row| row.threads).max();
    let has_parts = sync.fork_join.iter().any(|row| row.fork_ns.is_some());
    let figures = |name: &str, key| Column::figures(name, "ns").compared(key);
    Table::of("fork-join", "", &sync.fork_join)
        .text("fork and join", |row| match row.by.as_str() {
            "" => row.algorithm.clone(),
            by => format!("{} by {by}", row.algorithm),
        })
        .figures("threads", "", |row| row.threads)
        .text("mapping", |row| row.mapping.as_str())
        .column(figures("fork", "fork.ns").detail(), |row| subject.figure_of(&row.fork_ns))
        .column(figures("join", "join.ns").detail(), |row| subject.figure_of(&row.join_ns))
        .compared("both", "ns", "total.ns", |row| subject.figure_of(&row.total_ns))
        .figures("× limit", "", |row| row.times_limit)
        .keyed(|row| {
            let (id, label) = key(&row.algorithm, "", row.threads, &row.mapping);
            (format!("sync.fork-join.{id}"), format!("fork and join, {label}"))
        })
        .detail_if(|row| {
            sync.fork_join.len() > FEW && row.algorithm != "team" && Some(row.threads) != largest
        })
        .note_if(has_parts && !subject.published, COURSE)
}

/// Fork beside join, of the two largest teams.
fn parts(subject: &Subject, sync: &Sync) -> Chart {
    let sizes: BTreeSet<u32> = sync.fork_join.iter().map(|row| row.threads).collect();
    let largest: Vec<u32> = sizes.into_iter().rev().take(2).collect();
    let is_drawn = |row: &&ForkJoinTime| {
        largest.contains(&row.threads) && shown(&row.fork_ns).is_some() && shown(&row.join_ns).is_some()
    };
    let rows: Vec<_> = sync.fork_join.iter().filter(is_drawn).take(MOST_PARTS).collect();
    let mappings_differ = rows.iter().any(|row| row.mapping != rows[0].mapping);
    let name = |row: &&ForkJoinTime| match mappings_differ {
        true => format!("{}, {}, {}", row.algorithm, row.threads, row.mapping),
        false => format!("{}, {}", row.algorithm, team(row.threads, "")),
    };
    let series = |part: &str, index, of: fn(&ForkJoinTime) -> &Option<Estimate>| {
        let bars = rows
            .iter()
            .map(|row| Some(Bar::new(of(row).as_ref()?, |ns| format!("{}: {part} {ns} ns", name(row)))));
        BarSeries::new(part, Colour::nth(index), bars).published(subject.published)
    };
    let series = vec![series("fork", 0, |row| &row.fork_ns), series("join", 1, |row| &row.join_ns)];
    let categories = rows.iter().map(name).collect();
    Chart::bars("fork-join-parts", "Fork and join apart", Axis::linear("time, ns"), categories, series).caption(
        "Fork: until the last member has begun; join: from the last member's end until the caller goes on (Nakamura et al.).",
    )
}
