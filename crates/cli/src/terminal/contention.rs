//! CPUs at once on one line, for people.

use std::io::{self, Write};

use coho_profile::{Contention, ContentionRow, Estimate, LineOperation};

use super::table::{dense, wrapped};
use crate::report::contention::{PAIRS_DIFFER, published_pairs};
use crate::report::text;

/// Writes the table, then the published pairs to compare with two CPUs at `add`.
pub fn write(out: &mut impl Write, contention: &Contention) -> io::Result<()> {
    let header = ["operation", "CPUs", "ns", "10^6/s", "x alone", "failed", "least/most"];
    if !contention.rows.is_empty() {
        writeln!(out, "{}", dense(&header, 2, contention.rows.iter().map(row).collect()))?;
        writeln!(
            out,
            "{}",
            wrapped(
                "",
                "ns: one operation of one CPU, ± half its 95 % interval; 10^6/s: operations of all together; failed: attempts for each that succeeded; \
                 least/most: operations of the CPU that did least over those of the one that did most, within a batch"
            )
        )?;
    }
    if contention.rows.iter().any(|row| row.operation == LineOperation::Add && row.cpus.len() == 2) {
        writeln!(out)?;
        for pairs in published_pairs() {
            writeln!(out, "{}", wrapped("published  ", &pairs))?;
        }
        writeln!(out, "{}", wrapped("", PAIRS_DIFFER))?;
    }
    for (what, why) in &contention.method.not_available {
        let line = format!("not available: {}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    if contention.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

/// What a survey tells: what all CPUs at once make of an addition.
pub fn findings(out: &mut impl Write, contention: &Contention) -> io::Result<()> {
    let adding =
        contention.rows.iter().filter(|row| row.operation == LineOperation::Add && row.cpus.len() > 1);
    let told = adding.filter_map(|row| Some((row, row.ns.as_ref()?, row.times_alone.as_ref()?)));
    if let Some((row, ns, times)) = told.max_by_key(|(row, ..)| row.cpus.len()) {
        let told = format!(
            "{} CPUs add to one word: {} ns an addition, {} times one CPU alone",
            row.cpus.len(),
            text::estimate(ns),
            text::number(times.median)
        );
        writeln!(out, "{}", wrapped("contention ", &told))?;
    }
    Ok(())
}

fn row(row: &ContentionRow) -> Vec<String> {
    let median = |estimate: &Option<Estimate>, scale: f64| {
        estimate.as_ref().map_or_else(|| "–".to_owned(), |estimate| text::number(scale * estimate.median))
    };
    let cpus = match row.cpus.len() {
        1 => "1".to_owned(),
        n => format!("{n} {}", text::tame(&row.mapping)),
    };
    vec![
        row.operation.to_string(),
        cpus,
        row.ns.as_ref().map_or_else(|| "–".to_owned(), text::within),
        median(&row.operations_per_s, 1e-6),
        median(&row.times_alone, 1.0),
        row.failures_per_success
            .as_ref()
            .map_or_else(|| "–".to_owned(), |failures| text::times(failures.median)),
        median(&row.least_over_most, 1.0),
    ]
}
