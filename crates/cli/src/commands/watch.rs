//! `coho watch`: whether the machine changed while a benchmark ran.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use coho_profile::{check_writable, write_atomic};
use coho_run::Output;
use coho_run::watch::{Wish, watch};
use coho_show::watched;
use coho_topology::CpuSet;

use super::run::{check_program, not_done};
use crate::arguments::{cpus, file_name};
use crate::printed::How;
use crate::results::Stopped;

const EXAMPLES: &str = examples![
    ("Did the machine change while a benchmark ran?", "coho watch -- ./bench"),
    ("Which of ten runs are comparable?", "coho watch --repeat 10 -- ./bench"),
    ("The answer as a file beside the benchmark's results", "coho watch -o watched.json -- ./bench"),
];

/// Run a benchmark, and say whether the machine changed meanwhile
///
/// In pauses before, between and after the runs, coho measures hand-overs of a line between neighbouring CPUs, the clock, and
/// loads from memory; the kernel says how much time the hypervisor took. While the benchmark runs, coho looks up to ten times
/// a second, which takes at most half a per cent of one CPU. A difference between the pauses is the machine's; a jump within a run may also be the
/// benchmark's own doing, and is told as such.
///
/// coho ends with the exit status of the last run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How often to run it; a run that fails is the last
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Look at these CPUs only (0-3,8); the benchmark may run on all
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuSet>,
    /// Do not look while the benchmark runs
    #[arg(long)]
    only_pauses: bool,
    /// Also write what was seen into this file, as JSON
    #[arg(short, long, value_name = "FILE", value_parser = file_name())]
    output: Option<PathBuf>,
    #[command(flatten)]
    how: How,
    /// The benchmark and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    check_program(&args.command)?;
    args.output.as_deref().map_or(Ok(()), check_writable)?;
    let wish = Wish {
        command: args.command.clone(),
        runs: args.repeat,
        cpus: args.cpus.clone(),
        meanwhile: !args.only_pauses,
        output: if args.how.json { Output::StandardError } else { Output::Inherited },
    };
    let (watched, signal) = match watch(&wish) {
        Ok(done) => done,
        Err(error) => return not_done(error),
    };
    if let Some(file) = &args.output {
        write_atomic(file, &serde_json::to_vec_pretty(&watched)?)?;
    }
    args.how.print(&watched, watched::parts)?;
    match signal {
        Some(signal) => Err(Stopped { signal }.into()),
        None => Ok(ExitCode::from(watched.command.status)),
    }
}
