//! coho by its defaults against libgomp and LLVM's runtime, each by its defaults and tuned in five ways, where CPUs are
//! plenty and where they are scarce: a table for each condition.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command;
use crate::openmp_table::on_coho;
use crate::quota::Quota;
use crate::turns::{Busy, allowed_cpus, median, middle_half, ratio};

/// Under what the programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// As many threads as CPUs.
    Cpus,
    /// Twice as many.
    Twice,
    /// A busy loop on one of the CPUs.
    Neighbour,
    /// CPU time for three quarters of the CPUs.
    Quota,
    /// Two processes at once.
    Processes,
}

/// Of `tests/programs/grid_timed.c`.
const PROGRAMS: [&str; 5] = ["regions", "barriers", "stencil", "solver", "parts"];
/// How long a run takes.
const MILLISECONDS: &str = "200";

type Variables = &'static [(&'static str, &'static str)];
type Setting = (&'static str, Variables);
/// Runs a program, on coho's teams or not; returns the nanoseconds of a turn.
type Run<'a> = &'a dyn Fn(bool, &str, Variables) -> Result<f64, String>;

/// The defaults come first.
const LIBGOMP: [Setting; 6] = [
    ("default", &[]),
    ("active", &[("OMP_WAIT_POLICY", "active")]),
    ("passive", &[("OMP_WAIT_POLICY", "passive")]),
    ("spin count 10000", &[("GOMP_SPINCOUNT", "10000")]),
    ("close", &[("OMP_PROC_BIND", "close"), ("OMP_PLACES", "threads")]),
    ("spread", &[("OMP_PROC_BIND", "spread"), ("OMP_PLACES", "threads")]),
];
const LLVM: [Setting; 6] = [
    ("default", &[]),
    ("active", &[("OMP_WAIT_POLICY", "active"), ("KMP_BLOCKTIME", "infinite")]),
    ("passive", &[("OMP_WAIT_POLICY", "passive")]),
    ("block time 0", &[("KMP_BLOCKTIME", "0")]),
    ("close", &[("OMP_PROC_BIND", "close"), ("OMP_PLACES", "threads")]),
    ("spread", &[("OMP_PROC_BIND", "spread"), ("OMP_PLACES", "threads")]),
];

/// A compiler, and its runtime's settings.
const BUILDS: [(&str, &[Setting; 6]); 2] = [("gcc", &LIBGOMP), ("clang", &LLVM)];

/// Prints the table of a condition.
pub fn run(cell: Cell, quick: bool) {
    let rounds = if quick { 3 } else { 9 };
    let cpus = allowed_cpus();
    let threads = (if cell == Cell::Twice { 2 * cpus.len() } else { cpus.len() }).to_string();
    let condition = match cell {
        Cell::Cpus => "nothing else".to_owned(),
        Cell::Twice => format!("{} CPUs", cpus.len()),
        Cell::Neighbour => "a busy process on one CPU".to_owned(),
        Cell::Quota => format!("a quota of {} CPUs", 0.75 * cpus.len() as f64),
        Cell::Processes => "two processes at once".to_owned(),
    };
    println!(
        "OpenMP programs, {threads} threads, {condition}: coho by its defaults, times each runtime's own"
    );
    println!("default and the best of six settings; medians of {rounds} rounds, in brackets the middle half");
    let quota = match (cell == Cell::Quota).then(|| Quota::of_cpus(0.75 * cpus.len() as f64)).transpose() {
        Ok(quota) => quota,
        Err(why) => return println!("  not available: {why}\n"),
    };
    let _busy = (cell == Cell::Neighbour).then(|| Busy::on(&cpus[..1]));
    let at_once = if cell == Cell::Processes { 2 } else { 1 };
    for (compiler, settings) in BUILDS {
        let binary = match compile(compiler) {
            Ok(binary) => binary,
            Err(why) => {
                println!("  {compiler}: not available: {why}");
                continue;
            }
        };
        let run = |coho: bool, program: &str, variables: Variables| {
            let mut command = if coho { on_coho(&binary) } else { Command::new(&binary) };
            command.args([program, MILLISECONDS]);
            let mut command = match &quota {
                Some(quota) => quota.confine(&command),
                None => command,
            };
            command.env("OMP_NUM_THREADS", &threads).envs(variables.iter().copied());
            each_ns(&mut command, at_once)
        };
        for program in PROGRAMS {
            match line(program, settings, rounds, &run) {
                Ok(line) => println!("  {compiler:<6} {line}"),
                Err(why) => println!("  {compiler:<6} {program}: not available: {why}"),
            }
        }
    }
    println!();
}

/// A program's row: what it takes with coho, and the ratios within rounds.
fn line(program: &str, settings: &[Setting], rounds: usize, run: Run<'_>) -> Result<String, String> {
    let mut ours = Vec::new();
    let mut theirs = vec![Vec::new(); settings.len()];
    for _ in 0..rounds {
        ours.push(run(true, program, &[])?);
        for ((_, variables), times) in settings.iter().zip(&mut theirs) {
            times.push(run(false, program, variables)?);
        }
    }
    let over = |times: &[f64]| {
        let ratios: Vec<f64> = ours.iter().zip(times).map(|(ours, theirs)| ours / theirs).collect();
        let (low, high) = middle_half(&ratios);
        format!("{:>6} ({low:.2}-{high:.2})", ratio(&ratios, 2 * PROGRAMS.len()))
    };
    let by_median = |a: &usize, b: &usize| median(&theirs[*a]).total_cmp(&median(&theirs[*b]));
    let best = (0..settings.len()).min_by(by_median).ok_or("no settings")?;
    Ok(format!(
        "{program:<9} {:>10.0} ns  default x {}  best x {} {}",
        median(&ours),
        over(&theirs[0]),
        over(&theirs[best]),
        settings[best].0
    ))
}

/// How long a turn takes, in ns, averaged over so many processes at once.
fn each_ns(command: &mut Command, at_once: usize) -> Result<f64, String> {
    let start = |_| command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let children: Vec<_> =
        (0..at_once).map(start).collect::<Result<_, _>>().map_err(|why| why.to_string())?;
    let mut sum = 0.0;
    for child in children {
        let output = child.wait_with_output().map_err(|why| why.to_string())?;
        let ns = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>();
        sum +=
            ns.map_err(|_| format!("it ended with {}: {}", output.status, command::lines(&output.stderr)))?;
    }
    Ok(sum / at_once as f64)
}

fn compile(compiler: &str) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmp/tests/programs/grid_timed.c");
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("grid_timed-{compiler}"));
    command::printed(
        Command::new(compiler).args(["-O2", "-fopenmp", "-o"]).arg(&binary).arg(source).arg("-lm"),
    )?;
    Ok(binary)
}
