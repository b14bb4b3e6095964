//! Barriers, fork and join against the limit of the same run and against other libraries.

use crate::section::{self, median, shown};

/// Prints the tables.
pub fn run(quick: bool) {
    println!("Barriers, fork and join of two threads: one run, all in turn");
    let mut arguments = vec!["barrier", "--peers", "--threads", "2", "--mapping", "sequential"];
    arguments.extend(quick.then_some("--quick"));
    let found = match section::of(&arguments) {
        Ok(found) => found,
        Err(why) => return println!("  not available: {why}\n"),
    };
    let rows = |name: &str| found[name].as_array().cloned().unwrap_or_default();
    for (name, figure, label) in [("barriers", "ns", "barrier"), ("fork_join", "total_ns", "fork and join")] {
        for row in rows(name) {
            let layout = row["layout"].as_str().unwrap_or_default();
            let what = format!("{label}, {} {layout}", row["algorithm"].as_str().unwrap_or_default());
            println!(
                "  {:<40} {:>8} ns  {:>6} x the limit{}",
                what.trim(),
                shown(median(&row[figure])),
                shown(row["times_limit"].as_f64()),
                modes(&row[figure]),
            );
        }
    }
    for peer in rows("peers") {
        let what = ["name", "operation"].map(|field| peer[field].as_str().unwrap_or_default()).join(", ");
        match peer["not_available"].as_str() {
            Some(why) => println!("  {what:<40} not available: {why}"),
            None => println!(
                "  {what:<40} {:>8} ns  {:>6} x coho's",
                shown(median(&peer["ns"])),
                shown(median(&peer["ratio"]))
            ),
        }
    }
    println!();
}

/// The values between which a figure jumps, where it does.
fn modes(estimate: &serde_json::Value) -> String {
    let modes = estimate["modes"].as_array().map_or(&[][..], Vec::as_slice);
    if modes.len() < 2 {
        return String::new();
    }
    let values: Vec<_> = modes.iter().map(|mode| shown(mode["value"].as_f64())).collect();
    format!("  (jumps between {} ns)", values.join(" and "))
}
