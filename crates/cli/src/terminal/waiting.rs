//! How barriers wait where CPUs are scarce, for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use coho_probe::barrier::waiting::{Waiting, WaitingCell};
use coho_probe::statistics;

use super::table::{dense, table, wrapped};
use crate::report::text;

/// Those that a row of the first table has figures of.
const SHOWN: [&str; 3] = ["auto", "fbs", "team"];

/// Writes the tables.
pub fn write(out: &mut impl Write, waiting: &Waiting) -> io::Result<()> {
    let mut places: Vec<(&str, &str, u32)> = Vec::new();
    for cell in &waiting.cells {
        let place = (cell.condition.as_str(), cell.pinning, cell.threads);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let row = |&(condition, pinning, threads): &(&str, &'static str, u32)| {
        let at = |name: &str| {
            let here = |cell: &&WaitingCell| {
                (cell.condition.as_str(), cell.pinning, cell.threads) == (condition, pinning, threads)
            };
            waiting.cells.iter().filter(here).find(|cell| cell.algorithm == name)
        };
        let any = waiting.cells.iter().find(|cell| {
            (cell.condition.as_str(), cell.pinning, cell.threads) == (condition, pinning, threads)
        });
        let pthread = any.map_or(f64::NAN, |cell| cell.ns.median / cell.pthread_ratio.median);
        let mut cells = vec![condition.to_owned(), pinning.to_owned(), threads.to_string(), micro(pthread)];
        cells.extend(SHOWN.map(|name| at(name).map_or_else(|| "–".into(), ratio)));
        cells
    };
    let header = ["condition", "pinning", "threads", "pthread, us", "x auto", "x fbs", "x team"];
    writeln!(out, "{}", dense(&header, 2, places.iter().map(row).collect()))?;
    writeln!(
        out,
        "{}\n",
        wrapped("", "x: times pthread_barrier_wait's time in the same round, the median; below 1 is quicker")
    )?;
    let mut by_algorithm: BTreeMap<&str, Vec<&WaitingCell>> = BTreeMap::new();
    for cell in &waiting.cells {
        by_algorithm.entry(&cell.algorithm).or_default().push(cell);
    }
    let rows = by_algorithm.iter().filter_map(|(name, cells)| {
        let worst = cells.iter().max_by(|a, b| a.pthread_ratio.median.total_cmp(&b.pthread_ratio.median))?;
        let mut ratios: Vec<_> = cells.iter().map(|cell| cell.pthread_ratio.median).collect();
        ratios.sort_by(f64::total_cmp);
        let place = format!("{} threads, {}, {}", worst.threads, worst.pinning, worst.condition);
        let middle = text::number(statistics::median(&ratios));
        Some([text::tame(name), text::tame(&place), middle, ratio(worst)])
    });
    writeln!(
        out,
        "{}",
        table(["barrier", "worst with", "x in the middle", "x at worst"], 2, rows.collect())
    )?;
    for (what, why) in &waiting.not_available {
        writeln!(out, "{}", wrapped("", &format!("not available: {what}: {why}")))?;
    }
    if waiting.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

fn ratio(cell: &WaitingCell) -> String {
    text::number(cell.pthread_ratio.median)
}

fn micro(ns: f64) -> String {
    text::number(ns / 1e3)
}
