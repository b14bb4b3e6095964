//! A module for each command: its arguments, with its description and examples, and what it does.

use std::process::{ExitCode, Termination};

/// The end of a command's help: each example's purpose, and the command.
macro_rules! examples {
    ($(($purpose:literal, $command:literal $(,)?)),+ $(,)?) => {
        concat!("Examples:" $(, "\n  ", $purpose, ":\n    ", $command)+)
    };
}

mod barrier;
mod bench;
mod calls;
mod coherence;
mod compare;
mod completions;
mod contention;
mod counters;
mod findings;
mod idle;
mod kernels;
mod man;
mod memory;
mod mpi_rank;
mod path;
mod predict;
mod predict_barrier;
mod predict_delegate;
mod predict_openmp;
mod predict_placement;
mod report;
mod run;
mod schema;
mod survey;
mod topology;

/// The one list of commands: a module each, which says by its `Args` what the help shows.
macro_rules! commands {
    ($($module:ident,)+) => {
        /// A command with its arguments.
        #[allow(non_camel_case_types, reason = "commands and their modules have the same names")]
        #[derive(Debug, clap::Subcommand)]
        pub enum Command {
            $($module($module::Args),)+
        }

        impl Command {
            /// Runs it. A command that runs another one ends with that one's exit status.
            pub fn run(&self) -> anyhow::Result<ExitCode> {
                match self {
                    $(Self::$module(args) => $module::run(args).map(Termination::report),)+
                }
            }
        }
    };
}

// In the order of the help.
commands! {
    survey,
    findings,
    topology,
    predict,
    coherence,
    contention,
    counters,
    calls,
    barrier,
    kernels,
    bench,
    path,
    idle,
    run,
    memory,
    report,
    compare,
    schema,
    completions,
    man,
    mpi_rank,
}
