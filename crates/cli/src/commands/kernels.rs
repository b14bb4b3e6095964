//! `coho kernels`: programs that depend on barriers, under several of them.

use anyhow::{Context, bail};
use clap::ValueEnum;
use coho_probe::host;
use coho_probe::kernels::{self, Options, Which};
use coho_show::sections;

use crate::arguments::{Course, Teams};
use crate::progress;
use crate::results::Results;

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
    #[command(flatten)]
    results: Results,
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
    args.results.file.prepare()?;
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot detect the topology")?;
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
    args.results.file.keep(
        which.name(),
        Some(host),
        |profile| profile.sync.as_ref().is_some_and(|sync| sync.kernels.contains_key(which.name())),
        |profile| {
            profile.topology = Some(topology.into());
            profile.sync.get_or_insert_default().kernels.insert(which.name().into(), kernel.clone());
        },
    )?;
    args.results.how.print(&kernel, |kernel| sections::programs::parts(which.name(), kernel))?;
    if kernel.points.is_empty() && !kernel.method.interrupted {
        bail!("nothing was measured; 'method.not_available' of --json says why");
    }
    Ok(())
}
