//! Time to measure a pair and how well it is then known: coho, one pair at a time, against core-to-core-latency's
//! defaults (its benchmark 1 is our method `turn`).

use std::process::Command;
use std::time::Instant;

use coho_model::chance::Family;
use serde_json::Value;

use crate::turns::{allowed_cpus, mark, median, ratios};

const COHO: &str = env!("CARGO_BIN_EXE_coho");
const PEER: &str = "core-to-core-latency";

/// One run of a tool on a pair.
struct Run {
    /// Time spent on the pair, in seconds; of the peer its whole run, in which nothing else takes long.
    seconds: f64,
    /// The figure, in ns.
    ns: f64,
    /// Half-width of its 95 % interval relative to it.
    half_width: f64,
}

/// Prints the table.
pub fn run(quick: bool) {
    println!("Measuring one pair by compare-and-swap on one line");
    let cpus = allowed_cpus();
    let [a, b, ..] = cpus[..] else { return println!("  not available: needs two CPUs") };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..if quick { 3 } else { 15 } {
        match coho(a, b).and_then(|run| Ok((run, peer(a, b)?))) {
            Ok((our_run, their_run)) => {
                ours.push(our_run);
                theirs.push(their_run);
            }
            Err(why) => return println!("  not available: {why}"),
        }
    }
    let all = |runs: &[Run], of: fn(&Run) -> f64| runs.iter().map(of).collect::<Vec<_>>();
    for (name, runs) in [("coho", &ours), (PEER, &theirs)] {
        println!(
            "  {name:<22} {:8.2} ms a pair  {:6.1} ns ± {:.1} %  (runs {:.1} to {:.1} ns)",
            median(&all(runs, |run| run.seconds)) * 1e3,
            median(&all(runs, |run| run.ns)),
            median(&all(runs, |run| run.half_width)) * 100.0,
            all(runs, |run| run.ns).into_iter().fold(f64::INFINITY, f64::min),
            all(runs, |run| run.ns).into_iter().fold(0.0, f64::max),
        );
    }
    let times = ratios(&all(&ours, |run| run.seconds), &all(&theirs, |run| run.seconds));
    let (time, differs) = (median(&times), Family::of(1).rounds(&times, &vec![1.0; times.len()]).differs());
    // Between runs, since the peer's printed error may round to nothing.
    let spread = |runs: &[Run]| {
        let ns = all(runs, |run| run.ns);
        let (least, most) =
            ns.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &x| (low.min(x), high.max(x)));
        (most - least) / median(&ns)
    };
    let width = spread(&ours) / spread(&theirs);
    println!(
        "  coho takes {time:.3}{} of the time (1/{:.0}); its runs differ {width:.2} times as much\n",
        mark(differs),
        1.0 / time
    );
}

fn coho(a: u32, b: u32) -> Result<Run, String> {
    let cpus = format!("{a},{b}");
    let (text, _) = output(
        COHO,
        &["coherence", "--json", "--no-reads", "--method", "turn", "--home", "a", "--cpus", &cpus],
    )?;
    let section: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let ns = &section["pairs"][0]["ns"];
    let [median, low, high] = ["median", "low", "high"].map(|name| ns[name].as_f64().unwrap_or(f64::NAN));
    let seconds = section["method"]["parameters"]["ms_per_pair"].as_f64().unwrap_or(f64::NAN) / 1e3;
    Ok(Run { seconds, ns: median, half_width: (high - low) / 2.0 / median })
}

/// Its table's cell reads `31±0`: the mean and the standard error of it, which its summary gives as a spread of runs.
fn peer(a: u32, b: u32) -> Result<Run, String> {
    let begin = Instant::now();
    let (out, table) = output(PEER, &["--cores", &format!("{a},{b}")])?;
    let seconds = begin.elapsed().as_secs_f64();
    let plain = without_colours(&(out + &table));
    let cell = plain.split(['\n', '\r']).find(|line| line.contains('±')).ok_or("its table has no figure")?;
    let (mean, error) = cell.split_once('±').expect("found above");
    let number =
        |text: &str| text.trim().parse::<f64>().map_err(|_| format!("'{text}' is no figure of {PEER}"));
    let ns = number(mean.split_whitespace().last().unwrap_or_default())?;
    let error = number(error.split_whitespace().next().unwrap_or_default())?;
    Ok(Run { seconds, ns, half_width: 1.96 * error / ns })
}

/// What a program writes on standard output and on standard error.
fn output(program: &str, arguments: &[&str]) -> Result<(String, String), String> {
    let output =
        Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() { Ok((out, error)) } else { Err(format!("{program}: {}", error.trim())) }
}

fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}
