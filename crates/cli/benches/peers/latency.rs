//! Loads that wait for one another, by size: coho's chain beside lmbench's `lat_mem_rd`, both on huge pages.
//!
//! Debian has lmbench among what is not free, so `make bench` does not install it: it is used if it is there, or if
//! LMBENCH names the folder of its programs.

use std::process::Command;

use crate::section;
use crate::turns::{allowed_cpus, median, ratio};

/// Bytes that both measure; the last one is beyond most caches.
const SIZES: [u64; 4] = [16 << 10, 256 << 10, 4 << 20, 64 << 20];

/// Prints the table.
pub fn run(quick: bool) {
    println!("Loads that wait for one another, one thread, huge pages: ns, medians of turns");
    let cpu = allowed_cpus()[0].to_string();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..if quick { 1 } else { 5 } {
        match (peer(&cpu), coho(&cpu)) {
            (Ok(peer), Ok(coho)) => {
                theirs.push(peer);
                ours.push(coho);
            }
            (Err(why), _) | (_, Err(why)) => return println!("  not available: {why}\n"),
        }
    }
    for (at, bytes) in SIZES.iter().enumerate() {
        let of = |turns: &[Vec<f64>]| turns.iter().map(|turn| turn[at]).collect::<Vec<f64>>();
        let (mine, peer) = (of(&ours), of(&theirs));
        let ratios: Vec<f64> = mine.iter().zip(&peer).map(|(mine, peer)| mine / peer).collect();
        println!(
            "  {:>6} KiB   coho {:>7.2}   lat_mem_rd {:>7.2}   ratio {}",
            bytes >> 10,
            median(&mine),
            median(&peer),
            ratio(&ratios, SIZES.len()),
        );
    }
    println!();
}

fn coho(cpu: &str) -> Result<Vec<f64>, String> {
    let sizes = SIZES.map(|bytes| bytes.to_string()).join(",");
    let arguments = ["memory", "--parts", "latency", "--cpus", cpu, "--pages", "huge", "--sizes", &sizes];
    let found = section::of(&arguments)?;
    let ns = |bytes: &u64| {
        let row = found["latency"].as_array()?.iter().find(|row| row["bytes"].as_u64() == Some(*bytes))?;
        section::median(&row["ns"])
    };
    SIZES.iter().map(|bytes| ns(bytes).ok_or(format!("no latency of {bytes} bytes"))).collect()
}

/// It prints MiB and ns of each size up to the largest, at random within pages, a line of memory each.
fn peer(cpu: &str) -> Result<Vec<f64>, String> {
    let folder = std::env::var("LMBENCH").unwrap_or_else(|_| "/usr/lib/lmbench/bin/x86_64-linux-gnu".into());
    let program = format!("{folder}/lat_mem_rd");
    let largest = (SIZES[SIZES.len() - 1] >> 20).to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", cpu, &program, "-t", "-N", "1", &largest, "64"]);
    command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    let output = command.output().map_err(|error| format!("taskset: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let ns = |bytes: &u64| {
        let rows = text.lines().filter_map(|line| line.split_once(' '));
        let mut rows = rows.filter_map(|(mib, ns)| Some((mib.parse::<f64>().ok()?, ns.trim().parse().ok()?)));
        rows.find(|(mib, _)| (mib * f64::from(1 << 20) / *bytes as f64 - 1.0).abs() < 0.01).map(|(_, ns)| ns)
    };
    SIZES
        .iter()
        .map(|bytes| ns(bytes).ok_or(format!("{program} shows no latency: lmbench, or LMBENCH")))
        .collect()
}
