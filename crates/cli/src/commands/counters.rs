//! `coho counters`: what reading a performance counter costs, and which events may be used.

use std::path::PathBuf;

use anyhow::Context;
use coho_probe::counters::{self, Options};
use coho_probe::{host, stop};
use coho_profile::Profile;

use crate::arguments::{Course, check_folder};
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure on this CPU [default: the first that the process may use]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Fewer repetitions
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    /// Print the profile's section as JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// Also write a profile
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    stop::on_signals().context("cannot catch Ctrl-C")?;
    args.output.as_deref().map_or(Ok(()), check_folder)?;
    let host = host::collect();
    let options = Options {
        cpu: args.cpu,
        quick: args.quick,
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
    };
    let measured = counters::measure(&options, &mut progress::on_stderr())?;
    if let Some(path) = &args.output {
        // Other sections of a profile that is there already stay.
        Profile::update(path, |file| {
            file.host = Some(host);
            file.counters = Some(measured.clone());
        })?;
    }
    terminal::print(args.json, &measured, terminal::counters::write)
}
