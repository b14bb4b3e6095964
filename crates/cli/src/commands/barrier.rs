//! `coho barrier`: how near barriers, fork and join come to what the machine allows.

use std::path::PathBuf;

use anyhow::{Context, bail};
use coho_probe::barrier::{self, Options};
use coho_probe::{host, stop};
use coho_profile::{Profile, Sync};

use crate::arguments::{Course, Teams, WrongUsage, check_folder};
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
    /// Print the profile's section as JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// Also write a profile
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.teams.threads.contains(&1) {
        return Err(
            WrongUsage::new("a barrier of one thread waits for nobody: give 2 or more to --threads").into()
        );
    }
    stop::on_signals().context("cannot catch Ctrl-C")?;
    args.output.as_deref().map_or(Ok(()), check_folder)?;
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
    if let Some(path) = &args.output {
        // Other sections of a profile that is there already stay, and the kernels of this one.
        Profile::update(path, |file| {
            file.host = Some(host);
            let kernels = file.sync.take().map(|earlier| earlier.kernels).unwrap_or_default();
            file.sync = Some(Sync { kernels, ..sync.clone() });
        })?;
    }
    terminal::print(args.json, &sync, terminal::barrier::write)?;
    if sync.barriers.iter().all(|barrier| barrier.ns.is_none()) && !sync.method.interrupted {
        bail!("no barrier was measured: it takes two CPUs, or --threads 2 on one");
    }
    Ok(())
}
