//! The commands by name.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use coho_show::say;
use coho_show::visible::on_one_line;

use crate::{commands, examples};

/// What does it cost cores to share? Measure it, predict from it, act on it.
#[derive(Debug, Parser)]
#[command(name = "coho", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run all quick experiments, and write a profile and a report
    Survey(commands::survey::Args),
    /// Print what a profile means, when it holds, and what to do
    Findings(commands::findings::Args),
    /// Show the topology that a machine or its description claims
    Topology(commands::topology::Args),
    /// Predict from measured or published figures
    Predict(commands::predict::Args),
    /// Measure what it costs CPUs to share a cache line
    Coherence(commands::coherence::Args),
    /// Measure what CPUs cost each other when all use one cache line
    Contention(commands::contention::Args),
    /// Measure what reading a counter costs, and which events work
    Counters(commands::counters::Args),
    /// Measure what system, libc and MPI calls cost, and what they evict
    ///
    /// If the profile that -o names has a coherence section, coho takes the cost of a message to another core from
    /// there.
    Calls(commands::calls::Args),
    /// Measure barriers, fork and join against the machine's limit
    Barrier(commands::barrier::Args),
    /// Run barrier-bound programs: DAXPY, Galerkin, shallow water
    Kernels(commands::kernels::Args),
    /// Run UnixBench's tests and a build under placements
    Bench(commands::bench::Args),
    /// Predict what a transfer costs, stage by stage
    Path(commands::path::Args),
    /// Show idle states and wake-up times, or limit them for a command
    Idle(commands::idle::Args),
    /// Run a command with chosen CPUs, coho's OpenMP or delegated calls
    Run(commands::run::Args),
    /// Measure how fast data moves, by instruction, memory type and size
    Memory(commands::memory::Args),
    /// Turn profiles into a page, charts or tables
    Report(commands::report::Args),
    /// Compare a profile with another or with published figures
    Compare(commands::compare::Args),
    /// Print the JSON Schema of profiles
    Schema(commands::schema::Args),
    /// Print completions for a shell
    Completions(commands::completions::Args),
    /// Print the manual page of coho or of a command
    Man(commands::man::Args),
    /// Measure MPI's functions as one of its ranks
    #[command(name = commands::mpi_rank::NAME, hide = true)]
    MpiRank(commands::mpi_rank::Args),
}

impl Cli {
    /// Reads the command line, or returns the exit status where that is all, as for help or wrong usage.
    ///
    /// # Errors
    /// The exit status.
    pub fn read() -> Result<Self, ExitCode> {
        Self::parse_words(std::env::args_os()).map_err(|error| {
            // clap quotes the arguments in its message, so it gets harmless ones.
            let shown = std::env::args_os().map(|one| on_one_line(&one.to_string_lossy()).into());
            let error = Self::parse_words(shown).err().unwrap_or(error);
            let code = ExitCode::from(error.exit_code() as u8);
            if error.use_stderr() {
                // One prefix for all errors, wherever they arise.
                let message = error.render().to_string();
                let message = message.strip_prefix("error: ").unwrap_or(&message);
                let _ = write!(std::io::stderr().lock(), "coho: {message}");
                return code;
            }
            match error.print() {
                Err(failed) if failed.kind() != ErrorKind::BrokenPipe => {
                    say!("coho: {failed}");
                    ExitCode::FAILURE
                }
                _ => code,
            }
        })
    }

    /// Parses words as a command line.
    ///
    /// # Errors
    /// If the words are not a valid command line, or ask for help or the version.
    pub fn parse_words(words: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::whole();
        let matches = command.try_get_matches_from_mut(words)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// The command with all its subcommands, and examples in their help.
    pub fn whole() -> clap::Command {
        let mut command = examples::added(Self::command(), "");
        command.build();
        command
    }

    /// Runs the requested command; commands that run another one end with its exit status.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        match &self.command {
            Command::Survey(args) => commands::survey::run(args),
            Command::Findings(args) => commands::findings::run(args),
            Command::Topology(args) => commands::topology::run(args),
            Command::Predict(args) => commands::predict::run(args),
            Command::Coherence(args) => commands::coherence::run(args),
            Command::Contention(args) => commands::contention::run(args),
            Command::Counters(args) => commands::counters::run(args),
            Command::Calls(args) => commands::calls::run(args),
            Command::Barrier(args) => commands::barrier::run(args),
            Command::Kernels(args) => commands::kernels::run(args),
            Command::Bench(args) => commands::bench::run(args),
            Command::Path(args) => commands::path::run(args),
            Command::Idle(args) => return commands::idle::run(args),
            Command::Run(args) => return commands::run::run(args),
            Command::Memory(args) => commands::memory::run(args),
            Command::Report(args) => commands::report::run(args),
            Command::Compare(args) => commands::compare::run(args),
            Command::Schema(args) => commands::schema::run(args),
            Command::Completions(args) => commands::completions::run(args),
            Command::Man(args) => commands::man::run(args),
            Command::MpiRank(args) => commands::mpi_rank::run(args),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}
