//! Programs whose system calls another core executes, beside the same without: what gains and what does not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::command::lines;
use crate::delegation_calls;
use crate::delegation_programs::{self, Program};
use crate::turns::{Busy, allowed_cpus, median};

/// What is delegated, in turn: nothing, what gains by trying, all that the caller waits for, and writes that it does not wait
/// for.
const LISTS: [&str; 4] = ["", "auto", SYNC, "write:async"];
const SYNC: &str = "stat,open,close,read,write,pread,pwrite";

/// Prints the tables.
pub fn run(quick: bool) {
    println!("Programs with calls delegated and without, each under `coho run`: delegated / direct");
    let cpus = allowed_cpus();
    if cpus.len() < 2 {
        println!("  not available: delegation needs two CPUs\n");
        return;
    }
    let folder = match tempfile::Builder::new().prefix("coho-bench").tempdir_in(in_memory()) {
        Ok(folder) => folder,
        Err(why) => return println!("  not available: a folder for files: {why}\n"),
    };
    for folder in [folder.path(), Path::new(env!("CARGO_TARGET_TMPDIR"))] {
        delegation_calls::run(folder, &cpus, quick);
    }
    let rounds = if quick { 3 } else { 11 };
    println!("  files in {}", folder.path().display());
    records(folder.path(), rounds);
    println!("  {:<44} {:<12} {:>9} {:>9}   ratio", "program", "--delegate", "direct", "delegated");
    for program in delegation_programs::all(folder.path(), quick) {
        match program {
            Ok(program) => table(&program, rounds),
            Err(why) => println!("  {why}"),
        }
    }
    // A neighbour that computes where hosts are: `--host-cpus` names the last CPU, and nothing else is there.
    let host = cpus[cpus.len() - 1];
    match delegation_programs::logs(folder.path(), 1, 1, quick) {
        Ok(program) => {
            let _busy = Busy::on(&[host]);
            let program =
                Program { name: "logging, the host's CPU taken".into(), host: Some(host), ..program };
            table(&program, rounds);
        }
        Err(why) => println!("  {why}"),
    }
    println!(
        "  (s, medians; in brackets the middle half of the ratios within {rounds} turns; sync: {SYNC})\n"
    );
}

/// A folder whose files lie in memory, so that no disk decides.
fn in_memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { env!("CARGO_TARGET_TMPDIR").into() }
}

/// What a record costs a program that works for 2 us before each, as it says itself.
fn records(folder: &Path, rounds: usize) {
    println!("  what a record costs beside 2 us of work    direct          sync          write:async");
    for (bytes, records) in [("1", "40000"), ("4096", "40000")] {
        let cost = |list: &str| -> Result<f64, String> {
            let program = delegation_programs::compiled("log")?;
            let file = folder.join("records");
            let output = under(list, None).arg(program).arg("-c").arg(&file).args([bytes, records]).output();
            let output = output.map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let number = text.split(' ').next().and_then(|number| number.parse().ok());
            number.ok_or_else(|| format!("log said '{text}': {}", String::from_utf8_lossy(&output.stderr)))
        };
        let mut costs = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            for (costs, list) in costs.iter_mut().zip(["", "write", "write:async"]) {
                match cost(list) {
                    Ok(ns) => costs.push(ns),
                    Err(why) => return println!("  not available: {why}"),
                }
            }
        }
        let [direct, sync, later] = &costs;
        let beside = |own: &[f64]| format!("{:.0} ns, {}", median(own), ratios(own, direct));
        println!("  {bytes:>5} B {:>37.0} ns   {}   {}", median(direct), beside(sync), beside(later));
    }
}

/// Runs a program with each list in turn, and prints what it takes.
fn table(program: &Program, rounds: usize) {
    let mut times: Vec<Result<Vec<f64>, String>> = vec![Ok(Vec::new()); LISTS.len()];
    for _ in 0..rounds {
        for (list, times) in LISTS.iter().zip(&mut times) {
            let Ok(so_far) = times else { continue };
            match seconds(program, list) {
                Ok(seconds) => so_far.push(seconds),
                Err(why) => *times = Err(why),
            }
        }
    }
    let direct = match &times[0] {
        Ok(direct) => direct,
        Err(why) => return println!("  {}: not available: {why}", program.name),
    };
    for (list, times) in LISTS.iter().zip(&times).skip(1) {
        let name = if *list == SYNC { "sync" } else { list };
        match times {
            Ok(own) => println!(
                "  {:<44} {name:<12} {:>9.3} {:>9.3}   {}",
                program.name,
                median(direct),
                median(own),
                ratios(own, direct)
            ),
            Err(why) => println!("  {:<44} {name:<12} not available: {why}", program.name),
        }
    }
}

/// `0.95 (0.93-0.97)`.
pub fn ratios(own: &[f64], direct: &[f64]) -> String {
    let mut ratios: Vec<_> = own.iter().zip(direct).map(|(own, direct)| own / direct).collect();
    ratios.sort_by(f64::total_cmp);
    let quarter = ratios.len() / 4;
    format!("{:.2} ({:.2}-{:.2})", median(&ratios), ratios[quarter], ratios[ratios.len() - 1 - quarter])
}

/// `coho run`, which delegates these calls.
fn under(list: &str, host: Option<u32>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(["run", "-q"]);
    if !list.is_empty() {
        command.arg(format!("--delegate={list}"));
        if let Some(host) = host {
            command.args(["--host-cpus", &host.to_string()]);
        }
    }
    command.arg("--");
    command
}

/// Seconds of one run; what it leaves is removed before.
fn seconds(program: &Program, list: &str) -> Result<f64, String> {
    program.leaves.iter().filter(|path| path.exists()).try_for_each(|path| {
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed.map_err(|error| format!("{}: {error}", path.display()))
    })?;
    let mut command = under(list, program.host);
    command.args(&program.words).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let output = command.output().map_err(|error| error.to_string())?;
    let seconds = begun.elapsed().as_secs_f64();
    match output.status.success() {
        true => Ok(seconds),
        false => Err(format!("{}: {}", output.status, lines(&output.stderr))),
    }
}
