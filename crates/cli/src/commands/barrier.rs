//! `coho barrier`: how near barriers, fork and join come to what the machine allows.

use std::path::PathBuf;

use anyhow::{Context, bail};
use coho_probe::barrier::{self, Options};
use coho_probe::{host, stop};
use coho_profile::{Profile, Sync};
use coho_sync::{MAX_THREADS, Mapping};
use coho_topology::CpuSet;

use crate::arguments::{self, Course, check_folder, mapping};
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure on these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Numbers of threads [default: powers of two and all CPUs]; more than there are CPUs share them
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(2..=MAX_THREADS as i64))]
    threads: Vec<u32>,
    /// Which CPUs the ranks take: sequential, binary-tree [default: both]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mapping)]
    mapping: Vec<Mapping>,
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
    stop::on_signals().context("cannot catch Ctrl-C")?;
    args.output.as_deref().map_or(Ok(()), check_folder)?;
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot tell the topology")?;
    let default = Options::default();
    let options = Options {
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        threads: args.threads.clone(),
        mappings: if args.mapping.is_empty() { default.mappings.clone() } else { args.mapping.clone() },
        peers: args.peers,
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..default
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
