//! `coho fleet`: many machines' profiles as one table, and what is odd among them.

use clap::Subcommand;

/// Ask one question of many machines' profiles
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Which machines differ, and in what: tables, metrics and a page
    Report(super::fleet_report::Args),
    /// What is usual among machines, for `coho check`
    Learn(super::fleet_learn::Args),
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.what {
        What::Report(args) => super::fleet_report::run(args),
        What::Learn(args) => super::fleet_learn::run(args),
    }
}
