//! `coho loaded`: latency of one CPU's loads while others move data.

use coho_platform::CpuSet;
use coho_probe::memory::loaded::Options;
use coho_profile::Traffic;
use coho_show::sections;

use crate::arguments::{self, named, offering};
use crate::results::Run;

const EXAMPLES: &str = examples![(
    "How far reads and non-temporal stores load the way to memory before a load waits",
    "coho loaded --traffic read,non-temporal",
)];

/// Measure what a load takes while other CPUs move data, by how much they move
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Use these CPUs only (0-3,8): the first of each NUMA node reads, all others move data
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Only these kinds of traffic: read, three-to-one, two-to-one, one-to-one, non-temporal [default: all]
    ///
    /// A ratio is of lines read to lines written: a store reads its line and writes it back, unless it is non-temporal.
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(traffic, Traffic::ALL.map(Traffic::name)))]
    traffic: Vec<Traffic>,
    /// Fewer pauses and passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    run: Run,
}

fn traffic(name: &str) -> Result<Traffic, String> {
    named(&Traffic::ALL, name)
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let usual = Options::default();
    let options = Options {
        traffic: if args.traffic.is_empty() { usual.traffic } else { args.traffic.clone() },
        quick: args.quick,
        course: args.run.course.on(args.cpus.as_ref()),
    };
    let nothing = "nothing was measured: 'not_available' says why";
    args.run.results.run(&options, sections::loaded::section, nothing)
}
