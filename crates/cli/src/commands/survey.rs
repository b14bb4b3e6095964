//! `coho survey`: every quick experiment, a profile and a report.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use coho_probe::{barrier, calls, coherence, counters, host, idle, kernels, memory, stop};
use coho_profile::{
    Calls, Coherence, Counters, Idle, Memory, PairMethod, Profile, Sync, TopologySection, Verdict,
    write_atomic,
};
use coho_topology::{Counts, CpuSet, Topology};

use crate::arguments::{self, Course, check_outputs};
use crate::judge::{self, judge};
use crate::report::subject::Subject;
use crate::{report, terminal};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write the profile [default: coho-DATE.json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to write the report [default: the profile's name with .html]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Measure these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Fewer passes and sizes: some seconds on a small machine
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    /// Print the profile on standard output, and nothing else
    #[arg(long)]
    json: bool,
}

/// How long a pair is watched for changes.
const A_WHILE: Duration = Duration::from_secs(5);
const BRIEFLY: Duration = Duration::from_secs(1);
/// How long counters and calls may take at most.
const COUNTERS: Duration = Duration::from_secs(20);
const COUNTERS_BRIEFLY: Duration = Duration::from_secs(3);
const CALLS: Duration = Duration::from_secs(60);
const CALLS_BRIEFLY: Duration = Duration::from_secs(10);
/// Beside the paper's: what a path over TCP is made of.
const CALLS_OF_PATHS: [&str; 2] = ["send(64)", "recv(64)"];
/// Repetitions that end before that on a machine that does little else.
const CALLS_REPEATED: u32 = 100;
const CALLS_REPEATED_BRIEFLY: u32 = 50;
/// How long memory may take at most; it ends by itself before that.
const MEMORY: Duration = Duration::from_secs(30);
const MEMORY_BRIEFLY: Duration = Duration::from_secs(6);
/// How long barriers may take at most, and each program under them.
const BARRIERS: Duration = Duration::from_secs(20);
const BARRIERS_BRIEFLY: Duration = Duration::from_secs(3);
const PROGRAM: Duration = Duration::from_secs(15);
/// How long CPUs may be watched waking up at most.
const WAKING: Duration = Duration::from_secs(10);
const WAKING_BRIEFLY: Duration = Duration::from_secs(2);

pub fn run(args: &Args) -> anyhow::Result<()> {
    stop::on_signals().context("cannot catch Ctrl-C")?;
    let host = host::collect();
    let output = args.output.clone().unwrap_or_else(|| default_name(host.date.as_deref()));
    let page = args.report.clone().unwrap_or_else(|| output.with_extension("html"));

    check_outputs(&[&output, &page], &[])?;
    let started = Instant::now();
    let topology = coho_topology::detect().context("cannot tell the topology")?;
    let clock_ghz = host.clock_ghz;
    let mut profile = Profile {
        host: Some(host),
        topology: Some(TopologySection::from(topology.clone())),
        ..Profile::default()
    };
    // What is finished stands in the file before the next experiment begins.
    profile.write(&output)?;

    let effort = if args.quick { coherence::Options::quick() } else { coherence::Options::default() };
    let options = coherence::Options {
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..effort.on(args.cpus.iter().flat_map(CpuSet::iter).collect())?
    };
    let mut measured = match coherence::measure(&options, &topology, &mut terminal::progress::on_stderr()) {
        Ok(measured) => measured,
        // A CPU that was asked for by name must be there; a machine of one CPU still has a topology to tell.
        Err(error) if args.cpus.is_some() => return Err(error.into()),
        Err(error) => not_available(&error.to_string()),
    };
    judge(&mut measured, &topology, clock_ghz);
    let left =
        || args.course.time_limit.map_or(Duration::MAX, |limit| limit.saturating_sub(started.elapsed()));
    watch(&mut measured, left().min(if args.quick { BRIEFLY } else { A_WHILE }));
    profile.coherence = Some(measured);
    profile.write(&output)?;

    profile.counters = count(args, options.seed, left());
    profile.write(&output)?;
    profile.calls = call(args, options.seed, left());
    judge::calls(&mut profile);
    profile.write(&output)?;
    profile.memory = move_data(args, options.seed, &topology, left());
    profile.write(&output)?;
    profile.sync = synchronise(args, &topology, options.seed, left());
    profile.write(&output)?;
    profile.idle = wake(args, &topology, options.seed, left());
    profile.write(&output)?;

    let subject = Subject::of_file(&output, profile.clone());
    write_atomic(&page, report::render(&[subject]).as_bytes())?;
    let mut out = std::io::stdout().lock();
    if args.json {
        out.write_all(profile.to_json().as_bytes())?;
    } else {
        summarise(&mut out, &profile)?;
        writeln!(out, "\nprofile  {}\nreport   {}", output.display(), page.display())?;
    }
    Ok(())
}

/// What counting costs; `None` if the survey is to end.
fn count(args: &Args, seed: u64, left: Duration) -> Option<Counters> {
    let longest = if args.quick { COUNTERS_BRIEFLY } else { COUNTERS };
    let options = counters::Options {
        cpu: args.cpus.as_ref().and_then(|cpus| cpus.iter().next()),
        quick: true,
        time_limit: Some(longest.min(left)),
        seed,
    };
    if stop::requested() || left.is_zero() {
        return None;
    }
    let measured = counters::measure(&options, &mut terminal::progress::on_stderr());
    Some(measured.unwrap_or_else(|error| {
        let mut section = Counters::default();
        section.method.not_available.insert("counters".into(), error.to_string());
        section
    }))
}

/// What calls cost; `None` if the survey is to end. MPI takes seconds to start: a quick survey leaves it out.
fn call(args: &Args, seed: u64, left: Duration) -> Option<Calls> {
    if stop::requested() || left.is_zero() {
        return None;
    }
    let mut options = calls::Options {
        cpu: args.cpus.as_ref().and_then(|cpus| cpus.iter().next()),
        time_limit: Some(left.min(if args.quick { CALLS_BRIEFLY } else { CALLS })),
        repeats: if args.quick { CALLS_REPEATED_BRIEFLY } else { CALLS_REPEATED },
        seed,
        mpi_rank: super::calls::rank().ok(),
        ..calls::Options::quick()
    };
    if !args.quick {
        options.extra = CALLS_OF_PATHS.iter().map(|call| call.parse().expect("a call")).collect();
    } else {
        options.sets.retain(|set| *set != calls::Set::Mpi);
    }
    let measured = calls::measure(&options, &mut terminal::progress::on_stderr());
    Some(measured.unwrap_or_else(|error| {
        let mut section = Calls::default();
        section.conditions.not_available.insert("calls".into(), error.to_string());
        section
    }))
}

/// How fast data moves; `None` if the survey is to end.
fn move_data(args: &Args, seed: u64, topology: &Topology, left: Duration) -> Option<Memory> {
    if stop::requested() || left.is_zero() {
        return None;
    }
    let options = memory::Options {
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        time_limit: Some(left.min(if args.quick { MEMORY_BRIEFLY } else { MEMORY })),
        seed,
        ..memory::Options::quick()
    };
    let measured = memory::measure(&options, topology, &mut terminal::progress::on_stderr());
    Some(measured.unwrap_or_else(|error| {
        let mut section = Memory::default();
        section.method.not_available.insert("memory".into(), error.to_string());
        section
    }))
}

/// What barriers cost, and what programs make of them; `None` if the survey is to end. A quick survey runs no programs.
fn synchronise(args: &Args, topology: &Topology, seed: u64, left: Duration) -> Option<Sync> {
    if stop::requested() || left.is_zero() {
        return None;
    }
    let started = Instant::now();
    let cpus: Vec<u32> = args.cpus.iter().flat_map(CpuSet::iter).collect();
    let options = barrier::Options {
        cpus: cpus.clone(),
        quick: true,
        time_limit: Some(left.min(if args.quick { BARRIERS_BRIEFLY } else { BARRIERS })),
        seed,
        ..barrier::Options::default()
    };
    let measured = barrier::measure(&options, topology, &mut terminal::progress::on_stderr());
    let mut section = measured.unwrap_or_else(|error| {
        let mut section = Sync::default();
        section.method.not_available.insert("barriers".into(), error.to_string());
        section
    });
    for which in kernels::Which::ALL.into_iter().filter(|_| !args.quick) {
        let left = left.saturating_sub(started.elapsed());
        if stop::requested() || left.is_zero() {
            break;
        }
        let options = kernels::Options {
            cpus: cpus.clone(),
            quick: true,
            time_limit: Some(left.min(PROGRAM)),
            seed,
            ..kernels::Options::default()
        };
        match kernels::measure(which, &options, topology, &mut terminal::progress::on_stderr()) {
            Ok(kernel) => drop(section.kernels.insert(which.name().into(), kernel)),
            Err(error) => {
                drop(section.method.not_available.insert(which.name().into(), error.to_string()));
            }
        }
    }
    Some(section)
}

/// What idle states there are and how long CPUs take to wake; `None` if the survey is to end.
fn wake(args: &Args, topology: &Topology, seed: u64, left: Duration) -> Option<Idle> {
    if stop::requested() || left.is_zero() {
        return None;
    }
    let options = idle::Options {
        cpus: args.cpus.clone(),
        quick: true,
        time_limit: Some(left.min(if args.quick { WAKING_BRIEFLY } else { WAKING })),
        seed,
        ..idle::Options::default()
    };
    Some(idle::observe(&options, topology).unwrap_or_else(|error| {
        let mut section = Idle::default();
        section.method.not_available.insert("idle".into(), error.to_string());
        section
    }))
}

/// Adds how the nearest pair's time moves for a while, unless the survey is to end or no pair was measured.
fn watch(measured: &mut Coherence, time: Duration) {
    let nearest = measured.pairs.iter().filter(|pair| pair.method == PairMethod::Turn);
    let nearest = nearest.min_by(|one, other| one.ns.median.total_cmp(&other.ns.median));
    let Some((a, b)) =
        nearest.map(|pair| (pair.a, pair.b)).filter(|_| !measured.method.interrupted && !time.is_zero())
    else {
        return;
    };
    match coherence::watch((a, b), PairMethod::Turn, time, &mut terminal::progress::on_stderr()) {
        Ok(timeline) => {
            if timeline.modes.len() > 1 || !timeline.change_points_s.is_empty() {
                measured.stable = false;
                measured.verdict = Some(Verdict::Unstable);
                measured
                    .notes
                    .push(format!("CPUs {a} and {b} changed their distance while they were watched"));
            }
            measured.timeline = Some(timeline);
        }
        Err(error) => drop(measured.method.not_available.insert("timeline".into(), error.to_string())),
    }
}

/// The section of an experiment that could not be made.
fn not_available(why: &str) -> Coherence {
    let mut section = Coherence::default();
    section.method.not_available.insert("coherence".into(), why.into());
    section
}

/// `coho-2026-11-21T21-30-00Z.json`, or with a number behind where that is taken: no run overwrites another's files.
fn default_name(date: Option<&str>) -> PathBuf {
    let date = date.unwrap_or("profile").replace(':', "-");
    let names = (1..)
        .map(|n: u32| if n == 1 { format!("coho-{date}.json") } else { format!("coho-{date}-{n}.json") });
    let taken = |name: &PathBuf| {
        name.symlink_metadata().is_ok() || name.with_extension("html").symlink_metadata().is_ok()
    };
    names.map(PathBuf::from).find(|name| !taken(name)).expect("some number is free")
}

/// What a person wants to know first.
fn summarise(out: &mut impl Write, profile: &Profile) -> std::io::Result<()> {
    if let Some(host) = &profile.host {
        let cpu = host.cpu.as_deref().unwrap_or("unknown CPU");
        let hypervisor =
            host.hypervisor.as_ref().map(|name| format!(", virtual ({name})")).unwrap_or_default();
        writeln!(out, "{cpu}{hypervisor}")?;
    }
    if let Some(topology) = &profile.topology {
        writeln!(out, "{}", counted(topology.counts))?;
    }
    writeln!(out)?;
    profile.coherence.iter().try_for_each(|coherence| terminal::coherence::findings(out, coherence))?;
    profile.counters.iter().try_for_each(|counters| terminal::counters::findings(out, counters))?;
    profile.calls.iter().try_for_each(|calls| terminal::calls::findings(out, calls))?;
    profile.memory.iter().try_for_each(|memory| terminal::memory::findings(out, memory))?;
    profile.sync.iter().try_for_each(|sync| terminal::barrier::findings(out, sync))
}

fn counted(counts: Counts) -> String {
    let told = [
        (counts.package, "package", "packages"),
        (counts.die, "die", "dies"),
        (counts.numa, "memory node", "memory nodes"),
        (counts.l3, "L3", "L3s"),
        (counts.module, "module", "modules"),
        (counts.core, "core", "cores"),
        (counts.pu, "CPU", "CPUs"),
    ];
    let told = told.into_iter().filter(|(count, ..)| *count > 0);
    told.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect::<Vec<_>>()
        .join(", ")
}
