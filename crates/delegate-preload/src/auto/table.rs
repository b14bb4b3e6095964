//! What the process's threads have found out: the table of choices.

use std::sync::{Mutex, PoisonError};

use coho_preload::line;

use super::trial::Trials;
use super::verdict::Verdict;
use super::{CLASSES, KINDS, call_of};

/// One kind of calls, over all threads that have ended.
#[derive(Clone, Copy)]
struct Row {
    calls: u64,
    threads: u32,
    /// Those that delegate at the end.
    away: u32,
    /// The last trial's of the thread with the most calls.
    verdict: Option<Verdict>,
    most: u64,
}

static ROWS: Mutex<[Row; KINDS]> =
    Mutex::new([Row { calls: 0, threads: 0, away: 0, verdict: None, most: 0 }; KINDS]);

/// Adds what a thread knows.
pub fn gather(trials: &Trials) {
    let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    for (row, kind) in rows.iter_mut().zip(trials.kinds()).filter(|(_, kind)| kind.calls() > 0) {
        row.calls += kind.calls();
        row.threads += 1;
        row.away += u32::from(kind.is_away);
        if kind.verdict.is_some() && kind.calls() > row.most {
            (row.verdict, row.most) = (kind.verdict, kind.calls());
        }
    }
}

/// Prints a line for each kind of call that was tried.
pub fn print() {
    // Whoever ends the process may have been interrupted while it had them.
    let Ok(rows) = ROWS.try_lock().map(|rows| *rows) else { return };
    let mut is_first = true;
    for (kind, row) in rows.iter().enumerate() {
        let Some(verdict) = row.verdict else { continue };
        if std::mem::take(&mut is_first) {
            line(
                "delegate",
                "auto: ns from one call's start to the next one's, medians of blocks; calls: an upper bound",
            );
            let (call, payload, threads) = ("call", "payload", "delegated by");
            line(
                "delegate",
                format_args!(
                    "{call:<10}{payload:<10}{:>9}{:>11}{:>22}  {threads:<19}{:>12}",
                    "at home", "delegated", "difference (99 %)", "calls"
                ),
            );
        }
        let Verdict { home_ns, away_ns, difference_ns: (low, high), pairs, .. } = verdict;
        let difference = match pairs {
            0 | 1 => "broken off".to_owned(),
            super::verdict::PAIRS => format!("{low:+.0} to {high:+.0}"),
            _ => format!("{low:+.0} to {high:+.0} (lost)"),
        };
        let threads = format!("{} of {} threads", row.away, row.threads);
        line(
            "delegate",
            format_args!(
                "{:<10}{:<10}{home_ns:>9.0}{away_ns:>11.0}{difference:>22}  {threads:<19}{:>12}",
                call_of(kind).name(),
                payload(kind % (CLASSES.len() + 1)),
                row.calls,
            ),
        );
    }
}

fn payload(class: usize) -> String {
    match CLASSES.get(class) {
        Some(most) => format!("<= {most}"),
        None => format!("> {}", CLASSES[CLASSES.len() - 1]),
    }
}
