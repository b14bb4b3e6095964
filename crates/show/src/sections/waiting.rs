//! How barriers wait where CPUs are scarce: `coho barrier --waiting`.

use std::collections::BTreeMap;

use coho_profile::{Waiting, WaitingCell};

use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Missing, Part, PartList, Row, Table, Text};
use crate::{scale, words};

/// Those that a row of the first table has figures of.
const SHOWN: [&str; 3] = ["auto", "fbs", "team"];
/// A table of more rows is short without `--full`.
const FEW: usize = 15;

/// Every condition beside the C library's barrier, and each barrier at its worst.
pub fn parts(waiting: &Waiting) -> Vec<Part> {
    let mut parts = vec![Part::summary(conditions(waiting)), Part::summary(worst(waiting))];
    parts.summary(Missing::all(&waiting.not_available));
    if waiting.interrupted {
        parts.summary(Text::new(words::STOPPED));
    }
    parts
}

fn conditions(waiting: &Waiting) -> Table {
    let mut places: Vec<(&str, &str, u32)> = Vec::new();
    for cell in &waiting.cells {
        if !places.contains(&place(cell)) {
            places.push(place(cell));
        }
    }
    let most = places.iter().map(|place| place.2).max();
    let row = |here: &(&str, &str, u32)| {
        let cells = || waiting.cells.iter().filter(|cell| place(cell) == *here);
        let pthread = cells().next().map(|cell| 1e-3 * cell.ns.median / cell.pthread_ratio.median);
        let ratio = |name: &str| Cell::maybe(cells().find(|cell| cell.algorithm == name).map(times));
        let (condition, pinning, threads) = *here;
        let head = [condition.into(), pinning.into(), Figure::count(threads).into(), Cell::maybe(pthread)];
        let row = Row::new(head.into_iter().chain(SHOWN.map(ratio)));
        if places.len() <= FEW || threads == 2 || Some(threads) == most { row } else { row.detail() }
    };
    Table::new("waiting", "")
        .columns([
            Column::text("condition"),
            Column::text("pinning"),
            Column::figures("threads", ""),
            Column::figures("pthread", "us"),
        ])
        .columns(SHOWN.map(|name| Column::figures(format!("× {name}"), "")))
        .rows(places.iter().map(row))
        .note("×: median ratio to pthread_barrier_wait's time in the same round; below 1 is quicker.")
}

fn place(cell: &WaitingCell) -> (&str, &str, u32) {
    (&cell.condition, cell.pinning, cell.threads)
}

fn times(cell: &WaitingCell) -> Figure {
    Figure::exact(cell.pthread_ratio.median).format(Format::Ratio)
}

fn worst(waiting: &Waiting) -> Table {
    let mut by_algorithm: BTreeMap<&str, Vec<&WaitingCell>> = BTreeMap::new();
    for cell in &waiting.cells {
        by_algorithm.entry(&cell.algorithm).or_default().push(cell);
    }
    let rows = by_algorithm.iter().filter_map(|(name, cells)| {
        let worst = cells.iter().max_by(|a, b| a.pthread_ratio.median.total_cmp(&b.pthread_ratio.median))?;
        let middle = scale::median(cells.iter().map(|cell| cell.pthread_ratio.median));
        let with = words::count(worst.threads as usize, "thread");
        Some(Row::new([
            (*name).into(),
            format!("{with}, {}, {}", worst.pinning, worst.condition).into(),
            Cell::maybe(middle.map(|times| Figure::exact(times).format(Format::Ratio))),
            times(worst).into(),
        ]))
    });
    Table::new("waiting-worst", "")
        .columns([
            Column::text("barrier"),
            Column::text("worst with"),
            Column::figures("× in the middle", ""),
            Column::figures("× at worst", ""),
        ])
        .rows(rows)
}

#[cfg(test)]
mod tests {
    use coho_profile::Estimate;

    use super::*;
    use crate::part::Body;

    #[test]
    fn each_condition_is_a_row_and_each_barrier_has_its_worst() {
        let cell = |algorithm: &str, threads, ratio: f64| WaitingCell {
            algorithm: algorithm.into(),
            threads,
            pinning: "free",
            condition: "idle".into(),
            ns: Estimate::exact(1000.0 * ratio),
            pthread_ratio: Estimate::exact(ratio),
        };
        let cells = vec![cell("auto", 2, 0.5), cell("auto", 200, 1.25), cell("fbs", 2, 0.75)];
        let parts = parts(&Waiting { cells, ..Waiting::default() });
        let [conditions, worst] = &parts[..] else { panic!("{parts:?}") };
        let (Body::Table(conditions), Body::Table(worst)) = (&conditions.body, &worst.body) else { panic!() };
        assert_eq!((conditions.rows.len(), worst.rows.len()), (2, 2));
        assert_eq!(conditions.rows[0].cells[3], Cell::from(1.0), "the C library's time, in us");
        assert_eq!(conditions.rows[1].cells[5], Cell::Nothing, "fbs was not measured with 200 threads");
        assert_eq!(worst.rows[0].cells[1], "200 threads, free, idle".into());
        assert_eq!(worst.rows[0].cells[2], Figure::exact(0.875).format(Format::Ratio).into());
    }
}
