//! `coho barrier`: how near barriers, fork and join come to what the machine allows.

use anyhow::{Context, bail};
use coho_probe::barrier::{self, Options};
use coho_probe::host;
use coho_profile::Sync;

use crate::arguments::{Course, Teams, WrongUsage};
use crate::results::Results;
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    teams: Teams,
    /// Also measure other libraries: the C library's and Rust's barriers, hurdles, and OpenMP by gcc and clang
    #[arg(long)]
    peers: bool,
    /// Fewer passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.teams.threads.contains(&1) {
        return Err(
            WrongUsage::new("a barrier of one thread waits for nobody: give 2 or more to --threads").into()
        );
    }
    args.results.prepare()?;
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot tell the topology")?;
    let options = Options {
        cpus: args.teams.cpus(),
        threads: args.teams.threads.clone(),
        mappings: args.teams.mappings(),
        peers: args.peers,
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..Options::default()
    };
    let sync = barrier::measure(&options, &topology, &mut progress::on_stderr())?;
    args.results.keep(host, |profile| {
        // The kernels that it holds stay too.
        let kernels = profile.sync.take().map(|earlier| earlier.kernels).unwrap_or_default();
        profile.sync = Some(Sync { kernels, ..sync.clone() });
    })?;
    args.results.print(&sync, terminal::barrier::write)?;
    if sync.barriers.iter().all(|barrier| barrier.ns.is_none()) && !sync.method.interrupted {
        bail!("no barrier was measured: it takes two CPUs, or --threads 2 on one");
    }
    Ok(())
}
