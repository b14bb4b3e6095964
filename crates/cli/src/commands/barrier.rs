//! `coho barrier`: how close barriers, fork and join come to the machine's limit.

use std::time::Duration;

use coho_platform::pin;
use coho_probe::barrier::Options;
use coho_probe::barrier::waiting::{self, WaitingOptions};
use coho_show::sections;
use coho_sync::Algorithm;

use crate::arguments::{Course, Teams, WrongUsage, duration, offering};
use crate::progress;
use crate::results::Results;

const EXAMPLES: &str = examples![
    ("Every barrier beside its limit, and beside other libraries", "coho barrier --peers"),
    ("Two threads, two barriers", "coho barrier --threads 2 --method fbs,fbs-one-line"),
];

/// Measure barriers, fork and join against the machine's limit
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    teams: Teams,
    /// Measure only these: fbs, fbs-one-line, lock, spin-lock, central, dissemination-N, tournament-N, grid,
    /// hierarchical, auto [default: all, with dissemination-2, tournament-2 and -4]
    ///
    /// auto is the barrier that coho would choose.
    #[arg(long = "method", alias = "algorithms", value_name = "LIST", value_delimiter = ',',
          hide_possible_values = true, value_parser = offering(str::parse::<Algorithm>, Algorithm::ALL.map(Algorithm::name)))]
    algorithms: Vec<Algorithm>,
    /// Also measure the barriers of the C library, Rust and hurdles, and OpenMP by gcc and clang
    #[arg(long)]
    peers: bool,
    /// Fewer passes
    #[arg(long)]
    quick: bool,
    /// Time of a burst of barriers; 30ms shows what other users of the CPUs cost [default: 30us]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    burst: Option<Duration>,
    /// Instead measure how barriers wait when CPUs are scarce
    ///
    /// Each barrier is compared with the C library's, for up to 200 threads: each on its own CPU, all on one, or
    /// free, beside a busy neighbour or under this process's quota.
    #[arg(long, conflicts_with_all = ["cpus", "mapping", "peers", "burst", "output"])]
    waiting: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.teams.threads.contains(&1) {
        return Err(WrongUsage::new("a barrier needs at least 2 threads: give --threads 2 or more").into());
    }
    let Args { teams, algorithms, quick, results, .. } = args;
    if args.waiting {
        return waiting(args);
    }
    let usual = Options::default();
    let options = Options {
        threads: teams.threads.clone(),
        algorithms: if algorithms.is_empty() { usual.algorithms } else { algorithms.clone() },
        mappings: teams.mappings(),
        peers: args.peers,
        burst: args.burst.unwrap_or(usual.burst),
        quick: *quick,
        course: args.course.on(teams.cpus.as_ref()),
    };
    let nothing = "no barrier was measured: it needs two CPUs, or --threads 2 on one";
    results.run(&options, sections::barriers::section, &format!("{nothing}{}", pin::way_round()))
}

fn waiting(args: &Args) -> anyhow::Result<()> {
    let begun = args.results.file.begin()?;
    let options = WaitingOptions {
        threads: args.teams.threads.clone(),
        algorithms: args.algorithms.clone(),
        quick: args.quick,
        course: args.course.on(None),
    };
    let waiting = waiting::measure(&options, &begun.topology, &mut progress::on_stderr())?;
    args.results.file.say_old("waiting", false);
    args.results.how.print(&waiting, sections::waiting::parts)
}
