//! Barriers, fork and join beside the limit and their peers, for people.

use std::io::{self, Write};

use coho_model::barrier::is_slower;
use coho_profile::{Estimate, Sync};

use super::table::{dense, table, wrapped};
use crate::report::barriers::{ours, parts_and_whole};
use crate::report::text;

/// Why a barrier may take less than its limit.
pub const LIMIT: &str = "the limit is estimated from hand-overs of a line, the quicker of turn and flags";

/// Writes the tables.
pub fn write(out: &mut impl Write, sync: &Sync) -> io::Result<()> {
    if let Some(limit) = &sync.limit_ns {
        let best = sync.best_line_ns.as_ref();
        let best = best
            .map_or_else(String::new, |ns| format!(" (on the best of 64 lines {})", text::number(ns.median)));
        let told = format!(
            "barrier {} ns{best}, fork and join {} ns, by the one-way times between all CPUs",
            text::estimate(&limit.barrier),
            text::estimate(&limit.fork_join)
        );
        writeln!(out, "{}\n", wrapped("limit  ", &told))?;
    }
    if let Some(ns) = &sync.extra_line_ns {
        writeln!(out, "one more remote line costs a reader {} ns\n", text::estimate(ns))?;
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
    let times_limit = |of: Option<f64>| of.is_some_and(|times| times < 1.0);
    let below = sync.barriers.iter().any(|row| times_limit(row.times_limit))
        || sync.fork_join.iter().any(|row| times_limit(row.times_limit));
    let own = "x limit: by the one-way time on the lines of the barrier's own flags, where it has flags";
    let note = format!("{LIMIT}: a barrier that takes less than one comes out below 1");
    let limited = sync.barriers.iter().any(|row| row.times_limit.is_some());
    let notes = [limited.then(|| own.to_owned()), below.then_some(note)];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    section(out, &table(header, 1, rows.collect()).to_string(), &notes, sync.barriers.is_empty())?;
    let rows = sync.fork_join.iter().map(|row| {
        [
            text::tame(&row.algorithm),
            if row.by.is_empty() { "–".into() } else { text::tame(&row.by) },
            row.threads.to_string(),
            text::tame(&row.mapping),
            median(&row.fork_ns),
            median(&row.join_ns),
            ns(&row.total_ns),
            times(row.times_limit),
        ]
    });
    let header = ["fork, join", "by", "threads", "mapping", "fork", "join", "both, ns (95 %)", "x limit"];
    let note = [parts_and_whole(sync).to_owned()];
    section(
        out,
        &dense(&header, 2, rows.map(Vec::from).collect()).to_string(),
        &note,
        sync.fork_join.is_empty(),
    )?;
    let rows = sync.peers.iter().map(|row| {
        let ratio = row.ratio.as_ref().map_or_else(|| "–".into(), |ratio| format!("{:.1}", ratio.median));
        let name = [text::tame(&row.name), text::tame(&row.operation)].join(", ");
        [name, row.threads.to_string(), ns(&row.ns), ratio]
    });
    let header = ["peer", "threads", "ns (95 %)", "x ours"];
    let ours = [format!("ours: {}", ours(sync))];
    section(out, &table(header, 1, rows.collect()).to_string(), &ours, sync.peers.is_empty())?;
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

/// What a survey tells of them: the quickest barrier and the team's fork and join, of all threads.
pub fn findings(out: &mut impl Write, sync: &Sync) -> io::Result<()> {
    let all = sync.barriers.iter().map(|row| row.threads).max();
    let of_all = sync.barriers.iter().filter(|row| Some(row.threads) == all);
    let told: Vec<_> = of_all.filter_map(|row| Some((row, row.ns.as_ref()?))).collect();
    if let Some((row, ns)) = told.iter().min_by(|a, b| a.1.median.total_cmp(&b.1.median)) {
        // Its interval and another's overlap, or one has none: the next run may find the other quicker.
        let alike = told.iter().filter(|(_, other)| !is_slower(ns, other)).count() - 1;
        let which = match alike {
            0 if told.len() > 1 => "the quickest by",
            _ => "by",
        };
        let others = match alike {
            0 => String::new(),
            n => format!(", not told from {}", text::count(n, "other")),
        };
        let limit = row.times_limit.map_or_else(String::new, |times| format!(", {times:.2} times the limit"));
        let name = row.algorithm.clone() + if row.layout.is_empty() { "" } else { ", " } + &row.layout;
        let told = format!(
            "of {} threads: {} ns{limit}, {which} {}{others}",
            row.threads,
            text::estimate(ns),
            text::tame(&name)
        );
        writeln!(out, "{}", wrapped("barrier    ", &told))?;
    }
    let team = sync.fork_join.iter().filter(|row| row.algorithm == "team").max_by_key(|row| row.threads);
    if let Some((row, ns)) = team.and_then(|row| Some((row, row.total_ns.as_ref()?))) {
        let limit = row.times_limit.map_or_else(String::new, |times| format!(", {times:.2} times the limit"));
        writeln!(out, "fork, join of {} threads: {} ns{limit}", row.threads, text::estimate(ns))?;
    }
    Ok(())
}

/// A table, and below it what is to be known of it.
fn section(out: &mut impl Write, table: &str, notes: &[String], empty: bool) -> io::Result<()> {
    if empty {
        return Ok(());
    }
    writeln!(out, "{table}")?;
    notes.iter().try_for_each(|note| writeln!(out, "{}", wrapped("", note)))?;
    writeln!(out)
}

fn ns(estimate: &Option<Estimate>) -> String {
    estimate.as_ref().map_or_else(|| "–".to_owned(), text::estimate)
}

fn median(estimate: &Option<Estimate>) -> String {
    estimate.as_ref().map_or_else(|| "–".to_owned(), |estimate| text::number(estimate.median))
}

fn times(times: Option<f64>) -> String {
    times.map_or_else(|| "–".to_owned(), |times| format!("{times:.2}"))
}

#[cfg(test)]
mod tests {
    use coho_profile::BarrierTime;

    use super::*;

    #[test]
    fn a_barrier_is_the_quickest_only_beyond_what_chance_explains() {
        let of = |n, others: &[f64]| {
            let row = |algorithm: &str, ns: f64| BarrierTime {
                algorithm: algorithm.into(),
                threads: 2,
                ns: Some(Estimate { low: 0.9 * ns, high: 1.1 * ns, n, ..Estimate::exact(ns) }),
                ..BarrierTime::default()
            };
            let others = others.iter().map(|&ns| row("central", ns));
            let barriers = std::iter::once(row("fbs", 50.0)).chain(others).collect();
            let sync = Sync { barriers, ..Sync::default() };
            let mut out = Vec::new();
            findings(&mut out, &sync).unwrap();
            String::from_utf8(out).unwrap()
        };
        let told = |other: f64| of(40, &[other]);
        for few in [1, 3, 5] {
            let told = of(few, &[90.0]);
            assert!(!told.contains("quickest") && told.contains("not told from 1 other"), "{told}");
        }
        assert!(!of(40, &[]).contains("quickest"), "it is the only one: {}", of(40, &[]));
        assert!(
            told(90.0).contains("the quickest by fbs") && !told(90.0).contains("not told"),
            "{}",
            told(90.0)
        );
        assert!(
            !told(55.0).contains("quickest") && told(55.0).contains("not told from 1 other"),
            "{}",
            told(55.0)
        );
    }
}
