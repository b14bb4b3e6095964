//! `coho bench`: system workloads under placements.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use coho_probe::host;
use coho_probe::placement::Placement;
use coho_probe::workload::{self, Options, Test};
use coho_profile::{Profile, Workloads};
use coho_show::sections;
use coho_topology::CpuSet;

use crate::arguments::{self, Course, PLACEMENTS, offering};
use crate::progress;
use crate::results::Results;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Tests by UnixBench's names (dhry2reg, context1) or by a profile's (dhrystone2, pipe_context_switching), and
    /// 'build' [default: all]
    ///
    /// Tables show UnixBench's names; JSON shows a profile's.
    #[arg(value_name = "TEST")]
    tests: Vec<Test>,
    /// Where copies run: none, compact, spread, smt, module, l1, l2, l3, l4, die, numa, package, or 'all' [default:
    /// none,compact,spread]
    #[arg(long, alias = "placement", value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          value_parser = offering(str::parse::<Where>, PLACEMENTS[1..].iter().copied().chain(["all"])))]
    place: Vec<Where>,
    /// Numbers of copies [default: 1 and the number of CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    copies: Vec<u32>,
    /// Use these CPUs only (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = arguments::cpus)]
    cpus: Option<CpuSet>,
    /// Also run the programs of a UnixBench that was built in this folder, in turn with coho's
    #[arg(long, value_name = "DIR")]
    peer: Option<PathBuf>,
    /// Work in a new folder below this one [default: in memory]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// How long a sample takes [default: 1s]
    #[arg(long, value_name = "SECONDS", value_parser = arguments::duration)]
    sample: Option<Duration>,
    /// Fewer and shorter samples
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    course: Course,
    #[command(flatten)]
    results: Results,
}

/// A placement, or all that differ on this machine.
#[derive(Debug, Clone)]
enum Where {
    All,
    One(Placement),
}

impl std::str::FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    args.results.file.prepare()?;
    let host = host::collect();
    let topology = coho_topology::detect().context("cannot detect the topology")?;
    let default = if args.quick { Options::quick() } else { Options::default() };
    let allowed = match &args.cpus {
        Some(cpus) => cpus.clone(),
        None => coho_platform::pin::allowed()?,
    };
    let mut placements = Vec::new();
    for wanted in &args.place {
        match wanted {
            Where::All => placements.extend(Placement::of(&topology, &allowed)),
            Where::One(placement) => placements.push(placement.clone()),
        }
    }
    let options = Options {
        tests: if args.tests.is_empty() { default.tests.clone() } else { args.tests.clone() },
        placements: if placements.is_empty() { default.placements.clone() } else { placements },
        copies: args.copies.clone(),
        cpus: args.cpus.iter().flat_map(CpuSet::iter).collect(),
        peer: args.peer.clone(),
        folder: args.folder.clone(),
        sample: args.sample.unwrap_or(default.sample),
        time_limit: args.course.time_limit,
        seed: args.course.seed(),
        ..default
    };
    let workloads = workload::measure(&options, &topology, &mut progress::on_stderr())?;
    let mut before = BTreeSet::new();
    args.results.file.keep(
        "workloads",
        Some(host),
        |profile| profile.workloads.is_some(),
        |profile| {
            before = profile.workloads.as_ref().map(names).unwrap_or_default();
            profile.topology = Some(topology.into());
            profile.workloads = Some(workloads.clone());
        },
    )?;
    args.results.file.say_gone("workloads", before, &names(&workloads));
    let is_empty =
        workloads.results.iter().all(|result| result.value.is_none()) && !workloads.method.interrupted;
    let profile = Profile { workloads: Some(workloads), ..Profile::default() };
    args.results.show(profile, |profile| profile.workloads, sections::workloads::section)?;
    if is_empty {
        bail!("nothing was measured; 'not_available' of --json says why");
    }
    Ok(())
}

fn names(workloads: &Workloads) -> BTreeSet<String> {
    workloads.results.iter().map(|result| format!("{} {}", result.test, result.placement)).collect()
}
