//! `coho barrier`: how close barriers, fork and join come to the machine's limit.

use std::time::Duration;

use anyhow::{Context, bail};
use coho_probe::barrier;
use coho_probe::barrier::waiting::WaitingOptions;
use coho_probe::host;
use coho_profile::{Profile, Sync};
use coho_show::sections;
use coho_sync::Algorithm;

use crate::arguments::{Course, Teams, WrongUsage, duration, offering};
use crate::progress;
use crate::results::Results;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    teams: Teams,
    /// Measure only these: fbs, fbs-one-line, lock, spin-lock, central, dissemination-N, tournament-N, grid,
    /// hierarchical, auto [default: all, with dissemination-2, tournament-2 and -4]
    ///
    /// auto is the barrier that coho would choose.
    #[arg(long = "method", alias = "algorithms", value_name = "LIST", value_delimiter = ',',
          hide_possible_values = true, value_parser = offering(str::parse::<Algorithm>, Algorithm::ALL.map(Algorithm::name)))]
    algorithms: Vec<Algorithm>,
    /// Also measure the barriers of the C library, Rust and hurdles, and OpenMP by gcc and clang
    #[arg(long)]
    peers: bool,
    /// Fewer passes
    #[arg(long)]
    quick: bool,
    /// Time of a burst of barriers; 30ms shows what other users of the CPUs cost [default: 30us]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    burst: Option<Duration>,
    /// Instead measure how barriers wait when CPUs are scarce
    ///
    /// Each barrier is compared with the C library's, for up to 200 threads: each on its own CPU, all on one, or
    /// free, beside a busy neighbour or under this process's quota.
    #[arg(long, conflicts_with_all = ["cpus", "mapping", "peers", "burst", "output"])]
    waiting: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.teams.threads.contains(&1) {
        return Err(WrongUsage::new("a barrier needs at least 2 threads: give --threads 2 or more").into());
    }
    args.results.file.prepare()?;
    if args.waiting {
        return waiting(args);
    }
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let usual = barrier::Options::default();
    let options = barrier::Options {
        cpus: args.teams.cpus(),
        threads: args.teams.threads.clone(),
        algorithms: if args.algorithms.is_empty() { usual.algorithms } else { args.algorithms.clone() },
        mappings: args.teams.mappings(),
        peers: args.peers,
        burst: args.burst.unwrap_or(usual.burst),
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
    };
    let sync = barrier::measure(&options, &topology, &mut progress::on_stderr())?;
    args.results.file.keep(
        "barriers",
        Some(host),
        |profile| profile.sync.as_ref().is_some_and(|sync| !sync.barriers.is_empty()),
        |profile| {
            profile.topology = Some(topology.into());
            // The section's kernels stay too.
            let kernels = profile.sync.take().map(|earlier| earlier.kernels).unwrap_or_default();
            profile.sync = Some(Sync { kernels, ..sync.clone() });
        },
    )?;
    let is_empty = sync.barriers.iter().all(|barrier| barrier.ns.is_none()) && !sync.method.interrupted;
    let profile = Profile { sync: Some(sync), ..Profile::default() };
    args.results.show(profile, |profile| profile.sync, sections::barriers::section)?;
    if is_empty {
        bail!("no barrier was measured: it needs two CPUs, or --threads 2 on one");
    }
    Ok(())
}

fn waiting(args: &Args) -> anyhow::Result<()> {
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let options = WaitingOptions {
        threads: args.teams.threads.clone(),
        algorithms: args.algorithms.clone(),
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
    };
    let waiting = barrier::waiting::measure(&options, &topology, &mut progress::on_stderr())?;
    args.results.file.keep("waiting", None, |_| false, |_| ())?;
    args.results.how.print(&waiting, sections::waiting::parts)
}
