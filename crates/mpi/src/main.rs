//! `coho-mpi`: what is measured by all ranks of an MPI job together. Its launcher is the cluster's own.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod barrier;
mod job;
mod network;
mod packed;
mod survey;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use coho_probe::mpi::{Library, done};

use job::{Job, Refused, check_version};

/// Survey the nodes of an MPI job, and measure what its ranks cost each other
#[derive(Debug, Parser)]
#[command(
    name = "coho-mpi",
    version,
    after_help = "Start it by the launcher of your MPI: mpiexec -n 2 coho-mpi barrier"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure coho's barrier beside MPI_Barrier, among all ranks, by turns
    Barrier {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// About how long to measure at most, such as 10s
        #[arg(long, value_name = "TIME", default_value = "3s", value_parser = humantime::parse_duration)]
        time_limit: Duration,
    },
    /// Survey every node of the job, and write a profile of each
    Survey(survey::Args),
    #[command(name = survey::node::COMMAND, hide = true)]
    SurveyNode(survey::node::Args),
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    if let Command::SurveyNode(args) = &command {
        return survey::node::run(args).map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS);
    }
    let library = match packed::start() {
        Ok(library) => library,
        Err(error) => return failed(&error),
    };
    match by_all_ranks(&library, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Refused>() => {
            let status = if library.rank == 0 { failed(&error) } else { ExitCode::FAILURE };
            // All ranks end here, so that MPI can end as well.
            let _ = library.end();
            status
        }
        Err(error) => {
            let status = failed(&error.context(format!("rank {}", library.rank)));
            // Ranks that wait for this one would wait for ever.
            library.abort(1);
            status
        }
    }
}

fn by_all_ranks(library: &Library, command: Command) -> Result<()> {
    check_version(library)?;
    match command {
        Command::Barrier { json, time_limit } => measure_barrier(library, json, time_limit)?,
        Command::Survey(args) => survey::run(&Job::begin(library, 0)?, &args)?,
        Command::SurveyNode(_) => unreachable!("it needs no MPI"),
    }
    Ok(done(library.end())?)
}

fn measure_barrier(library: &Library, json: bool, time_limit: Duration) -> Result<()> {
    if library.ranks < 2 {
        bail!("a barrier takes two ranks or more: start it by `mpiexec -n 2`");
    }
    let job = Job::begin(library, barrier::PASSES)?;
    if let Some(found) = barrier::measure(&job, time_limit)? {
        let text = if json { serde_json::to_string_pretty(&found)? + "\n" } else { found.words() };
        std::io::stdout().write_all(text.as_bytes())?;
    }
    Ok(())
}

fn failed(error: &anyhow::Error) -> ExitCode {
    say(&format!("{error:#}"));
    ExitCode::FAILURE
}

/// Says something to people, which scripts need not read.
#[expect(clippy::print_stderr, reason = "the one place that does")]
fn say(text: &str) {
    // Names of hosts and files are others' words.
    let shown: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    eprintln!("coho-mpi: {shown}");
}
