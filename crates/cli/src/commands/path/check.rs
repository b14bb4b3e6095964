//! `coho path check`: what paths predict beside messages between two processes here.

use anyhow::{Context, bail};
use coho_model::path::{self, Check, VALIDITY, ready};
use coho_probe::host;
use coho_probe::memory::{self, Options, Part};
use coho_profile::Memory;
use coho_topology::CpuSet;
use serde_json::{Value, json};

use super::show::{missing, one};
use crate::arguments::{self, Course, named};
use crate::results::File;
use crate::terminal::{self, progress};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which paths: shared-memory, tcp-loopback [default: both]
    #[arg(value_name = "NAME", value_parser = |name: &str| named(&path::CHECKED, name))]
    paths: Vec<&'static str>,
    /// Predict from this machine's profile: its copies, flags and calls
    #[arg(long, value_name = "PROFILE")]
    profile: String,
    /// Processes on the first of these CPUs and its nearest neighbour among them
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Fewer passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: File,
}

/// What is told of a check.
pub struct Checked {
    pub checks: Vec<Check>,
    pub memory: Memory,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    args.file.prepare()?;
    let profile = one(&args.profile)?;
    let paths = if args.paths.is_empty() { path::CHECKED.to_vec() } else { args.paths.clone() };
    // What is missing is told before anything is measured.
    let mut lacking = Vec::new();
    for name in &paths {
        lacking.extend(ready::file(name)?.lacking(Some(&profile)));
    }
    missing(lacking)?;
    let options = Options {
        parts: vec![Part::Transfers],
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        quick: args.quick,
        ..Options::default()
    };
    let topology = coho_topology::detect().context("cannot tell the topology")?;
    let mut memory = memory::measure(&options, &topology, &mut progress::on_stderr())?;
    memory.transfers.retain(|transfer| paths.contains(&transfer.path.as_str()));
    args.file.keep(
        "transfers",
        Some(host::collect()),
        |profile| profile.memory.as_ref().is_some_and(|memory| !memory.transfers.is_empty()),
        |profile| {
            let mut memory = memory.clone();
            memory.keep_unmeasured(profile.memory.take().unwrap_or_default(), &["transfers"]);
            profile.memory = Some(memory);
        },
    )?;
    let checks = path::check(&profile, &memory.transfers)?;
    let checked = Checked { checks, memory };
    terminal::print(args.json, &checked.json(), |out, _| terminal::path_check::write(out, &checked))?;
    if checked.checks.is_empty() && !checked.memory.method.interrupted {
        bail!("no message was timed; 'not_available' of --json says why");
    }
    Ok(())
}

impl Checked {
    fn json(&self) -> Value {
        let row = |check: &Check| {
            json!({
                "path": check.path,
                "bytes": check.bytes,
                "predicted_ns": check.predicted_ns,
                "measured_ns": check.measured,
                "error": check.error(),
            })
        };
        json!({
            "checks": self.checks.iter().map(row).collect::<Vec<_>>(),
            "median_error": path::median_error(&self.checks),
            "validity": VALIDITY,
            "method": self.memory.method,
        })
    }
}
