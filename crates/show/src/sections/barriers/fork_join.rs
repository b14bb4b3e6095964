//! Fork and join of an empty parallel region.

use coho_profile::{Estimate, ForkJoinTime, Sync};

use super::charts::{Timed, plot};
use super::{key, shown, team};
use crate::Subject;
use crate::chart::{Axis, Bar, BarSeries, Chart, Colour, Plot};
use crate::figure::Figure;
use crate::part::{Cell, Column, Row, Section, Table};

/// A table of more rows shows the largest team and coho's own first.
const FEW: usize = 8;
/// Parts are drawn of so many at most.
const MOST_PARTS: usize = 24;

pub(super) fn add(section: &mut Section, subject: &Subject, sync: &Sync) {
    if sync.fork_join.is_empty() {
        return;
    }
    let rows = timed(sync);
    let chart = plot(&rows, "time of fork and join, ns", subject.published).map(|((x, y), plot)| {
        let title = "Fork and join of an empty parallel region";
        Chart::new("fork-join", title, x, y, plot).caption(format!(
            "Team: one word starts the threads, and one word of each thread ends the region. The others: a barrier at \
             each end (Nakamura et al.). {}",
            course(sync)
        ))
    });
    let is_large = sync.fork_join.iter().any(|row| row.threads != sync.fork_join[0].threads);
    section.summary(times(subject, sync));
    if let Some(chart) = chart {
        if is_large {
            section.summary(chart)
        } else {
            section.detail(chart)
        };
    }
    section.detail(parts(subject, sync));
}

/// The times of whole regions.
pub(crate) fn timed(sync: &Sync) -> Vec<Timed<'_>> {
    let rows = sync.fork_join.iter().filter_map(|row| {
        let ns = shown(&row.total_ns)?;
        Some(Timed { name: row.algorithm.clone(), threads: row.threads, mapping: &row.mapping, ns })
    });
    rows.take(400).collect()
}

/// What fork and join are the time of.
fn course(sync: &Sync) -> &'static str {
    match sync.is_back_to_back() {
        true => "An earlier version timed these regions back to back, unlike Nakamura et al.",
        false => "The caller comes from a serial part while all others wait.",
    }
}

/// The same, and why the parts do not quite add up.
fn parts_and_whole(sync: &Sync) -> &'static str {
    match sync.is_back_to_back() {
        true => {
            "Regions were timed back to back, with no serial part in between, and each part includes a reading of the \
             clock."
        }
        false => {
            "The caller's time beyond a serial part during which all others wait. The whole is timed in bursts, the \
             parts region by region less the clock's readings, so that the parts add up only roughly to the whole."
        }
    }
}

fn times(subject: &Subject, sync: &Sync) -> Table {
    let largest = sync.fork_join.iter().map(|row| row.threads).max();
    let rows = sync.fork_join.iter().map(|one| {
        let row = row(subject, one);
        let is_telling = one.algorithm == "team" || Some(one.threads) == largest;
        if sync.fork_join.len() <= FEW || is_telling { row } else { row.detail() }
    });
    let mut table = Table::new("fork-join", "")
        .columns([
            Column::text("fork and join"),
            Column::figures("threads", ""),
            Column::text("mapping"),
            Column::figures("fork", "ns").compared("fork.ns").detail(),
            Column::figures("join", "ns").compared("join.ns").detail(),
            Column::figures("both", "ns").compared("total.ns"),
            Column::figures("× limit", ""),
        ])
        .rows(rows);
    if sync.fork_join.iter().any(|row| row.fork_ns.is_some()) && !subject.published {
        table = table.note(parts_and_whole(sync));
    }
    table
}

fn row(subject: &Subject, row: &ForkJoinTime) -> Row {
    let back_to_back = if row.by.is_empty() { "back-to-back" } else { "" };
    let (id, label) = key(&row.algorithm, back_to_back, row.threads, &row.mapping);
    let figure = |of: &Option<Estimate>| Cell::maybe(of.as_ref().map(|ns| subject.figure(ns)));
    Row::new([
        if row.by.is_empty() { row.algorithm.clone() } else { format!("{} by {}", row.algorithm, row.by) }
            .into(),
        Figure::count(row.threads).into(),
        row.mapping.clone().into(),
        figure(&row.fork_ns),
        figure(&row.join_ns),
        figure(&row.total_ns),
        Cell::maybe(row.times_limit),
    ])
    .keyed(format!("sync.fork-join.{id}"), format!("fork and join, {label}"))
}

/// Fork beside join, of the two largest teams.
fn parts(subject: &Subject, sync: &Sync) -> Option<Chart> {
    let mut sizes: Vec<u32> = sync.fork_join.iter().map(|row| row.threads).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    sizes.truncate(2);
    let both = |row: &&ForkJoinTime| shown(&row.fork_ns).is_some() && shown(&row.join_ns).is_some();
    let rows: Vec<&ForkJoinTime> = sync
        .fork_join
        .iter()
        .filter(|row| sizes.contains(&row.threads))
        .filter(both)
        .take(MOST_PARTS)
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mappings_differ = rows.iter().any(|row| row.mapping != rows[0].mapping);
    let name = |row: &&ForkJoinTime| match mappings_differ {
        true => format!("{}, {}, {}", row.algorithm, row.threads, row.mapping),
        false => format!("{}, {}", row.algorithm, team(row.threads, "")),
    };
    let series = |part: &str, index, of: fn(&ForkJoinTime) -> &Option<Estimate>| BarSeries {
        name: part.to_owned(),
        colour: Colour::nth(index),
        published: subject.published,
        bars: rows
            .iter()
            .map(|row| {
                let figure = Figure::from(of(row).as_ref()?);
                let hover = format!("{}: {part} {} ns", name(row), figure.text());
                Some(Bar { value: figure.value, interval: figure.interval(), hover })
            })
            .collect(),
    };
    let series = vec![series("fork", 0, |row| &row.fork_ns), series("join", 1, |row| &row.join_ns)];
    let categories = rows.iter().map(name).collect();
    let (x, y) = (Axis::linear("time, ns"), Axis::linear(""));
    Some(
        Chart::new("fork-join-parts", "Fork and join apart", x, y, Plot::Bars { categories, series }).caption(
            "Fork: until the last member has begun; join: from the last member's end until the caller goes on (Nakamura et al.).",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_of_an_earlier_version_are_not_called_what_the_paper_timed() {
        let row = |by: &str| ForkJoinTime { by: by.into(), ..ForkJoinTime::default() };
        let told = |by: &str| {
            let sync = Sync { fork_join: vec![row(by)], ..Sync::default() };
            format!("{} {}", course(&sync), parts_and_whole(&sync))
        };
        assert!(told("").contains("back to back") && !told("").contains("serial part while"));
        assert!(told("go-flag").contains("serial part while") && !told("go-flag").contains("back to back"));
    }
}
