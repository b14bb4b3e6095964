//! `coho contention`: what it costs CPUs to work on one cache line at once.

use coho_probe::contention::Options;
use coho_profile::LineOperation;
use coho_show::sections;

use crate::arguments::{Teams, named, offering};
use crate::results::Run;

const EXAMPLES: &str = examples![(
    "Atomic additions by 1, 2 and 4 CPUs at once on one line",
    "coho contention --operations add --threads 1,2,4",
)];

/// Measure what CPUs cost each other when all use one cache line
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    teams: Teams,
    /// Measure only these: add, compare-and-swap, exchange, store, store-one-word, one-writer [default: all]
    ///
    /// False sharing is store, by which each CPU stores to a word of its own on the line, and one-writer, by which one CPU
    /// does and the others load words that nobody writes. With store-one-word, all store to the same word.
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(operation, LineOperation::ALL.map(LineOperation::name)))]
    operations: Vec<LineOperation>,
    /// Fewer passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    run: Run,
}

fn operation(name: &str) -> Result<LineOperation, String> {
    named(&LineOperation::ALL, name)
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let usual = Options::default();
    let options = Options {
        threads: args.teams.threads.clone(),
        operations: if args.operations.is_empty() { usual.operations } else { args.operations.clone() },
        mappings: args.teams.mappings(),
        quick: args.quick,
        course: args.run.course.on(args.teams.cpus.as_ref()),
    };
    let nothing = "nothing was measured: each row has its reason in 'not_available'";
    args.run.results.run(&options, sections::contention::section, nothing)
}
