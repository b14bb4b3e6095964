//! `coho path check`: compares paths' predictions with messages between two processes here.
//!
//! Parts and messages are timed in the same passes: hosts move CPUs, so parts in an earlier profile may belong to
//! another distance. Predictions from such a profile's parts are shown as well, if one is named.

use anyhow::{Context, bail};
use coho_model::path::{self, Check, Checked};
use coho_platform::pin;
use coho_probe::memory::{Options, Part};
use coho_probe::{Around, Experiment, host};
use coho_profile::{Profile, Transfer};
use coho_show::sections::paths;
use coho_topology::CpuSet;

use super::show::one;
use crate::arguments::{self, Course, named};
use crate::printed::How;
use crate::progress;
use crate::results::{File, Kept};

const EXAMPLES: &str = examples![("How far predictions are off here", "coho path check --quick")];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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

/// What is measured, by the section's name.
const NAME: &str = "memory";

pub fn run(args: &Args) -> anyhow::Result<()> {
    let file = args.file.prepare()?;
    let is_in = |profile: &Profile| profile.memory.as_ref().is_some_and(Options::has_figures);
    let earlier = args.profile.as_deref().map(one).transpose()?;
    let earlier = earlier.and_then(|profile| profile.memory).unwrap_or_default().transfers;
    let paths = if args.paths.is_empty() { path::CHECKED.to_vec() } else { args.paths.clone() };
    let options = Options {
        parts: vec![Part::Transfers],
        course: args.course.on(args.cpus.as_ref()),
        quick: args.quick,
        ..Options::default()
    };
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let measured = options.measure(&mut Around::new(&topology, &mut progress::on_stderr()));
    let mut memory = measured.inspect_err(|_| args.file.say_old(NAME, file.as_ref().is_some_and(is_in)))?;
    let measured: Vec<Transfer> =
        memory.transfers.iter().filter(|transfer| paths.contains(&transfer.path.as_str())).cloned().collect();
    let kept =
        Kept { name: NAME, host: Some(host::collect()), has_figures: !memory.transfers.is_empty(), is_in };
    args.file.keep(kept, |profile| {
        let mut memory = memory.clone();
        memory.keep_unmeasured(profile.memory.take().unwrap_or_default());
        profile.memory = Some(memory);
    })?;
    let mut checks = path::check_within(&measured)?;
    match path::check(&earlier, &measured) {
        Ok(by_profile) => {
            for check in &mut checks {
                let is = |other: &&Check| (&other.path, other.bytes) == (&check.path, check.bytes);
                check.predicted_by_profile_ns = by_profile.iter().find(is).map(|other| other.predicted_ns);
            }
        }
        Err(error) if args.profile.is_some() => coho_show::say!("coho: {error}"),
        Err(_) => {}
    }
    memory.transfers = measured;
    let checked = Checked::of(checks, memory.method.clone());
    args.how.print(&checked, |checked| paths::checked(&checked.checks, &memory))?;
    if checked.checks.is_empty() && !checked.method.interrupted {
        bail!("no message was timed; 'not_available' of --json says why{}", pin::way_round());
    }
    Ok(())
}
