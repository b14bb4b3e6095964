//! `coho coherence`: what it costs CPUs to share a cache line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use coho_model::judge;
use coho_model::{Matrix, check_known, coherence_from_matrix, coherence_of_machine};
use coho_platform::pin;
use coho_probe::Experiment;
use coho_probe::coherence::{Options, Pairs, Watch};
use coho_profile::{Coherence, Home, Host, PairMethod, Profile, TopologySection, read_text, write_atomic};
use coho_show::sections;
use coho_topology::{CpuSet, Topology};

use crate::arguments::{self, Course, check_outputs, duration};
use crate::history;
use crate::results::{Kept, Results};

const EXAMPLES: &str = examples![
    ("Every pair of CPUs, and whether the claimed topology holds", "coho coherence"),
    (
        "Check another tool's matrix against a topology",
        "coho coherence --from matrix.csv --topology machine.xml",
    ),
    ("Watch whether the host moves the CPUs", "coho coherence --watch-for 60s"),
];

/// Measure what it costs CPUs to share a cache line
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Measure these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// What the two CPUs do with the line: turn, flags, free-running [default: all; only turn beyond 64 CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = arguments::offering(method, ["turn", "flags", "free-running"]), conflicts_with = "from")]
    method: Vec<PairMethod>,
    /// Where the line lives: first touched by a, by b, or on a third NUMA node [default: a,b; only a beyond 64 CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = arguments::offering(home, ["a", "b", "third"]), conflicts_with = "from")]
    home: Vec<Home>,
    /// Do not measure loads of lines in known states
    #[arg(long)]
    no_reads: bool,
    /// Measure two pairs per CPU: enough to contradict the claimed topology
    #[arg(long, conflicts_with = "from")]
    audit: bool,
    /// Measure all pairs also beyond 64 CPUs, where otherwise a sample shows which CPUs are near each other
    #[arg(long, conflicts_with_all = ["from", "audit"])]
    all_pairs: bool,
    /// Fewer passes and sizes
    #[arg(long, conflicts_with = "from")]
    quick: bool,
    #[command(flatten)]
    course: Course,
    /// Measure only what is missing or unstable in this profile
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    resume: Option<PathBuf>,
    /// Watch one pair for this long (60s, 5m): show when its time changes, and between which values
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["from", "audit", "home", "no_reads", "quick", "resume", "seed", "time_limit"])]
    watch_for: Option<Duration>,
    /// The pair to watch [default: the first two CPUs]
    #[arg(long, value_name = "A,B", value_parser = pair, requires = "watch_for")]
    pair: Option<(u32, u32)>,
    /// Read a matrix of times in ns, as CSV or as another tool prints it, or a profile, instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cpus", "time_limit"])]
    from: Option<PathBuf>,
    /// Check the times against this description of the machine: anything that `coho topology --from` reads
    #[arg(long, value_name = "FILE", requires = "from")]
    topology: Option<PathBuf>,
    /// Also write the times as a CSV matrix in core-to-core-latency's format: ns, one row per CPU, no labels
    #[arg(long, value_name = "FILE", value_parser = arguments::file_name(), conflicts_with = "watch_for")]
    matrix: Option<PathBuf>,
    #[command(flatten)]
    history: history::Choice,
    #[command(flatten)]
    results: Results,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let file = &args.results.file;
    let outputs: Vec<&Path> = file.path().into_iter().chain(args.matrix.as_deref()).collect();
    let inputs: Vec<&Path> = args.from.iter().chain(&args.topology).map(PathBuf::as_path).collect();
    check_outputs(&outputs, &inputs)?;
    let writable = || args.matrix.as_deref().map_or(Ok(()), coho_profile::check_writable);
    let profile = match &args.from {
        Some(from) => {
            let earlier = file.prepare_to_read()?;
            writable()?;
            let read = read(from, args.topology.as_deref())?;
            if let Some((path, earlier)) = file.path().zip(earlier) {
                earlier.check_machine_of(path, from, read.host.as_ref())?;
            }
            let kept = Kept {
                name: "coherence",
                host: read.host.clone(),
                has_figures: read.coherence.as_ref().is_some_and(Options::has_figures),
                is_in: |file| file.coherence.as_ref().is_some_and(Options::has_figures),
            };
            file.keep(kept, |file| {
                file.topology = read.topology.clone().or(file.topology.take());
                file.coherence.clone_from(&read.coherence);
            })?;
            read
        }
        None => {
            let begun = file.begin()?;
            writable()?;
            let coherence = match args.watch_for {
                Some(time) => begun.measure(&watch(args, time)?, false)?,
                None => {
                    let resume = args.resume.as_deref();
                    let resume = resume.map(|path| read_coherence(path, &begun.host)).transpose()?;
                    // After a resumed run, some of the figures are older.
                    let history = !args.history.no_history && resume.is_none();
                    begun.measure(&options(args, resume), history)?
                }
            };
            Profile {
                host: Some(begun.host),
                topology: Some(TopologySection::from(begun.topology)),
                coherence: Some(coherence.section),
                ..Profile::default()
            }
        }
    };
    let coherence = profile.coherence.as_ref().context("nothing was measured")?;
    let nothing = coherence.times().next().is_none() && coherence.timeline.is_none() && args.from.is_none();
    let fails = nothing && !coherence.method.interrupted;
    if let Some(path) = &args.matrix {
        write_matrix(path, coherence)?;
    }
    if args.results.how.json {
        // A reader of this section alone should see that CPUs went offline during the run.
        for (cpu, why) in coherence.method.not_available.iter().filter(|(what, _)| what.starts_with("CPU ")) {
            coho_show::say!("coho: warning: {cpu}: {why}");
        }
    }
    args.results.how.show(profile, judge::Judged::coherence, sections::coherence::section)?;
    if fails {
        bail!("no pair was measured; 'method.not_available' of --json says why");
    }
    Ok(())
}

/// Reads a matrix or a profile, and checks it against a topology if one is named.
fn read(path: &Path, topology: Option<&Path>) -> anyhow::Result<Profile> {
    let topology =
        topology.map(|path| Ok::<_, anyhow::Error>(coho_topology::load(path)?.topology)).transpose()?;
    let text = read_text(path)?;
    let name = || path.display().to_string();
    let mut profile = if text.trim_start().starts_with('{') {
        read_profile(&text, topology.as_ref()).with_context(name)?
    } else {
        let matrix = Matrix::parse(&text).with_context(name)?;
        drop(text);
        let coherence = match &topology {
            Some(topology) => coherence_of_machine(&matrix, topology).with_context(name)?,
            None => coherence_from_matrix(&matrix),
        };
        Profile { coherence: Some(coherence), ..Profile::default() }
    };
    if let Some(topology) = topology {
        profile.topology = Some(TopologySection::from(topology));
    }
    Ok(profile)
}

/// Reads a profile's coherence section; the pairs' claims are those of the topology, if one is named.
fn read_profile(text: &str, topology: Option<&Topology>) -> anyhow::Result<Profile> {
    let profile = Profile::from_json(text)?;
    let mut coherence = profile.coherence.context("the profile has no coherence")?;
    if let Some(topology) = topology {
        let clock_ghz = profile.host.as_ref().and_then(|host| host.clock_ghz);
        check_known(&coherence.cpus, topology)?;
        coherence.claim(topology);
        if !coherence.coherence_times.is_empty() && !coherence.pairs.is_empty() {
            let clock_ghz = judge::clock_ghz(&coherence, clock_ghz);
            coherence.method.not_available.retain(|what, _| !what.starts_with("coherence time,"));
            coherence.put_coherence_times(topology, clock_ghz);
        }
    }
    Ok(Profile {
        host: profile.host,
        topology: profile.topology,
        coherence: Some(coherence),
        ..Profile::default()
    })
}

fn write_matrix(path: &Path, coherence: &Coherence) -> anyhow::Result<()> {
    let matrix = Matrix::of(coherence).context("no pair has a time, so there is no matrix to write")?;
    let mut text = Vec::new();
    matrix.write_csv(&mut text)?;
    write_atomic(path, &text)?;
    if let Some((method, _)) = Matrix::best_method(&coherence.pairs)
        && method == PairMethod::FreeRunning
    {
        coho_show::say!(
            "coho: warning: {}: times of free-running increments, not of transfers",
            path.display()
        );
    }
    Ok(())
}

fn options(args: &Args, resume: Option<Coherence>) -> Options {
    let effort = if args.quick { Options::quick() } else { Options::default() };
    Options {
        pairs: match (args.audit, args.all_pairs) {
            (true, _) => Pairs::Audit,
            (_, true) => Pairs::All,
            _ => Pairs::Enough,
        },
        methods: distinct(&args.method),
        homes: distinct(&args.home),
        reads: !args.no_reads && !args.audit,
        course: args.course.on(args.cpus.as_ref()),
        resume,
        ..effort
    }
}

fn watch(args: &Args, time: Duration) -> anyhow::Result<Watch> {
    let pair = match args.pair {
        Some(pair) => pair,
        None => {
            let cpus = match &args.cpus {
                Some(cpus) => cpus.clone(),
                None => pin::allowed()?,
            };
            let mut first = cpus.iter();
            let needs =
                || format!("--watch-for needs two CPUs, and there is one, {cpus}{}", pin::way_round());
            first.next().zip(first.next()).with_context(needs)?
        }
    };
    let method = match args.method[..] {
        [] => PairMethod::Turn,
        [method] => method,
        _ => bail!("--watch-for takes one --method"),
    };
    Ok(Watch { pair, method, time })
}

/// The coherence section of a profile, or one printed by `--json`.
fn read_coherence(path: &Path, host: &Host) -> anyhow::Result<Coherence> {
    let text = read_text(path)?;
    match Profile::from_json(&text) {
        Ok(profile) => {
            profile
                .check_machine(path, host)
                .map_err(|error| anyhow!("{error}; measure anew without --resume"))?;
            profile.coherence.with_context(|| format!("{}: the profile has no coherence", path.display()))
        }
        Err(error) => match serde_json::from_str::<Coherence>(&text) {
            Ok(coherence) if !coherence.pairs.is_empty() => Ok(coherence),
            _ => bail!("{}: {error}", path.display()),
        },
    }
}

/// A method by its name in profiles.
pub fn method(text: &str) -> Result<PairMethod, String> {
    match text {
        "turn" => Ok(PairMethod::Turn),
        "flags" => Ok(PairMethod::Flags),
        "free-running" => Ok(PairMethod::FreeRunning),
        _ => Err("methods are turn, flags and free-running".into()),
    }
}

fn home(text: &str) -> Result<Home, String> {
    match text {
        "a" => Ok(Home::A),
        "b" => Ok(Home::B),
        "third" => Ok(Home::Third),
        _ => Err("homes are a, b and third".into()),
    }
}

fn pair(text: &str) -> Result<(u32, u32), String> {
    let numbers =
        text.split_once(',').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    match numbers {
        Some((a, b)) if a != b => Ok((a, b)),
        _ => Err("give two CPUs, as in 0,1".into()),
    }
}

fn distinct<T: Copy + PartialEq>(values: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for &value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command_line() {
        assert_eq!(method("free-running"), Ok(PairMethod::FreeRunning));
        assert!(method("ping-pong").is_err() && home("c").is_err());
        assert_eq!(pair("3, 7"), Ok((3, 7)));
        assert!(pair("3,3").is_err() && pair("3").is_err() && pair("a,b").is_err());
        assert_eq!(distinct(&[1, 2, 1]), [1, 2]);
    }
}
