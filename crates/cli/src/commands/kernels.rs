//! `coho kernels`: programs that live by barriers, under several of them.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::ValueEnum;
use coho_probe::kernels::{self, Options, Which};
use coho_probe::{host, stop};
use coho_profile::Profile;
use coho_sync::Mapping;
use coho_topology::CpuSet;

use crate::arguments::{self, Course, check_folder, mapping};
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The program
    kernel: Kernel,
    /// Run on these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Numbers of threads, beside one [default: powers of two and all CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    threads: Vec<u32>,
    /// Which CPUs the ranks take: sequential, binary-tree [default: both]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mapping)]
    mapping: Vec<Mapping>,
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
    let default = Options::default();
    let options = Options {
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        threads: args.threads.clone(),
        mappings: if args.mapping.is_empty() { default.mappings.clone() } else { args.mapping.clone() },
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..default
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
