//! Predictions of paths beside what was measured, for people.

use std::io::{self, Write};

use coho_model::path::{Check, VALIDITY, median_error};

use super::table::{table, wrapped};
use crate::commands::path::Checked;
use crate::report::text;

/// Writes a table for each path.
pub fn write(out: &mut impl Write, checked: &Checked) -> io::Result<()> {
    let mut paths: Vec<&str> = checked.checks.iter().map(|check| check.path.as_str()).collect();
    paths.dedup();
    for path in paths {
        let checks: Vec<&Check> = checked.checks.iter().filter(|check| check.path == path).collect();
        let rows = checks.iter().map(|check| {
            let earlier = checked
                .by_profile(check)
                .map_or_else(|| "–".to_owned(), |one| text::number(one.predicted_ns));
            [
                text::bytes(check.bytes),
                text::number(check.predicted_ns),
                text::estimate(&check.measured),
                format!("{:+.0} %", 100.0 * check.error()),
                earlier,
            ]
        });
        let header = [path, "predicted, ns", "measured, ns (95 %)", "error", "by the profile, ns"];
        writeln!(out, "{}", table(header, 1, rows.collect()))?;
        let median = median_error(checks.iter().copied()).unwrap_or_default();
        let told = format!(
            "median error {:.0} %; parts and messages timed in turn and compared pass by pass, in one run of {:.1} s between \
             CPUs {}",
            100.0 * median,
            checked.memory.method.duration_s,
            checked
                .memory
                .transfers
                .first()
                .map_or(String::new(), |one| format!("{} and {}", one.from, one.to)),
        );
        writeln!(out, "{}\n", wrapped("", &told))?;
    }
    for (what, why) in &checked.memory.method.not_available {
        let line = format!("not available: {}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    if checked.memory.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    writeln!(out, "{}", wrapped("Valid for ", VALIDITY))
}
