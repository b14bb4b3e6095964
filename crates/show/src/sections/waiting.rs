//! How barriers wait where CPUs are scarce: `coho barrier --waiting`.

use std::collections::BTreeMap;

use coho_profile::{Waiting, WaitingCell};

use crate::sections::prelude::*;

/// The barriers that have a column in the first table.
const SHOWN: [&str; 3] = ["auto", "fbs", "team"];
/// A longer table is cut without `--full`.
const FEW: usize = 15;

/// Every condition beside the C library's barrier, and each barrier at its worst.
pub fn parts(waiting: &Waiting) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.summary(conditions(waiting));
    parts.summary(worst(waiting));
    parts.summary(Missing::all(&waiting.not_available));
    parts.summary(waiting.interrupted.then(|| Text::new(words::STOPPED)));
    parts
}

/// A condition, a pinning and a number of threads.
type Place<'a> = (&'a str, &'a str, u32);

fn place(cell: &WaitingCell) -> Place<'_> {
    (&cell.condition, cell.pinning, cell.threads)
}

fn conditions(waiting: &Waiting) -> TableOf<Place<'_>> {
    let places = scale::distinct(waiting.cells.iter().map(place));
    let cells = |here| waiting.cells.iter().filter(move |cell| place(cell) == here);
    let (many, most) = (places.len() > FEW, places.iter().map(|place| place.2).max());
    Table::of("waiting", "", places)
        .text("condition", |(condition, ..)| condition)
        .text("pinning", |(_, pinning, _)| pinning)
        .figures("threads", "", |(.., threads)| threads)
        .figures("pthread", "us", |here| {
            cells(here).next().map(|cell| 1e-3 * cell.ns.median / cell.pthread_ratio.median)
        })
        .columns_of(
            SHOWN,
            |name| Column::figures(format!("× {name}"), ""),
            |here, name| cells(here).find(|cell| cell.algorithm == name).map(times),
        )
        .detail_if(|(.., threads)| many && threads != 2 && Some(threads) != most)
        .note("×: median ratio to pthread_barrier_wait's time in the same round; below 1, it took less.")
}

fn times(cell: &WaitingCell) -> Figure {
    Format::Ratio.of(cell.pthread_ratio.median)
}

fn worst(waiting: &Waiting) -> impl Bodies {
    let mut by_algorithm: BTreeMap<&str, Vec<&WaitingCell>> = BTreeMap::new();
    for cell in &waiting.cells {
        by_algorithm.entry(&cell.algorithm).or_default().push(cell);
    }
    let ratio = |cell: &WaitingCell| cell.pthread_ratio.median;
    let worst = by_algorithm.iter().filter_map(|(name, cells)| {
        let worst = cells.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        Some((*name, *worst, scale::median(cells.iter().map(|cell| ratio(cell)))))
    });
    Table::of("waiting-worst", "", worst)
        .text("barrier", |(name, ..)| name)
        .text("highest with", |(_, worst, _)| {
            let threads = words::count(worst.threads as usize, "thread");
            format!("{threads}, {}, {}", worst.pinning, worst.condition)
        })
        .figures("× in the middle", "", |(.., middle)| Some(Format::Ratio.of(middle?)))
        .figures("× at its highest", "", |(_, worst, _)| times(worst))
}

#[cfg(test)]
mod tests {
    use coho_profile::Estimate;

    use super::*;
    use crate::part::Cell;
    use crate::testing::{section, tables};

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
        let section = section(parts(&Waiting { cells, ..Waiting::default() }));
        let [conditions, worst] = tables(&section)[..] else { panic!("{section:?}") };
        assert_eq!((conditions.rows.len(), worst.rows.len()), (2, 2));
        assert_eq!(conditions.rows[0].cells[3], Cell::from(1.0), "the C library's time, in us");
        assert_eq!(conditions.rows[1].cells[5], Cell::Nothing, "fbs was not measured with 200 threads");
        assert_eq!(worst.rows[0].cells[1], "200 threads, free, idle".into());
        assert_eq!(worst.rows[0].cells[2], Figure::exact(0.875).format(Format::Ratio).into());
    }
}
