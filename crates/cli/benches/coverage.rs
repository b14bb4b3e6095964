//! `make coverage`: how many of the 95 % intervals of a run contain the median of a run right after it and twenty times as
//! long.
//!
//! Each experiment runs again and again, with the passes of a survey and few enough figures that many runs fit into its
//! time. A run's intervals are held against the medians over the twenty runs that follow it, and beside that against those
//! of the next run alone. Intervals that hold for their own run only are counted and not tested. Between runs a pair of
//! CPUs is timed: if the host moved the CPUs meanwhile, the window does not count.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use coho_probe::coherence::Watch;
use coho_probe::experiment::{Observer, Plan, single};
use coho_probe::memory::Part;
use coho_probe::{Around, Course, Experiment, barrier, calls, coherence, contention, host, memory};
use coho_profile::{BlockState, Estimate, Operation, PairMethod, Profile, SAME_MODE, order};
use coho_sync::{Algorithm, Mapping};
use coho_topology::Topology;

/// How many runs make the long one.
const LONG: usize = 20;
/// As long as one experiment is repeated, unless `COVERAGE_SECONDS` says otherwise.
const SECONDS: u64 = 120;
/// The fewest intervals that tell a share.
const FEWEST: usize = 400;

/// One run of an experiment with this seed; `None` if it fails.
type Measure = fn(Course, Plan<'_>) -> Option<Profile>;

/// The sections, and what of each is measured.
const ALL: [(&str, Measure); 5] = [
    ("coherence", |course, plan| {
        once(&coherence::Options { reads: false, course, ..coherence::Options::quick() }, plan)
    }),
    ("calls", |course, plan| {
        let options = calls::Options {
            sets: Vec::new(),
            extra: ["getppid", "stat"].iter().filter_map(|name| name.parse().ok()).collect(),
            repeats: 100,
            damage_bytes: Vec::new(),
            course: course.within(Duration::from_millis(500)),
            ..calls::Options::quick()
        };
        once(&options, plan)
    }),
    ("memory", |course, plan| {
        let options = memory::Options {
            parts: vec![Part::Rates],
            threads: vec![1],
            sizes: vec![4 << 10, 256 << 10],
            operations: vec![Operation::Read, Operation::Copy],
            states: vec![BlockState::Warm, BlockState::Fresh],
            course,
            ..memory::Options::quick()
        };
        once(&options, plan)
    }),
    ("sync", |course, plan| {
        let options = barrier::Options {
            algorithms: vec![Algorithm::Auto, Algorithm::Fbs, Algorithm::Central, Algorithm::Lock],
            mappings: vec![Mapping::Sequential],
            quick: true,
            course,
            ..barrier::Options::default()
        };
        once(&options, plan)
    }),
    ("contention", |course, plan| {
        let mappings = vec![Mapping::Sequential];
        once(&contention::Options { mappings, quick: true, course, ..contention::Options::default() }, plan)
    }),
];

/// One run: every figure by its key and parameters, and how far apart the CPUs were.
struct Run {
    figures: BTreeMap<String, Estimate>,
    /// How many intervals hold for this run only.
    own: usize,
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
    println!("{:<44} {:>9} {:>9} {:>9} {:>9}", "experiment", "intervals", "next 20", "next run", "width");
    for (section, measure) in ALL {
        if named.is_empty() || named.iter().any(|name| name == section) {
            tell(section, &repeated(measure, &topology, Duration::from_secs(time)));
        }
    }
}

struct Silent;

impl Observer for Silent {}

fn once<E: Experiment>(experiment: &E, plan: Plan<'_>) -> Option<Profile> {
    single(experiment, plan, &mut Silent).ok().map(|(_, outcome)| outcome.profile)
}

/// Runs of an experiment, one right after the other.
fn repeated(measure: Measure, topology: &Topology, time: Duration) -> Vec<Run> {
    let (host, started) = (host::collect(), Instant::now());
    let plan = Plan { host: &host, topology, mpi_rank: None, path: None };
    let mut runs = Vec::new();
    while started.elapsed() < time || runs.len() <= LONG {
        let course = Course { seed: runs.len() as u64, ..Course::default() };
        let Some(profile) = measure(course, plan) else { break };
        let (figures, own) = figures(&profile);
        runs.push(Run { figures, own, apart_ns: apart(topology) });
    }
    runs
}

/// The figures whose intervals hold for the next run, and the number of the others.
fn figures(profile: &Profile) -> (BTreeMap<String, Estimate>, usize) {
    let with_interval = profile.figures().into_iter().filter(|figure| figure.estimate.has_interval());
    let (figures, own): (Vec<_>, Vec<_>) =
        with_interval.partition(|figure| figure.estimate.holds_for_next_run());
    let named = figures.into_iter().map(|figure| {
        let parameters: Vec<&str> = figure.parameters.iter().map(|(_, value)| value.as_str()).collect();
        (format!("{} {}", figure.quantity.key, parameters.join(" ")), figure.estimate.into_owned())
    });
    (named.collect(), own.len())
}

/// The time between the first two CPUs; `None` where there is one, or they did not meet.
fn apart(topology: &Topology) -> Option<f64> {
    let cpus = host::collect().allowed_cpus;
    let &[a, b, ..] = &cpus[..] else { return None };
    let watch = Watch { pair: (a, b), method: PairMethod::Turn, time: Duration::from_millis(30) };
    let section = watch.measure(&mut Around::new(topology, &mut |_| ())).ok()?;
    let mut times: Vec<f64> = section.timeline?.samples.iter().map(|sample| sample.ns).collect();
    Some(order::median_of(&mut times))
}

/// Whether the host left the CPUs where they were, as far as this tells.
fn is_still(window: &[Run]) -> bool {
    let times = || window.iter().filter_map(|run| run.apart_ns);
    times().fold(0.0, f64::max) <= SAME_MODE * times().fold(f64::INFINITY, f64::min)
}

/// Intervals of a figure.
#[derive(Default)]
struct Counts {
    all: usize,
    /// Those that contain the median of the next runs together, and of the next one.
    contain_long: usize,
    contain_next: usize,
    /// Half their widths, relative to the median.
    widths: Vec<f64>,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.contain_long += other.contain_long;
        self.contain_next += other.contain_next;
        self.widths.extend(&other.widths);
    }

    fn tell(&mut self, name: &str) {
        let share = |n: usize| 100.0 * n as f64 / self.all.max(1) as f64;
        let (long, next) = (share(self.contain_long), share(self.contain_next));
        let few = if self.all < FEWEST { " (few)" } else { "" };
        let width = 100.0 * order::median_of(&mut self.widths);
        println!("{name:<44} {:>9} {long:>7.1} % {next:>7.1} % {width:>5.1} %{few}", self.all);
    }
}

fn tell(section: &str, runs: &[Run]) {
    let mut by_key: BTreeMap<&str, Counts> = BTreeMap::new();
    let windows: Vec<&[Run]> = runs.windows(LONG + 1).filter(|window| is_still(window)).collect();
    for window in &windows {
        let (run, later) = (&window[0], &window[1..]);
        for (name, estimate) in &run.figures {
            let mut medians: Vec<f64> =
                later.iter().filter_map(|run| Some(run.figures.get(name)?.median)).collect();
            let &[next, ..] = &medians[..] else { continue };
            if medians.len() < LONG {
                continue;
            }
            let contains = |median| usize::from((estimate.low..=estimate.high).contains(&median));
            let counts = by_key.entry(name.split(' ').next().unwrap_or_default()).or_default();
            counts.add(&Counts {
                all: 1,
                contain_long: contains(order::median_of(&mut medians)),
                contain_next: contains(next),
                widths: vec![estimate.relative_half_width()],
            });
        }
    }
    let mut sum = Counts::default();
    by_key.values().for_each(|counts| sum.add(counts));
    let moved = runs.len().saturating_sub(LONG) - windows.len();
    println!("{section:<12} {:>6} runs, {moved} windows in which the host moved the CPUs", runs.len());
    println!("  {} intervals of a run hold for that run only", runs.first().map_or(0, |run| run.own));
    sum.tell("  all");
    by_key.iter_mut().for_each(|(key, counts)| counts.tell(&format!("  {key}")));
}
