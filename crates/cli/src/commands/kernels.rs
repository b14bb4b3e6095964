//! `coho kernels`: programs that live by barriers, under several of them.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::ValueEnum;
use coho_probe::kernels::{self, Options, Which};
use coho_probe::{host, stop};
use coho_profile::Profile;

use crate::arguments::{Course, Teams, check_folder};
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The program
    kernel: Kernel,
    #[command(flatten)]
    teams: Teams,
    /// Fewer sizes and passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    /// Print the kernel's part of the profile as JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// Also write a profile
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The programs.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kernel {
    /// A(i) = B(i) + s C(i), by loop length
    Daxpy,
    /// Natural convection by a spectral Galerkin method: many short parallel loops
    Galerkin,
    /// A shallow-water model: one parallel region, few barriers
    Weather,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    stop::on_signals().context("cannot catch Ctrl-C")?;
    args.output.as_deref().map_or(Ok(()), check_folder)?;
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot tell the topology")?;
    let which = match args.kernel {
        Kernel::Daxpy => Which::Daxpy,
        Kernel::Galerkin => Which::Galerkin,
        Kernel::Weather => Which::Weather,
    };
    let options = Options {
        cpus: args.teams.cpus(),
        threads: args.teams.threads.clone(),
        mappings: args.teams.mappings(),
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..Options::default()
    };
    let kernel = kernels::measure(which, &options, &topology, &mut progress::on_stderr())?;
    if let Some(path) = &args.output {
        // Other sections of a profile that is there already stay, and other kernels.
        Profile::update(path, |file| {
            file.host = Some(host);
            file.sync.get_or_insert_default().kernels.insert(which.name().into(), kernel.clone());
        })?;
    }
    terminal::print(args.json, &kernel, terminal::kernels::write)?;
    if kernel.points.is_empty() && !kernel.method.interrupted {
        bail!("nothing was measured; 'method.not_available' of --json says why");
    }
    Ok(())
}
