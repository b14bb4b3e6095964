//! `coho-mpi`: what is measured by all ranks of an MPI job together. Its launcher is the cluster's own.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod barrier;
mod job;
mod packed;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use coho_probe::mpi::{Library, done};

use job::Job;

/// Measure what the ranks of an MPI job cost each other
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
}

fn main() -> ExitCode {
    let Command::Barrier { json, time_limit } = Cli::parse().command;
    let library = match packed::start() {
        Ok(library) => library,
        Err(error) => return failed(&error),
    };
    match measure_barrier(&library, json, time_limit) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let status = failed(&error.context(format!("rank {}", library.rank)));
            // Ranks that wait for this one would wait for ever.
            library.abort(1);
            status
        }
    }
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
    Ok(done(library.end())?)
}

#[expect(clippy::print_stderr, reason = "the one place that says what failed")]
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("coho-mpi: {error:#}");
    ExitCode::FAILURE
}
