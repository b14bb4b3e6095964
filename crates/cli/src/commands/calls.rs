//! `coho calls`: what system, libc and MPI calls cost, and what they evict.

use std::collections::BTreeSet;

use anyhow::bail;
use coho_model::judge::Judged;
use coho_probe::calls::mpi::RankCommand;
use coho_probe::calls::{Curves, Options, Request, Set};
use coho_profile::{Calls, Profile};
use coho_show::{say, sections};
use coho_topology::CpuSet;

use crate::arguments::{cpus, offering};
use crate::results::Run;

const EXAMPLES: &str = examples![
    ("System calls and the C library's, warm and cold", "coho calls --set syscalls,libc"),
    ("When another core should execute them", "coho calls --footprint -o mine.json"),
];

/// Measure what system, libc and MPI calls cost, and what they evict
///
/// If the profile that -o names has a coherence section, coho takes the cost of a message to another core from there.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Sets of calls: syscalls, libc, mpi [default: all; with --footprint, syscalls and libc; none beside --call]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(str::parse::<Set>, Set::ALL.map(Set::name)))]
    set: Vec<Set>,
    /// Also measure this call, as in 'pread(4096)'; may be repeated
    #[arg(long, value_name = "CALL")]
    call: Vec<Request>,
    /// Measure by time alone, even if performance counters work
    #[arg(long)]
    no_pmu: bool,
    /// Repetitions of a warm figure [default: 1000; 200 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    repeat: Option<u32>,
    /// Also measure each call at home and on another core, by how much of its caches the caller uses
    ///
    /// That is what the caller has used since its previous call. Without --set and --call, coho measures system
    /// calls, the C library's functions, and reads and writes of up to 64 KiB, on a tmpfs and on the file system of
    /// the working folder. With --quick, it measures only system calls and writes, on the tmpfs.
    #[arg(long)]
    footprint: bool,
    /// Measure on the first of these CPUs (0-3,8); with --footprint, the others execute its calls [default: all that the
    /// process may use]
    #[arg(long, alias = "cpu", value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuSet>,
    /// Fewer repetitions and working sets
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    run: Run,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let results = &args.run.results;
    let begun = results.file.begin()?;
    let measured = begun.measure(&options(args)?, false)?;
    let is_empty = measured.section.calls.is_empty() && !measured.section.conditions.interrupted;
    let kept = measured.profile.calls.filter(|_| !measured.is_old);
    // The rows of an earlier run may be among them.
    let calls = kept.unwrap_or_else(|| measured.section.clone());
    let earlier = begun.earlier.unwrap_or_default();
    if !measured.is_old {
        let before = earlier.calls.as_ref().map(names).unwrap_or_default();
        results.file.say_gone("calls", before, &names(&calls));
    }
    if let Some(path) = results.file.path().filter(|_| calls.calls != measured.section.calls) {
        let kept = "keeps its earlier calls, of which this run measured some only; its curves are new";
        say!("coho: {}: {kept}", path.display());
    }
    // It is this machine's, if it names one.
    let coherence = earlier.coherence.filter(|_| earlier.host.is_some());
    let profile = Profile { calls: Some(calls), coherence, ..Profile::default() };
    results.how.show(profile, Judged::calls, sections::calls::section)?;
    if is_empty {
        bail!("no call was measured; 'conditions.not_available' of --json says why");
    }
    Ok(())
}

fn names(calls: &Calls) -> BTreeSet<String> {
    calls.calls.iter().map(|call| call.name.clone()).collect()
}

fn options(args: &Args) -> anyhow::Result<Options> {
    let effort = if args.quick { Options::quick() } else { Options::default() };
    let of_default = args.set.is_empty() && args.call.is_empty();
    let sets = match (&args.set[..], &args.call[..]) {
        ([], []) if args.footprint && args.quick => vec![Set::Syscalls],
        ([], []) if args.footprint => vec![Set::Syscalls, Set::Libc],
        ([], []) => effort.sets.clone(),
        (sets, _) => sets.to_vec(),
    };
    let extra = if args.footprint && of_default { payloads(args.quick)? } else { args.call.clone() };
    let repeats = match (args.footprint, args.quick) {
        (true, true) => FEW,
        (true, false) => Options::quick().repeats,
        (false, _) => effort.repeats,
    };
    let folder = || std::env::current_dir().ok().filter(|_| !args.quick);
    Ok(Options {
        sets,
        extra,
        pmu: !args.no_pmu,
        repeats: args.repeat.unwrap_or(repeats),
        curves: args.footprint.then(|| Curves { folder: folder() }),
        course: args.run.course.on(args.cpus.as_ref()),
        mpi_rank: Some(rank()?),
        ..effort
    })
}

/// Repetitions of a quick run of which the curves take most of the time.
const FEW: u32 = 50;

/// Reads and writes by their payload, whose curves are measured where nothing else is asked for.
fn payloads(quick: bool) -> anyhow::Result<Vec<Request>> {
    let names: &[&str] = if quick {
        &["write(4096)", "write(65536)"]
    } else {
        &["read(4096)", "read(65536)", "write(4096)", "write(65536)"]
    };
    names.iter().map(|name| Ok(name.parse::<Request>()?)).collect()
}

/// How an MPI starts this program as one of its ranks.
pub fn rank() -> anyhow::Result<RankCommand> {
    Ok(RankCommand::this([super::mpi_rank::NAME])?)
}
