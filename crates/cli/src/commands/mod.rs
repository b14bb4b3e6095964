//! A module for each command: its arguments, with its description and examples, and what it does.

use std::convert::identity;
use std::process::{ExitCode, Termination};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, FromArgMatches};

use coho_show::render::terminal::wrapped;

/// The end of a command's help: each example's purpose, and the command.
macro_rules! examples {
    ($(($purpose:literal, $command:literal $(,)?)),+ $(,)?) => {
        concat!("Examples:" $(, "\n  ", $purpose, ":\n    ", $command)+)
    };
}

mod barrier;
mod bench;
mod calls;
mod card;
mod check;
mod coherence;
mod compare;
mod completions;
mod contention;
mod counters;
mod doctor;
mod figures;
mod findings;
mod fleet;
mod fleet_learn;
mod fleet_report;
mod idle;
mod kernels;
mod loaded;
mod man;
mod memory;
pub mod mpi_rank;
mod papers;
mod path;
mod predict;
mod predict_barrier;
mod predict_delegate;
mod predict_openmp;
mod predict_placement;
mod report;
mod run;
mod schema;
mod share;
mod survey;
mod topology;
mod watch;

/// The one list of commands, by the question that they answer. Each is a module, and the doc comment of its `Args` is its
/// description.
macro_rules! commands {
    ($($question:literal: [$($module:ident,)+])+) => {
        /// A command with its arguments.
        #[allow(non_camel_case_types, reason = "commands and their modules have the same names")]
        #[derive(Debug)]
        pub enum Command {
            $($($module($module::Args),)+)+
        }

        impl Command {
            /// The commands that answer a question, by their modules' names.
            const QUESTIONS: &[(&str, &[&str])] = &[$(($question, &[$(stringify!($module)),+]),)+];

            /// Runs it. A command that runs another one ends with that one's exit status.
            pub fn run(&self) -> anyhow::Result<ExitCode> {
                match self {
                    $($(Self::$module(args) => $module::run(args).map(Termination::report),)+)+
                }
            }

            /// A command of ours with its arguments, which parsing adds once they are needed.
            pub fn described(command: clap::Command) -> clap::Command {
                let command = command.defer(identity);
                $($(if command.get_name() == name(stringify!($module)) {
                    return $module::Args::augment_args(command);
                })+)+
                command
            }
        }

        // By hand, as clap's derive would describe every argument of every command at each start.
        impl clap::Subcommand for Command {
            fn augment_subcommands(all: clap::Command) -> clap::Command {
                // One by one: an array of all would touch 17 pages of the stack at each start.
                const ALL: &[(&str, fn(clap::Command) -> clap::Command)] =
                    &[$($((stringify!($module), $module::Args::augment_args),)+)+];
                let each = ALL.iter().map(|(module, describe)| clap::Command::new(name(module)).defer(*describe));
                all.subcommand_required(true).arg_required_else_help(true).subcommands(each)
            }

            fn augment_subcommands_for_update(all: clap::Command) -> clap::Command {
                Self::augment_subcommands(all)
            }

            fn has_subcommand(word: &str) -> bool {
                [$($(stringify!($module),)+)+].into_iter().any(|module| name(module) == word)
            }
        }

        impl FromArgMatches for Command {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                let (word, args) = matches
                    .subcommand()
                    .ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
                $($(if word == name(stringify!($module)) {
                    return $module::Args::from_arg_matches(args).map(Self::$module);
                })+)+
                Err(clap::Error::new(ErrorKind::InvalidSubcommand))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                Self::from_arg_matches(matches).map(|command| *self = command)
            }
        }
    };
}

/// The word that runs a module's command.
fn name(module: &str) -> String {
    module.replace('_', "-")
}

impl Command {
    /// The commands of `all`, grouped by question.
    pub fn by_question(all: &clap::Command) -> String {
        let mut list = String::new();
        for (question, modules) in Self::QUESTIONS {
            let commands = modules.iter().filter_map(|module| all.find_subcommand(name(module)));
            let mut shown = commands.filter(|command| !command.is_hide_set()).peekable();
            if shown.peek().is_some() {
                list += &format!(" {question}\n");
            }
            for command in shown {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                list += &wrapped(&format!("  {:<13}", command.get_name()), &about);
                list.push('\n');
            }
        }
        list
    }
}

// In the order of the help.
commands! {
    "What is my machine like?": [
        survey,
        findings,
        doctor,
        topology,
        coherence,
        contention,
        counters,
        calls,
        barrier,
        memory,
        loaded,
        idle,
        bench,
        kernels,
    ]
    "What about my program?": [
        run,
        share,
        watch,
        predict,
        path,
    ]
    "How do machines compare?": [
        compare,
        report,
        card,
        figures,
    ]
    "What about my fleet?": [
        fleet,
        check,
    ]
    "What did the papers find?": [
        papers,
    ]
    "For scripts and shells": [
        schema,
        completions,
        man,
    ]
    "For coho itself": [
        mpi_rank,
    ]
}
