//! `coho counters`: what reading a performance counter costs, and which events may be used.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use coho_probe::counters::{self, Options};
use coho_probe::{host, stop};
use coho_profile::Profile;

use crate::arguments::{check_folder, duration};
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure on this CPU [default: the first that the process may use]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Fewer repetitions
    #[arg(long)]
    quick: bool,
    /// Stop after this time and keep what is done
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    time_limit: Option<Duration>,
    /// Seed of the random order, to repeat one
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
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
        time_limit: args.time_limit,
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..)),
    };
    let measured = counters::measure(&options, &mut progress::on_stderr())?;
    if let Some(path) = &args.output {
        // Other sections of a profile that is there already stay.
        Profile::update(path, |file| {
            file.host = Some(host);
            file.counters = Some(measured.clone());
        })?;
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&measured)?)?;
    } else {
        terminal::counters::write(&mut out, &measured)?;
    }
    Ok(())
}
