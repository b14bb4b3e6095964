//! Barriers where CPUs are scarce, against the C library's, which sleeps, and against OpenMP's runtimes, by their defaults
//! and told to sleep at once.

use std::process::Command;

use serde_json::Value;

use crate::barriers::{few, peers, read};
use crate::quota::Quota;
use crate::section::{self, median, shown};
use crate::turns::{Busy, allowed_cpus};

/// Long against time slices and against a quota's periods, so that what others take is in every burst.
const LONG_BURST: &str = "30ms";
/// Runtimes that sleep at once.
const PASSIVE: [(&str, &str); 1] = [("OMP_WAIT_POLICY", "passive")];
/// What the barriers that coho chooses are to keep to, in times of the C library's.
const GOAL: f64 = 1.5;
const CHOSEN: [&str; 3] = ["auto", "fbs", "team"];
/// CPUs' time under a quota.
const QUOTA: f64 = 0.5;

/// Prints the tables.
pub fn run(quick: bool) {
    let grid = || {
        let mut command = section::coho(&["barrier", "--waiting"]);
        command.args(quick.then_some("--quick"));
        command
    };
    println!("Threads x pinning x condition: times pthread_barrier_wait's time in the same round");
    let mut cells = Vec::new();
    let mut add = |found: Option<Value>| {
        cells.extend(found.and_then(|found| found["cells"].as_array().cloned()).unwrap_or_default());
    };
    add(read(&mut grid()));
    match Quota::of_cpus(QUOTA) {
        Ok(quota) => add(read(&mut quota.confine(&grid()))),
        Err(why) => println!("  under a quota: not available: {why}"),
    }
    worst(&cells);
    let two: Vec<_> = allowed_cpus().into_iter().take(2).collect();
    let list: Vec<_> = two.iter().map(u32::to_string).collect();
    let long = |threads| {
        let mut command = few(threads);
        command.args(["--burst", LONG_BURST, "--cpus", &list.join(",")]);
        command
    };
    for (told, variables) in [("by their defaults", &[][..]), ("told to sleep at once", &PASSIVE[..])] {
        let show = |condition: &str, command: &mut Command| {
            println!("{condition}, by bursts of {LONG_BURST}; runtimes {told}");
            if let Some(found) = read(command.envs(variables.iter().copied())) {
                peers(&found, |_| true);
            }
        };
        show("Eight threads on two CPUs", &mut long(8));
        {
            let _busy = Busy::on(&two[..1]);
            show("With a busy process on one of two CPUs", &mut long(2));
        }
        match Quota::of_cpus(1.0) {
            Ok(quota) => show("With a quota of one CPU", &mut quota.confine(&long(2))),
            Err(why) => println!("  under a quota: not available: {why}\n"),
        }
    }
}

/// Of each algorithm the worst cell, and of those that coho chooses every cell beyond the goal.
fn worst(cells: &[Value]) {
    let ratio = |cell: &Value| median(&cell["pthread_ratio"]).unwrap_or(f64::NAN);
    let name = |cell: &Value| cell["algorithm"].as_str().unwrap_or_default().to_owned();
    let mut names: Vec<_> = cells.iter().map(name).collect();
    names.sort();
    names.dedup();
    names.sort_by_key(|name| !CHOSEN.contains(&name.as_str()));
    for algorithm in names {
        let mut own: Vec<_> = cells.iter().filter(|cell| name(cell) == algorithm).collect();
        own.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        let beyond = own.iter().filter(|cell| ratio(cell) > GOAL).count();
        println!("  {algorithm:<16} {:>3} cells, {beyond} beyond {GOAL} x", own.len());
        let told = if CHOSEN.contains(&algorithm.as_str()) { beyond.max(1) } else { 1 };
        for cell in own.iter().take(told) {
            let place =
                ["pinning", "condition"].map(|field| cell[field].as_str().unwrap_or_default()).join(", ");
            let (threads, ns) = (&cell["threads"], median(&cell["ns"]));
            let times = shown(Some(ratio(cell)));
            println!("    {times:>8} x  {threads:>3} threads, {place:<22} {:>10} ns", shown(ns));
        }
    }
    println!();
}
