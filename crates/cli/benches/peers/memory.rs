//! Loads, stores past the caches and copies at each level of the caches: coho's best loop beside the best of
//! likwid-bench, a compiled loop as STREAM has it, and mbw.
//!
//! Debian packages neither STREAM nor tinymembench nor pmbw; the compiled loop is our own program in C.

use std::path::{Path, PathBuf};
use std::process::Command;

use coho_topology::Topology;

use crate::command;
use crate::section;
use crate::turns::{allowed_cpus, median, ratio};

/// What one run of a peer moves, in bytes: some 20 ms.
const VOLUME: u64 = 400 << 20;

/// An operation and what likwid-bench calls it.
struct Operation {
    name: &'static str,
    /// coho's name, and its instructions.
    ours: (&'static str, &'static str),
    /// likwid-bench's kernels, the widest first.
    likwid: &'static [&'static str],
    /// Streams that its size and rate count.
    streams: u64,
}

const OPERATIONS: [Operation; 3] = [
    Operation {
        name: "load",
        ours: ("read", "sse2,avx2,avx512"),
        likwid: &["load_avx512", "load_avx"],
        streams: 1,
    },
    Operation {
        name: "store past the caches",
        ours: ("write", "sse2-nt,avx2-nt,avx512-nt"),
        likwid: &["store_mem_avx512", "store_mem_avx"],
        streams: 1,
    },
    Operation {
        name: "copy",
        ours: ("copy", "sse2,avx2,avx512,rep-movsb"),
        likwid: &["copy_avx512", "copy_avx", "copy_mem_avx512", "copy_mem_avx"],
        streams: 2,
    },
];

/// Prints the table.
pub fn run(quick: bool) {
    println!(
        "Moving data, one thread: GB/s (a copied byte counts once), best loop of each, medians of turns; above 1, ours moved more"
    );
    let Ok(topology) = coho_topology::detect() else { return println!("  not available: no topology\n") };
    let cpu = allowed_cpus()[0];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stream = compile(folder.path());
    if let Err(why) = &stream {
        println!("  compiled loop: not available: {why}");
    }
    let turns = if quick { 3 } else { 9 };
    for (level, bytes) in levels(&topology) {
        for operation in &OPERATIONS {
            row(level, bytes, operation, cpu, stream.as_deref().ok(), turns);
        }
    }
    println!();
}

/// Half of each cache, and more than the last. Peers with large memories of their own would time their set-up.
fn levels(topology: &Topology) -> Vec<(&'static str, u64)> {
    let size = |level| {
        let mut caches = topology.caches.iter();
        caches.find(|cache| cache.level == level && cache.size_bytes > 0).map(|cache| cache.size_bytes)
    };
    let l1 = topology.caches.iter().filter(|cache| cache.level == 1).map(|cache| cache.size_bytes).max();
    let half = [("L1", l1), ("L2", size(2)), ("L3", size(3).map(|bytes| bytes.min(32 << 20)))];
    let largest = topology.caches.iter().map(|cache| cache.size_bytes).max().unwrap_or(32 << 20);
    half.into_iter()
        .filter_map(|(level, bytes)| Some((level, (bytes? / 4) & !1023)))
        .chain([("DRAM", (2 * largest).next_multiple_of(1 << 20))])
        .collect()
}

fn row(level: &str, bytes: u64, operation: &Operation, cpu: u32, stream: Option<&Path>, turns: usize) {
    let not_available = |why: &str| println!("  {level:<4} {:<22} not available: {why}", operation.name);
    let (mut ours, mut theirs) = (Loops::new(), Loops::new());
    for _ in 0..turns {
        let peers = peers(bytes, operation, cpu, stream);
        if peers.is_empty() {
            return not_available("no peer runs (likwid-bench, cc, mbw)");
        }
        theirs.push(peers);
        match coho(bytes, operation, cpu) {
            Ok(rates) => ours.push(rates),
            Err(why) => return not_available(&why),
        }
    }
    // The loop whose median is best: the best of each turn would be who met the quietest moment.
    let (Some((_, mine)), Some((name, best))) = (quickest(&ours), quickest(&theirs)) else {
        return not_available("no loop was timed in every turn");
    };
    let ratios: Vec<f64> = mine.iter().zip(&best).map(|(mine, theirs)| mine / theirs).collect();
    println!(
        "  {level:<4} {:<22} coho {:>7.1}   best peer {:>7.1} ({name})   ratio {}",
        operation.name,
        median(&mine),
        median(&best),
        ratio(&ratios, 4 * OPERATIONS.len()),
    );
}

/// Rates of each loop by its name, turn by turn.
type Loops = Vec<Vec<(String, f64)>>;

/// The loop that ran in every turn and has the best median; its rates.
fn quickest(turns: &Loops) -> Option<(String, Vec<f64>)> {
    let names = turns.first()?.iter().map(|(name, _)| name);
    let rates = |name: &String| -> Option<Vec<f64>> {
        turns.iter().map(|turn| turn.iter().find(|(other, _)| other == name).map(|(_, rate)| *rate)).collect()
    };
    names
        .filter_map(|name| Some((name.clone(), rates(name)?)))
        .max_by(|a, b| median(&a.1).total_cmp(&median(&b.1)))
}

/// Each of our loops, in GB/s.
fn coho(bytes: u64, operation: &Operation, cpu: u32) -> Result<Vec<(String, f64)>, String> {
    let (bytes, cpu) = (bytes.to_string(), cpu.to_string());
    let (op, instructions) = operation.ours;
    // Copies past the caches are forms of the others.
    let mut arguments = vec!["memory", "--parts", "rates", "--quick", "--threads", "1", "--sizes", &bytes];
    arguments.extend(["--cpus", &cpu, "--operations", op, "--instructions", instructions]);
    arguments.extend(["--state", "warm", "--fence", "run", "--type", "WB"]);
    let found = section::of(&arguments)?;
    let rates = found["rates"].as_array().into_iter().flatten();
    let rate = |rate: &serde_json::Value| {
        let name = rate["instruction"].as_str()?.to_owned();
        Some((name, section::median(&rate["bytes_per_s"])? / 1e9))
    };
    Ok(rates.filter_map(rate).collect())
}

/// Every peer that runs, in GB/s.
fn peers(bytes: u64, operation: &Operation, cpu: u32, stream: Option<&Path>) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for kernel in operation.likwid {
        found.extend(likwid(kernel, bytes, operation.streams, cpu).map(|rate| ((*kernel).to_owned(), rate)));
    }
    if operation.name == "copy" {
        if let Some(program) = stream {
            let arguments = [bytes.to_string(), (VOLUME / bytes).max(3).to_string()];
            let text = pinned(cpu, &program.to_string_lossy(), &arguments);
            found.extend(text.and_then(|text| Some(("compiled loop".into(), text.trim().parse().ok()?))));
        }
        // It measures whole MiB.
        if bytes >= 4 << 20 {
            found.extend(mbw(bytes >> 20, cpu).map(|rate| ("mbw".into(), rate)));
        }
    }
    found
}

/// likwid-bench counts the size and the bytes of all its streams.
fn likwid(kernel: &str, bytes: u64, streams: u64, cpu: u32) -> Option<f64> {
    let rounds = (VOLUME / bytes).max(3).to_string();
    let size = format!("N:{}kB:1", bytes * streams / 1000);
    let arguments = ["-t", kernel, "-w", &size, "-i", &rounds].map(str::to_owned);
    let text = pinned(cpu, "likwid-bench", &arguments)?;
    let rate = text.lines().find_map(|line| line.strip_prefix("MByte/s:"))?;
    Some(rate.trim().parse::<f64>().ok()? / 1e3 / streams as f64)
}

fn mbw(mib: u64, cpu: u32) -> Option<f64> {
    let text = pinned(cpu, "mbw", &["-q", "-n", "5", "-t", "0", &mib.to_string()].map(str::to_owned))?;
    let figures = text.lines().filter_map(|line| {
        let rate = line.split("Copy:").nth(1)?.trim().strip_suffix("MiB/s")?;
        rate.trim().parse::<f64>().ok()
    });
    figures.max_by(f64::total_cmp).map(|rate| rate * f64::from(1 << 20) / 1e9)
}

/// Standard output of a program on one CPU.
fn pinned(cpu: u32, program: &str, arguments: &[String]) -> Option<String> {
    let output =
        Command::new("taskset").args(["-c", &cpu.to_string(), program]).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A loop in C, compiled for this CPU.
fn compile(folder: &Path) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("copy.c"), folder.join("copy"));
    std::fs::write(&source, COPY).map_err(|error| error.to_string())?;
    command::printed(Command::new("cc").args(["-O3", "-march=native", "-o"]).args([&program, &source]))?;
    Ok(program)
}

/// Prints the best rate of several copies of arrays of doubles, in GB/s.
const COPY: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    size_t bytes = strtoull(argv[1], 0, 10), n = bytes / sizeof(double), rounds = strtoull(argv[2], 0, 10);
    double *a = aligned_alloc(2 << 20, (bytes | ((2 << 20) - 1)) + 1);
    double *c = aligned_alloc(2 << 20, (bytes | ((2 << 20) - 1)) + 1);
    if (!a || !c || !n) return 1;
    for (size_t i = 0; i < n; i++) { a[i] = 1.0; c[i] = 0.0; }
    double best = 0;
    for (int sample = 0; sample < 9; sample++) {
        size_t each = rounds / 9 + 1;
        double start = now();
        for (size_t round = 0; round < each; round++) {
            for (size_t i = 0; i < n; i++) c[i] = a[i];
            __asm__ volatile("" : : "r"(c) : "memory");
        }
        double rate = (double)bytes * each / (now() - start) / 1e9;
        if (rate > best) best = rate;
    }
    printf("%f\n", best);
    return 0;
}
"#;
