//! One program under several runtimes, in turn, and its times beside one another.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::turns::{median, middle_half, ratio};

/// Where LLVM's runtime may lie.
const LIBOMP: [&str; 2] = ["/usr/lib/x86_64-linux-gnu/libomp.so.5", "/usr/lib/aarch64-linux-gnu/libomp.so.5"];
const RUNTIMES: [&str; 3] = ["coho", "libgomp", "libomp"];
/// Times two threads' flags: how far apart the host runs them.
const FLAGS: &str = "flags";
/// Flags that differ by more are of different places.
const SAME_PLACE: f64 = 1.5;
/// Of a place with fewer rounds nothing is said.
const FEWEST: usize = 3;

/// Nanoseconds of each construct that a run printed; of what it printed several times, all.
type Times = BTreeMap<String, Vec<f64>>;
/// A run of each runtime.
type Round = Vec<Option<Times>>;

/// Runs a program with each runtime in turn, for this many rounds, and prints what it takes: for each place of the CPUs that the
/// rounds were run in, if it tells the places.
pub fn print(
    condition: &str,
    program: &Path,
    words: &[&str],
    rounds: usize,
    tells_places: bool,
    under: &dyn Fn(Command) -> Command,
) {
    let mut failed: BTreeMap<&str, String> = BTreeMap::new();
    let mut round = || -> Round {
        let of = |name: &&'static str| {
            if failed.contains_key(name) {
                return None;
            }
            once(name, "2", program, words, under).map_err(|why| failed.insert(name, why)).ok()
        };
        RUNTIMES.iter().map(of).collect()
    };
    let rounds: Vec<Round> = (0..rounds).map(|_| round()).collect();
    for (place, rounds) in
        if tells_places { by_place(&rounds) } else { vec![(String::new(), rounds.iter().collect())] }
    {
        table(&format!("{condition}{place}"), &rounds);
    }
    failed.iter().for_each(|(name, why)| println!("  {name}: not available: {why}"));
    println!();
}

/// The rounds of each place, with its name; those that were in several come last.
fn by_place(rounds: &[Round]) -> Vec<(String, Vec<&Round>)> {
    let mut placed: Vec<(Option<f64>, &Round)> = rounds.iter().map(|round| (flags(round), round)).collect();
    placed.sort_by(|a, b| a.0.unwrap_or(f64::MAX).total_cmp(&b.0.unwrap_or(f64::MAX)));
    let mut places: Vec<Vec<(Option<f64>, &Round)>> = Vec::new();
    for (flags, round) in placed {
        let known = places.last().and_then(|place| place[0].0);
        match (known, flags) {
            (Some(known), Some(flags)) if flags <= known * SAME_PLACE => {}
            (None, None) if !places.is_empty() => {}
            _ => places.push(Vec::new()),
        }
        places.last_mut().expect("there is one").push((flags, round));
    }
    places.into_iter().filter_map(named).collect()
}

fn named(place: Vec<(Option<f64>, &Round)>) -> Option<(String, Vec<&Round>)> {
    let times: Option<Vec<f64>> = place.iter().map(|(flags, _)| *flags).collect();
    let count = place.len();
    let name = match times {
        _ if count < FEWEST => return None,
        Some(times) => format!(", flags {:.0} ns, {count} rounds", median(&times)),
        None => format!(", the host moved the CPUs, {count} rounds"),
    };
    Some((name, place.into_iter().map(|(_, round)| round).collect()))
}

/// What the flags took in a round, if it was about the same in all its runs.
fn flags(round: &Round) -> Option<f64> {
    let all: Vec<f64> =
        round.iter().flatten().filter_map(|times| times.get(FLAGS)).flatten().copied().collect();
    let low = all.iter().copied().reduce(f64::min)?;
    let high = all.iter().copied().reduce(f64::max)?;
    (high <= low * SAME_PLACE).then(|| median(&all))
}

fn table(condition: &str, rounds: &[&Round]) {
    println!("  {condition:<54} {:>10} {:>18} {:>18}", "coho", "libgomp", "libomp");
    let value = |round: &Round, at: usize, what: &str| Some(median(round[at].as_ref()?.get(what)?));
    let Some(constructs) = rounds.iter().find_map(|round| round[0].as_ref()) else { return };
    for what in constructs.keys().filter(|what| *what != FLAGS) {
        let own: Vec<f64> = rounds.iter().filter_map(|round| value(round, 0, what)).collect();
        let peer = |at: usize| {
            let ratios: Vec<f64> = rounds
                .iter()
                .filter_map(|round| Some(value(round, at, what)? / value(round, 0, what)?))
                .collect();
            if ratios.is_empty() {
                return "-".into();
            }
            let (low, high) = middle_half(&ratios);
            format!("{} x ({low:.2}-{high:.2})", ratio(&ratios, 2 * constructs.len()))
        };
        println!("  {what:<51} {:>10.0} ns {:>18} {:>18}", median(&own), peer(1), peer(2));
    }
}

/// A program on coho's teams.
pub fn on_coho(program: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(["run", "-q", "--openmp", "--"]).arg(program);
    command
}

/// What one run printed.
pub fn output(mut command: Command, threads: &str) -> Result<String, String> {
    let output = command.env("OMP_NUM_THREADS", threads).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("it ended with {}: {errors}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn once(
    name: &str,
    threads: &str,
    program: &Path,
    words: &[&str],
    under: &dyn Fn(Command) -> Command,
) -> Result<Times, String> {
    let mut command = if name == "coho" { on_coho(program) } else { Command::new(program) };
    command.args(words);
    let mut command = under(command);
    if name == "libomp" {
        let library = LIBOMP.into_iter().find(|path| Path::new(path).is_file());
        command.env("LD_PRELOAD", library.ok_or("libomp.so.5 is not installed")?);
    }
    let mut times = Times::new();
    for line in output(command, threads)?.lines() {
        if let Some((what, ns)) = line.rsplit_once(' ')
            && let Ok(ns) = ns.parse()
        {
            times.entry(what.to_owned()).or_default().push(ns);
        }
    }
    Ok(times)
}
