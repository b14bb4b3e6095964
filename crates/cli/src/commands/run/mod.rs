//! `coho run`: runs a command where its placement says.

mod chosen;
mod omp;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use coho_probe::placement::{Busy, Placement, Room};
use coho_profile::Profile;
use coho_run::{Job, Signals};
use coho_topology::Topology;

use chosen::Chosen;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run: compact, spread, none, a level (smt, module, l2, l3, die, numa, package) or CPUs (0-3,8)
    #[arg(long, value_name = "PLACEMENT", default_value = "none")]
    place: Placement,
    /// Threads to make room for [default: one if compact, one on each core if spread, a level's all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Export OMP_PLACES and OMP_PROC_BIND, so that OpenMP binds its threads in the placement's order
    #[arg(long)]
    omp: bool,
    /// A profile of this machine, for what sharing costs
    #[arg(short, long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Say nothing
    #[arg(short, long)]
    quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The machine as a placement sees it.
struct Machine {
    topology: Topology,
    room: Room,
    profile: Option<Profile>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let profile = args.profile.as_deref().map(Profile::read).transpose()?;
    let topology = coho_topology::detect().context("cannot tell the topology")?;
    let room = Room::here(&topology)?;
    let machine = Machine { topology, room, profile };
    place(args, &machine)
}

/// Runs the command once.
fn place(args: &Args, machine: &Machine) -> anyhow::Result<ExitCode> {
    let chosen = Chosen::now(&args.place, args.threads, machine, Busy::look)?;
    if !args.quiet {
        eprintln!("coho: {}", chosen.line(machine));
    }
    let signals = Signals::hold().context("cannot hold signals for the command")?;
    let job = Job {
        command: args.command.clone(),
        cpus: chosen.mask(),
        environment: if args.omp { omp::environment(&chosen.choice.order) } else { Vec::new() },
        ..Job::default()
    };
    match job.start(&signals) {
        Ok(running) => Ok(ExitCode::from(running.wait(&signals)?.status.exit_status())),
        Err(failed) => {
            eprintln!("coho: {failed}");
            Ok(ExitCode::from(failed.exit_status()))
        }
    }
}
