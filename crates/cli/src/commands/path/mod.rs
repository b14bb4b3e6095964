//! `coho path`: what a transfer costs, stage by stage.

mod check;
mod fit;
mod list;
mod show;

use clap::Subcommand;

const EXAMPLES: &str = examples![
    ("The paths that come with coho", "coho path list"),
    ("A message through shared memory, by this machine's figures", "coho path shared-memory -p mine.json"),
];

/// Predict what a transfer costs, stage by stage
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    show: Option<show::Args>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the paths that come with coho
    List(list::Args),
    /// Fit a stage's fixed cost and rate to measured sizes and times
    Fit(fit::Args),
    /// Compare predictions with measured messages between two processes
    Check(check::Args),
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match (&args.what, &args.show) {
        (Some(What::List(args)), _) => list::run(args),
        (Some(What::Fit(args)), _) => fit::run(args),
        (Some(What::Check(args)), _) => check::run(args),
        (None, Some(args)) => show::run(args),
        (None, None) => unreachable!("clap asks for a path or a command"),
    }
}
