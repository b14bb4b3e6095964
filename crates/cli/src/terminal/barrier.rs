//! Barriers, fork and join beside the limit and their peers, for people.

use std::io::{self, Write};

use coho_profile::{Estimate, Sync};

use super::table::{table, wrapped};
use crate::report::text;

/// Writes the tables.
pub fn write(out: &mut impl Write, sync: &Sync) -> io::Result<()> {
    if let Some(limit) = &sync.limit_ns {
        writeln!(
            out,
            "Limit by the one-way times between the CPUs: barrier {} ns, fork and join {} ns\n",
            text::estimate(&limit.barrier),
            text::estimate(&limit.fork_join)
        )?;
    }
    let rows = sync.barriers.iter().map(|row| {
        let layout = if row.layout.is_empty() { String::new() } else { format!(", {}", row.layout) };
        let name = row.algorithm.clone() + &layout;
        [
            text::tame(&name),
            row.threads.to_string(),
            text::tame(&row.mapping),
            ns(&row.ns),
            times(row.times_limit),
        ]
    });
    let header = ["barrier", "threads", "mapping", "ns (95 %)", "x limit"];
    section(out, &table(header, 1, rows.collect()).to_string(), sync.barriers.is_empty())?;
    let rows = sync.fork_join.iter().map(|row| {
        [
            text::tame(&row.algorithm),
            row.threads.to_string(),
            text::tame(&row.mapping),
            ns(&row.fork_ns),
            ns(&row.join_ns),
            ns(&row.total_ns),
            times(row.times_limit),
        ]
    });
    let header = ["fork, join", "threads", "mapping", "fork", "join", "together, ns", "x limit"];
    section(out, &table(header, 1, rows.collect()).to_string(), sync.fork_join.is_empty())?;
    let rows = sync.peers.iter().map(|row| {
        let ratio = row.ratio.as_ref().map_or_else(|| "–".into(), |ratio| format!("{:.1}", ratio.median));
        let name = [text::tame(&row.name), text::tame(&row.operation)].join(", ");
        [name, row.threads.to_string(), ns(&row.ns), ratio]
    });
    let header = ["peer", "threads", "ns (95 %)", "x ours"];
    section(out, &table(header, 1, rows.collect()).to_string(), sync.peers.is_empty())?;
    for (what, why) in &sync.method.not_available {
        let line = format!("not available: {}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    for peer in &sync.peers {
        if let Some(why) = &peer.not_available {
            let line = format!(
                "not available: {}, {}: {}",
                text::tame(&peer.name),
                peer.operation,
                text::reason(why)
            );
            writeln!(out, "{}", wrapped("", &line))?;
        }
    }
    if sync.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

fn section(out: &mut impl Write, table: &str, empty: bool) -> io::Result<()> {
    if empty { Ok(()) } else { writeln!(out, "{table}\n") }
}

fn ns(estimate: &Option<Estimate>) -> String {
    estimate.as_ref().map_or_else(|| "–".to_owned(), text::estimate)
}

fn times(times: Option<f64>) -> String {
    times.map_or_else(|| "–".to_owned(), |times| format!("{times:.2}"))
}
