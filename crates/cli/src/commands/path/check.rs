//! `coho path check`: compares paths' predictions with messages between two processes here.
//!
//! Parts and messages are timed in the same passes: hosts move CPUs, so parts in an earlier profile may belong to
//! another distance. Predictions from such a profile's parts are shown as well, if one is named.

use anyhow::{Context, bail};
use coho_model::path::{self, Check, VALIDITY};
use coho_probe::host;
use coho_probe::memory::{self, Options, Part};
use coho_profile::{Memory, Transfer};
use coho_show::sections::paths;
use coho_topology::CpuSet;
use serde_json::{Value, json};

use super::show::one;
use crate::arguments::{self, Course, named};
use crate::printed::How;
use crate::progress;
use crate::results::File;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which paths: shared-memory, tcp-loopback [default: both]
    #[arg(value_name = "NAME", value_parser = |name: &str| named(&path::CHECKED, name))]
    paths: Vec<&'static str>,
    /// Also predict from the message parts in this profile
    #[arg(short, long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Run the processes on the first of these CPUs and on the nearest other one of them
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Fewer passes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    file: File,
}

/// The results of a check.
struct Checked {
    checks: Vec<Check>,
    /// The same messages predicted from an earlier profile's parts; empty where none is named or it has no such
    /// parts.
    by_profile: Vec<Check>,
    memory: Memory,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    args.file.prepare()?;
    let earlier: Vec<Transfer> = match &args.profile {
        Some(name) => one(name)?.memory.map(|memory| memory.transfers).unwrap_or_default(),
        None => Vec::new(),
    };
    let paths = if args.paths.is_empty() { path::CHECKED.to_vec() } else { args.paths.clone() };
    let options = Options {
        parts: vec![Part::Transfers],
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        quick: args.quick,
        ..Options::default()
    };
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let mut memory = memory::measure(&options, &topology, &mut progress::on_stderr())?;
    let measured: Vec<Transfer> =
        memory.transfers.iter().filter(|transfer| paths.contains(&transfer.path.as_str())).cloned().collect();
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
    let checks = path::check_within(&measured)?;
    let by_profile = match path::check(&earlier, &measured) {
        Ok(checks) => checks,
        Err(error) => {
            if args.profile.is_some() {
                coho_show::say!("coho: {error}");
            }
            Vec::new()
        }
    };
    memory.transfers = measured;
    let checked = Checked { checks, by_profile, memory };
    args.how
        .print(&checked.json(), |_| paths::checked(&checked.checks, &checked.by_profile, &checked.memory))?;
    if checked.checks.is_empty() && !checked.memory.method.interrupted {
        bail!("no message was timed; 'not_available' of --json says why");
    }
    Ok(())
}

impl Checked {
    /// The same message predicted from the earlier profile's parts.
    fn by_profile(&self, check: &Check) -> Option<&Check> {
        self.by_profile.iter().find(|other| (&other.path, other.bytes) == (&check.path, check.bytes))
    }

    fn json(&self) -> Value {
        let row = |check: &Check| {
            json!({
                "path": check.path,
                "bytes": check.bytes,
                "predicted_ns": check.predicted,
                "measured_ns": check.measured,
                "error": check.error(),
                "predicted_by_profile_ns": self.by_profile(check).map(|check| check.predicted),
            })
        };
        let by_path = |name: &str| path::median_error(self.checks.iter().filter(|check| check.path == name));
        json!({
            "checks": self.checks.iter().map(row).collect::<Vec<_>>(),
            "median_error": path::median_error(&self.checks),
            "largest_error": path::largest_error(&self.checks),
            "median_error_by_path": path::CHECKED.map(|name| (name, by_path(name))).into_iter()
                .filter_map(|(name, error)| Some((name, error?))).collect::<std::collections::BTreeMap<_, _>>(),
            "validity": VALIDITY,
            "method": self.memory.method,
        })
    }
}
