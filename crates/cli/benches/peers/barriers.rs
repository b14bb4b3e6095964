//! Barriers, fork and join against the limit of the same run and against other libraries.

use std::process::Command;

use coho_model::chance::Family;
use coho_profile::Estimate;
use serde_json::Value;

use crate::section::{self, median, shown};
use crate::turns::mark;

/// Runtimes that spin without end.
const ENDLESS: [(&str, &str); 2] = [("GOMP_SPINCOUNT", "infinite"), ("KMP_BLOCKTIME", "infinite")];

/// Prints the tables.
pub fn run(quick: bool) {
    println!("Barriers, fork and join of two threads: one run, all in turn");
    let mut command = coho(2, &["--mapping", "sequential"]);
    command.args(quick.then_some("--quick"));
    if let Some(found) = read(&mut command) {
        limits(&found);
        peers(&found, |_| true);
    }
    println!("Beside runtimes that spin without end");
    let runtime = |name: &str| name.starts_with("lib");
    if let Some(found) = read(few(2).envs(ENDLESS)) {
        peers(&found, runtime);
    }
}

/// `coho barrier` with peers.
fn coho(threads: usize, more: &[&str]) -> Command {
    let mut command = section::coho(&["barrier", "--peers", "--threads", &threads.to_string()]);
    command.args(more);
    command
}

/// Beside the team and the barrier that suits, which peers are compared with, FBS alone.
pub fn few(threads: usize) -> Command {
    coho(threads, &["--mapping", "sequential", "--quick", "--method", "fbs"])
}

/// What it prints; says why if it does not.
pub fn read(command: &mut Command) -> Option<Value> {
    section::read(command).map_err(|why| println!("  not available: {why}\n")).ok()
}

fn rows<'a>(found: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    found[name].as_array().into_iter().flatten()
}

fn limits(found: &Value) {
    for (name, figure, label) in [("barriers", "ns", "barrier"), ("fork_join", "total_ns", "fork and join")] {
        for row in rows(found, name) {
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
}

/// What peers of these names take, and as times of ours.
pub fn peers(found: &Value, named: impl Fn(&str) -> bool) {
    let shown_peers = || rows(found, "peers").filter(|peer| peer["name"].as_str().is_some_and(&named));
    let family = Family::of(shown_peers().filter(|peer| peer["ratio"].is_object()).count());
    for peer in shown_peers() {
        let what = ["name", "operation"].map(|field| peer[field].as_str().unwrap_or_default()).join(", ");
        match peer["not_available"].as_str() {
            Some(why) => println!("  {what:<40} not available: {why}"),
            None => {
                let ratio = serde_json::from_value::<Estimate>(peer["ratio"].clone());
                let times = ratio.map_or_else(
                    |_| String::new(),
                    |ratio| {
                        let differs = family.compare_to(&ratio, 1.0).differs();
                        format!("  {:>6}{} x coho's", shown(Some(ratio.median)), mark(differs))
                    },
                );
                println!("  {what:<40} {:>8} ns{times}", shown(median(&peer["ns"])));
            }
        }
    }
    for (what, why) in found["method"]["not_available"].as_object().into_iter().flatten() {
        println!("  coho's {what}: not available: {}", why.as_str().unwrap_or_default());
    }
    println!();
}

/// The values between which a figure jumps, where it does.
fn modes(estimate: &Value) -> String {
    let modes = estimate["modes"].as_array().map_or(&[][..], Vec::as_slice);
    if modes.len() < 2 {
        return String::new();
    }
    let values: Vec<_> = modes.iter().map(|mode| shown(mode["value"].as_f64())).collect();
    format!("  (jumps between {} ns)", values.join(" and "))
}
