//! `make coverage`: how many of the 95 % intervals of a run contain the median of a run right after it and twenty times as
//! long.
//!
//! Each experiment runs again and again as in a quick survey. A run's intervals are held against the medians over the twenty
//! runs that follow it. Between runs a pair of CPUs is timed: if the host moved the CPUs meanwhile, the window does not
//! count.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use coho_probe::coherence::Watch;
use coho_probe::experiment::{Entry, Observer, Plan, Survey, survey};
use coho_probe::{Around, Course, EXPERIMENTS, Experiment, host};
use coho_profile::{Estimate, PairMethod, Profile, SAME_MODE, order};
use coho_topology::Topology;

/// How many runs make the long one.
const LONG: usize = 20;
/// As long as one experiment is repeated, unless `COVERAGE_SECONDS` says otherwise.
const SECONDS: u64 = 120;
/// The fewest intervals that tell a share.
const FEWEST: usize = 400;
const ALL: [&str; 5] = ["coherence", "calls", "memory", "sync", "contention"];

/// One run: every figure by its key and parameters, and how far apart the CPUs were.
struct Run {
    figures: BTreeMap<String, Estimate>,
    apart_ns: Option<f64>,
}

fn main() {
    // `cargo test --all-targets` runs benches too.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("coverage: run by `make coverage`");
        return;
    }
    let named: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let time = std::env::var("COVERAGE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let topology = coho_topology::detect().expect("a topology");
    println!("{:<44} {:>9} {:>9} {:>7}", "experiment", "intervals", "contained", "share");
    for entry in EXPERIMENTS.iter().filter(|entry| ALL.contains(&entry.section)) {
        if named.is_empty() || named.iter().any(|name| name == entry.section) {
            let runs = repeated(entry, &topology, Duration::from_secs(time));
            tell(entry.section, &runs);
        }
    }
}

struct Silent;

impl Observer for Silent {}

/// Runs of an experiment, one right after the other.
fn repeated(entry: &Entry, topology: &Topology, time: Duration) -> Vec<Run> {
    let (host, started) = (host::collect(), Instant::now());
    let plan = Plan { host: &host, topology, mpi_rank: None, path: None };
    let mut runs = Vec::new();
    while started.elapsed() < time || runs.len() <= LONG {
        let wish = Survey { quick: true, course: Course { seed: runs.len() as u64, ..Course::default() } };
        let Ok(outcome) = survey(&[*entry], &wish, plan, &mut Silent) else { break };
        runs.push(Run { figures: figures(&outcome.profile), apart_ns: apart(topology) });
    }
    runs
}

fn figures(profile: &Profile) -> BTreeMap<String, Estimate> {
    let figures = profile.figures().into_iter().filter(|figure| figure.estimate.has_interval());
    let named = figures.map(|figure| {
        let parameters: Vec<&str> = figure.parameters.iter().map(|(_, value)| value.as_str()).collect();
        (format!("{} {}", figure.quantity.key, parameters.join(" ")), figure.estimate.into_owned())
    });
    named.collect()
}

/// The time between the first two CPUs; `None` where there is one, or they did not meet.
fn apart(topology: &Topology) -> Option<f64> {
    let cpus = host::collect().allowed_cpus;
    let &[a, b, ..] = &cpus[..] else { return None };
    let watch = Watch { pair: (a, b), method: PairMethod::Turn, time: Duration::from_millis(60) };
    let section = watch.measure(&mut Around::new(topology, &mut |_| ())).ok()?;
    let mut times: Vec<f64> = section.timeline?.samples.iter().map(|sample| sample.ns).collect();
    Some(order::median_of(&mut times))
}

/// Whether the host left the CPUs where they were, as far as this tells.
fn is_still(window: &[Run]) -> bool {
    let times = || window.iter().filter_map(|run| run.apart_ns);
    times().fold(0.0, f64::max) <= SAME_MODE * times().fold(f64::INFINITY, f64::min)
}

fn tell(section: &str, runs: &[Run]) {
    let mut by_key: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let windows: Vec<&[Run]> = runs.windows(LONG + 1).filter(|window| is_still(window)).collect();
    for window in &windows {
        let (run, later) = (&window[0], &window[1..]);
        for (name, estimate) in &run.figures {
            let mut medians: Vec<f64> =
                later.iter().filter_map(|run| Some(run.figures.get(name)?.median)).collect();
            if medians.len() < LONG {
                continue;
            }
            let truth = order::median_of(&mut medians);
            let [all, contained] = by_key.entry(name.split(' ').next().unwrap_or_default()).or_default();
            *all += 1;
            *contained += usize::from((estimate.low..=estimate.high).contains(&truth));
        }
    }
    let sum = |at: usize| by_key.values().map(|counts| counts[at]).sum::<usize>();
    let moved = runs.len().saturating_sub(LONG) - windows.len();
    let line = |name: &str, [all, contained]: [usize; 2]| {
        let share = 100.0 * contained as f64 / all.max(1) as f64;
        let few = if all < FEWEST { " (few)" } else { "" };
        println!("{name:<44} {all:>9} {contained:>9} {share:>6.1} %{few}");
    };
    println!("{section:<12} {:>6} runs, {moved} windows in which the host moved the CPUs", runs.len());
    line("  all", [sum(0), sum(1)]);
    by_key.iter().for_each(|(key, counts)| line(&format!("  {key}"), *counts));
}
