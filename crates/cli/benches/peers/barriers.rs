//! Barriers, fork and join against the limit of the same run and against other libraries, also where CPUs are scarce.

use std::process::Command;

use serde_json::Value;

use crate::quota::Quota;
use crate::section::{self, median, shown};
use crate::turns::{Busy, allowed_cpus};

/// Long against time slices and against a quota's periods, so that what others take is in every burst.
const LONG_BURST: &str = "30ms";
/// Runtimes that sleep at once, and those that spin without end.
const PASSIVE: [(&str, &str); 1] = [("OMP_WAIT_POLICY", "passive")];
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
    println!("Eight threads on two CPUs, by bursts of {LONG_BURST}");
    let two: Vec<_> = allowed_cpus().into_iter().take(2).collect();
    let list: Vec<_> = two.iter().map(u32::to_string).collect();
    if let Some(found) = read(long(8).args(["--cpus", &list.join(",")]).envs(PASSIVE)) {
        peers(&found, |_| true);
    }
    println!("With a busy process on one of two CPUs, by bursts of {LONG_BURST}; runtimes sleep at once");
    {
        let _busy = Busy::on(&two[..1]);
        if let Some(found) = read(long(2).args(["--cpus", &list.join(",")]).envs(PASSIVE)) {
            peers(&found, |_| true);
        }
    }
    println!("With a quota of one CPU, by bursts of {LONG_BURST}; runtimes sleep at once");
    match Quota::of_cpus(1.0) {
        Ok(quota) => {
            if let Some(found) = read(quota.confine(&long(2)).envs(PASSIVE)) {
                peers(&found, |_| true);
            }
        }
        Err(why) => println!("  not available: {why}\n"),
    }
}

/// `coho barrier` with peers.
fn coho(threads: usize, more: &[&str]) -> Command {
    let mut command = section::coho(&["barrier", "--peers", "--threads", &threads.to_string()]);
    command.args(more);
    command
}

/// Beside the team and the barrier that suits, which peers are compared with, FBS alone.
fn few(threads: usize) -> Command {
    coho(threads, &["--mapping", "sequential", "--quick", "--algorithms", "fbs"])
}

fn long(threads: usize) -> Command {
    let mut command = few(threads);
    command.args(["--burst", LONG_BURST]);
    command
}

fn read(command: &mut Command) -> Option<Value> {
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
fn peers(found: &Value, named: impl Fn(&str) -> bool) {
    for peer in rows(found, "peers").filter(|peer| peer["name"].as_str().is_some_and(&named)) {
        let what = ["name", "operation"].map(|field| peer[field].as_str().unwrap_or_default()).join(", ");
        match peer["not_available"].as_str() {
            Some(why) => println!("  {what:<40} not available: {why}"),
            None => {
                let times = |ratio| format!("  {:>6} x coho's", shown(Some(ratio)));
                let times = median(&peer["ratio"]).map(times).unwrap_or_default();
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
