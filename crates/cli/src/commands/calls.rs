//! `coho calls`: what system, libc and MPI calls cost, and what they evict.

use std::path::Path;

use anyhow::{Context, bail};
use coho_probe::calls::mpi::RankCommand;
use coho_probe::calls::{self, Options, Request, Set};
use coho_probe::host;
use coho_profile::{Coherence, Host, Profile};

use crate::arguments::Course;
use crate::judge;
use crate::results::Results;
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sets of calls: syscalls, libc, mpi [default: all; none beside --call]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    set: Vec<Set>,
    /// Also measure this call, as in 'pread(4096)'; may be repeated
    #[arg(long, value_name = "CALL")]
    call: Vec<Request>,
    /// Measure by time alone, also where performance counters count
    #[arg(long)]
    no_pmu: bool,
    /// Repetitions of a warm figure [default: 1000; 200 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    repeat: Option<u32>,
    /// Measure on this CPU [default: the first that the process may use]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Fewer repetitions and working sets
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    args.results.prepare()?;
    let host = host::collect();
    // Read before anything is measured: a file that is no profile costs no time.
    let coherence = args.results.output().map(|path| coherence_of(path, &host)).transpose()?.flatten();
    let measured = calls::measure(&options(args)?, &mut progress::on_stderr())?;
    let mut profile = Profile { coherence, calls: Some(measured), ..Profile::default() };
    judge::calls(&mut profile);
    args.results.keep(host, |file| file.calls = profile.calls.clone())?;
    let calls = profile.calls.context("nothing was measured")?;
    args.results.print(&calls, terminal::calls::write)?;
    if calls.calls.is_empty() && !calls.conditions.interrupted {
        bail!("no call was measured; 'conditions.not_available' of --json says why");
    }
    Ok(())
}

fn options(args: &Args) -> anyhow::Result<Options> {
    let effort = if args.quick { Options::quick() } else { Options::default() };
    let sets = match (&args.set[..], &args.call[..]) {
        ([], []) => effort.sets.clone(),
        (sets, _) => sets.to_vec(),
    };
    Ok(Options {
        sets,
        extra: args.call.clone(),
        pmu: !args.no_pmu,
        repeats: args.repeat.unwrap_or(effort.repeats),
        cpu: args.cpu,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        mpi_rank: Some(rank()?),
        ..effort
    })
}

/// How an MPI starts this program as one of its ranks.
pub fn rank() -> anyhow::Result<RankCommand> {
    Ok(RankCommand::this([super::mpi_rank::NAME])?)
}

/// The coherence of an earlier profile, if it was measured on this machine.
fn coherence_of(path: &Path, host: &Host) -> anyhow::Result<Option<Coherence>> {
    if !path.exists() {
        return Ok(None);
    }
    let earlier = Profile::read(path)?;
    let same = earlier.host.is_some_and(|earlier| {
        (earlier.cpu, earlier.hypervisor) == (host.cpu.clone(), host.hypervisor.clone())
    });
    Ok(earlier.coherence.filter(|_| same))
}
