//! `coho contention`: what it costs CPUs to work on one cache line at once.

use anyhow::{Context, bail};
use coho_probe::contention::{self, Options};
use coho_probe::host;
use coho_profile::{LineOperation, Profile};
use coho_show::sections;

use crate::arguments::{Course, Teams, named, offering};
use crate::progress;
use crate::results::Results;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    teams: Teams,
    /// Measure only these: add, compare-and-swap, exchange, store, store-one-word [default: all]
    ///
    /// With store, each CPU stores to a word of its own on the line.
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(operation, LineOperation::ALL.map(LineOperation::name)))]
    operations: Vec<LineOperation>,
    /// Fewer passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

fn operation(name: &str) -> Result<LineOperation, String> {
    named(&LineOperation::ALL, name)
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    args.results.file.prepare()?;
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let usual = Options::default();
    let options = Options {
        cpus: args.teams.cpus(),
        threads: args.teams.threads.clone(),
        operations: if args.operations.is_empty() { usual.operations } else { args.operations.clone() },
        mappings: args.teams.mappings(),
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
    };
    let contention = contention::measure(&options, &topology, &mut progress::on_stderr())?;
    let is_empty = contention.rows.iter().all(|row| row.ns.is_none()) && !contention.method.interrupted;
    args.results.file.keep(
        "contention",
        Some(host),
        |profile| profile.contention.is_some(),
        |profile| {
            profile.topology = Some(topology.into());
            profile.contention = Some(contention.clone());
        },
    )?;
    let profile = Profile { contention: Some(contention), ..Profile::default() };
    args.results.show(profile, |profile| profile.contention, sections::contention::section)?;
    if is_empty {
        bail!("nothing was measured: each row has its reason in 'not_available'");
    }
    Ok(())
}
