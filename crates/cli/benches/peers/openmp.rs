//! Programs compiled by `gcc -fopenmp`, as they are: with libgomp, over LLVM's libomp, which has libgomp's interface too,
//! and on coho's teams.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::openmp_clients;
use crate::openmp_overhead;
use crate::quota::Quota;
use crate::turns::{Busy, allowed_cpus, median};

/// Where LLVM's runtime may lie.
const LIBOMP: [&str; 2] = ["/usr/lib/x86_64-linux-gnu/libomp.so.5", "/usr/lib/aarch64-linux-gnu/libomp.so.5"];
const THREADS: &str = "2";
/// In the barrier-bound program.
const BARRIERS: f64 = 88_000.0;

/// Nanoseconds of each construct, a value for each round.
type Times = BTreeMap<String, Vec<f64>>;

/// Prints the tables.
pub fn run(quick: bool) {
    openmp_overhead::run(quick);
    println!("Unmodified OpenMP programs, {THREADS} threads: times coho's");
    let built =
        compile("constructs_timed.c").and_then(|constructs| Ok((constructs, compile("tasks_timed.c")?)));
    let (constructs, tasks) = match built {
        Ok(programs) => programs,
        Err(why) => {
            println!("  not available: {why}\n");
            return;
        }
    };
    let rounds = if quick { 3 } else { 15 };
    table("idle", &constructs, &[], rounds, &|command| command);
    table("idle", &tasks, &[], rounds, &|command| command);
    for (program, condition) in [("barriers", "barrier-bound, idle"), ("coarse", "coarse, idle")] {
        table(condition, &constructs, &[program], rounds, &|command| command);
    }
    bound(&constructs, rounds.min(9));
    let first: Vec<_> = allowed_cpus().into_iter().take(1).collect();
    {
        let _busy = Busy::on(&first);
        for (program, condition) in
            [("barriers", "barrier-bound, a busy CPU"), ("coarse", "coarse, a busy CPU")]
        {
            table(condition, &constructs, &[program], rounds.min(5), &|command| command);
        }
    }
    match Quota::of_cpus(1.0) {
        Ok(quota) => {
            for (program, condition) in
                [("barriers", "barrier-bound, a quota of one CPU"), ("coarse", "coarse, a quota")]
            {
                table(condition, &constructs, &[program], rounds.min(5), &|command| quota.confine(&command));
            }
        }
        Err(why) => println!("  under a quota: not available: {why}\n"),
    }
    openmp_clients::run(quick);
}

/// A program of the OpenMP library's tests.
fn compile(source: &str) -> Result<PathBuf, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmp/tests/programs").join(source);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source).with_extension("");
    let output = Command::new("gcc").args(["-O2", "-fopenmp", "-o"]).arg(&program).arg(path).output();
    match output {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("gcc: {error}")),
    }
}

/// Runs a program with each runtime in turn, so many times, and prints what it takes.
fn table(condition: &str, program: &Path, words: &[&str], rounds: usize, under: &dyn Fn(Command) -> Command) {
    let libomp = LIBOMP.into_iter().find(|path| Path::new(path).is_file());
    let runtimes = [("coho", None), ("libgomp", None), ("libomp", libomp)];
    let mut times: Vec<Result<Times, String>> = vec![Ok(Times::new()); runtimes.len()];
    for _ in 0..rounds {
        for ((name, preload), times) in runtimes.iter().zip(&mut times) {
            let Ok(so_far) = times else { continue };
            if *name == "libomp" && preload.is_none() {
                *times = Err("libomp.so.5 is not installed".into());
                continue;
            }
            match once(name, *preload, THREADS, program, words, under) {
                Ok(lines) => {
                    lines.into_iter().for_each(|(what, ns)| so_far.entry(what).or_default().push(ns))
                }
                Err(why) => *times = Err(why),
            }
        }
    }
    let Ok(ours) = &times[0] else {
        println!("  {condition}: not available: {}", times[0].as_ref().unwrap_err());
        return;
    };
    println!("  {condition:<36} {:>12} {:>20} {:>20}", "coho", "libgomp", "libomp");
    for (what, own) in ours {
        let peer = |at: usize| match times[at].as_ref().ok().and_then(|times: &Times| times.get(what)) {
            Some(peer) => {
                let mut ratios: Vec<_> = peer.iter().zip(own).map(|(peer, own)| peer / own).collect();
                ratios.sort_by(f64::total_cmp);
                let (low, high) =
                    (ratios[ratios.len() / 4], ratios[(3 * ratios.len() / 4).min(ratios.len() - 1)]);
                format!("{:.2} x ({low:.2}-{high:.2})", median(&ratios))
            }
            None => "-".into(),
        };
        println!("  {what:<36} {:>9.0} ns {:>20} {:>20}", median(own), peer(1), peer(2));
    }
    for ((name, _), times) in runtimes.iter().zip(&times) {
        if let Err(why) = times {
            println!("  {name}: not available: {why}");
        }
    }
    println!("  (medians; in brackets the middle half of {rounds} rounds)\n");
}

/// A barrier-bound program beside what it must take: half of one thread's work, and its barriers at their measured price.
fn bound(program: &Path, rounds: usize) {
    let run = |threads: &str, words: &[&str]| once("coho", None, threads, program, words, &|command| command);
    let value = |lines: Result<Vec<(String, f64)>, String>, name: &str| {
        let found = lines?.into_iter().find(|(what, _)| what == name);
        found.map(|(_, ns)| ns).ok_or_else(|| format!("no line '{name}'"))
    };
    let ratio = || -> Result<f64, String> {
        let alone = value(run("1", &["barriers"]), "barriers")?;
        let both = value(run(THREADS, &["barriers"]), "barriers")?;
        let barrier = value(run(THREADS, &[]), "barrier")?;
        Ok(both / (alone / 2.0 + BARRIERS * barrier))
    };
    match (0..rounds).map(|_| ratio()).collect::<Result<Vec<_>, _>>() {
        Ok(mut ratios) => {
            ratios.sort_by(f64::total_cmp);
            let (low, high) = (ratios[ratios.len() / 4], ratios[3 * ratios.len() / 4]);
            println!(
                "  barrier-bound, idle: {:.2} x ({low:.2}-{high:.2}) half of one thread's work and the barriers alone\n",
                median(&ratios)
            );
        }
        Err(why) => println!("  barrier-bound: not available: {why}\n"),
    }
}

/// A program on coho's teams.
pub fn on_coho(program: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(["run", "-q", "--openmp", "--"]).arg(program);
    command
}

/// One run's lines.
fn once(
    name: &str,
    preload: Option<&str>,
    threads: &str,
    program: &Path,
    words: &[&str],
    under: &dyn Fn(Command) -> Command,
) -> Result<Vec<(String, f64)>, String> {
    let mut command = if name == "coho" { on_coho(program) } else { Command::new(program) };
    command.args(words);
    let mut command = under(command);
    command.env("OMP_NUM_THREADS", threads);
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{name} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let (what, ns) = line.rsplit_once(' ')?;
        Some((what.to_owned(), ns.parse().ok()?))
    };
    Ok(text.lines().filter_map(line).collect())
}
