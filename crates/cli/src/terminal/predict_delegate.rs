//! Which calls another core should execute, for people.

use std::io::{self, Write};

use coho_model::delegation::Mode;
use coho_profile::Decision;

use super::table::{table, wrapped};
use crate::commands::predict_delegate::Row;
use crate::report::{delegation, text};

const MEANING: &str = "Pays from: at this footprint and all larger ones, the whole interval of the gain is above zero; the \
                       gain is that at this footprint. 'works 2 us': the caller needs that much work of its own \
                       during the call; its gain is the least over all footprints. Calls that are not shown to \
                       pay have their gain at the largest footprint, or with the most work. A gain below zero is \
                       a loss.";

/// Writes a row for each call, payload and mode, and the conditions under which they were measured.
pub fn write(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let cells = rows.iter().map(|Row { choice, delegate }| {
        let caller = match (choice.mode, choice.from_work_ns) {
            (Mode::Sync, _) => "waits".to_owned(),
            (Mode::Async, Some(work)) => format!("works {} us", work / 1000.0),
            (Mode::Async, None) => "works".to_owned(),
        };
        let from = match (choice.decision, choice.from_footprint_bytes) {
            (Decision::From, Some(from)) => text::bytes(from),
            (Decision::Never, _) => "never".to_owned(),
            _ => "undecided".to_owned(),
        };
        let interval = choice.gain_low_ns.zip(choice.gain_high_ns);
        let gain = choice.gain_ns.map_or_else(|| "–".into(), |ns| text::with_interval(ns, interval));
        [
            delegation::name(&choice.call, choice.payload_bytes, choice.filesystem.as_deref()),
            caller,
            from,
            gain,
            delegate.clone().unwrap_or_else(|| "–".to_owned()),
        ]
        .map(|cell| text::short(&cell, 40))
    });
    let header = ["call", "caller", "pays from", "gain, ns (95 %)", "--delegate"];
    writeln!(out, "{}", table(header, 2, cells.collect()))?;
    let mut conditions: Vec<&str> = rows.iter().map(|row| row.choice.condition.as_str()).collect();
    conditions.dedup();
    for condition in conditions {
        writeln!(out, "{}", wrapped("measured  ", &text::tame(condition)))?;
    }
    writeln!(out, "{}", wrapped("", MEANING))
}
