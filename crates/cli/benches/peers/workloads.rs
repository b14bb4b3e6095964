//! System workloads beside programs of the same definition: perf's pipe, and a UnixBench where one is built.

use std::process::Command;

use serde_json::Value;

use crate::section::{self, median, shown};
use crate::turns::{self, allowed_cpus};

/// Names the folder of a built UnixBench: no package registry has one.
const UNIXBENCH: &str = "UNIXBENCH";
/// Round trips of one run of perf's.
const ROUND_TRIPS: &str = "50000";

/// Prints the tables.
pub fn run(quick: bool) {
    println!("Two processes and two pipes on one CPU: coho bench context1 against perf bench sched pipe");
    match against_perf(if quick { 3 } else { 9 }) {
        Ok((ours, theirs)) => println!(
            "  coho {:8.0} round trips a second, perf {:8.0}: {} times as many\n",
            turns::median(&ours),
            turns::median(&theirs),
            turns::ratio(&turns::ratios(&ours, &theirs), 1)
        ),
        Err(why) => println!("  not available: {why}\n"),
    }
    println!("UnixBench's own programs, in turn with coho's");
    match against_unixbench(quick) {
        Ok(peers) => peers.iter().for_each(print_peer),
        Err(why) => println!("  not available: {why}"),
    }
    println!();
}

fn against_perf(rounds: usize) -> Result<(Vec<f64>, Vec<f64>), String> {
    let cpu = allowed_cpus().first().map(u32::to_string).ok_or("no CPU")?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let arguments =
            ["bench", "context1", "--quick", "--copies", "1", "--place", "compact", "--cpus", &cpu];
        let found = section::of(&arguments)?;
        ours.push(median(&found["results"][0]["value"]).ok_or("coho measured nothing")?);
        let words = ["-c", &cpu, "perf", "bench", "-f", "simple", "sched", "pipe", "-l", ROUND_TRIPS];
        let output = Command::new("taskset").args(words).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let seconds = text.lines().rev().find_map(|line| line.trim().parse::<f64>().ok());
        let seconds = seconds.ok_or("there is no perf that benches (Debian: linux-perf)")?;
        theirs.push(ROUND_TRIPS.parse::<f64>().map_err(|error| error.to_string())? / seconds);
    }
    Ok((ours, theirs))
}

fn against_unixbench(quick: bool) -> Result<Vec<Value>, String> {
    let tree = std::env::var(UNIXBENCH)
        .map_err(|_| format!("{UNIXBENCH}=FOLDER names a built UnixBench; no package registry has one"))?;
    let mut arguments = vec!["bench", "--peer", &tree, "--copies", "1", "--place", "compact"];
    arguments.extend(quick.then_some("--quick"));
    let found = section::of(&arguments)?;
    Ok(found["peers"].as_array().cloned().unwrap_or_default())
}

fn print_peer(peer: &Value) {
    let test = peer["test"].as_str().unwrap_or_default();
    match peer["not_available"].as_str() {
        Some(why) => println!("  {test:<24} not available: {why}"),
        None => println!(
            "  {test:<24} {:>6} x coho's, within {} %: {}",
            shown(peer["ratio"].as_f64()),
            shown(peer["tolerance"].as_f64().map(|share| share * 100.0)),
            match peer["agrees"].as_bool() {
                Some(true) => "agrees",
                Some(false) => "differs",
                None => "undecided",
            }
        ),
    }
}
