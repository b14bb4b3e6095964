//! `coho bench`: system workloads under placements.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use coho_platform::room::Room;
use coho_probe::idle::Root;
use coho_probe::placement::Placement;
use coho_probe::workload::{Options, Test};
use coho_profile::Workloads;
use coho_show::sections;
use coho_topology::CpuSet;

use crate::arguments::{self, PLACEMENTS, offering};
use crate::results::Run;

const EXAMPLES: &str = examples![
    ("Context switches under every placement", "coho bench context1 --place all"),
    ("A build with C6 allowed and disabled, in turn", "coho bench build --without-idle C6"),
];

/// Run UnixBench's tests and a build under placements
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
    /// Beside each sample, take one while the idle states with these names are disabled
    ///
    /// 'coho idle' lists the states.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    without_idle: Vec<String>,
    /// The folder that contains sys and run
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true)]
    root: PathBuf,
    /// Also run the programs of a UnixBench that was built in this folder, in turn with coho's
    #[arg(long, value_name = "DIR")]
    peer: Option<PathBuf>,
    /// Have 'build' build the program in this folder by its makefile, copied, in place of coho's own sources
    ///
    /// A Linux kernel's sources without a configuration are built as tinyconfig. Each sample begins with 'make clean'.
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
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
    run: Run,
}

/// A placement, or all that differ on this machine.
#[derive(Debug, Clone)]
enum Where {
    All,
    One(Placement),
}

impl std::str::FromStr for Where {
    type Err = coho_probe::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let Run { course, results } = &args.run;
    let begun = results.file.begin()?;
    let default = if args.quick { Options::quick() } else { Options::default() };
    let allowed = match &args.cpus {
        Some(cpus) => cpus.clone(),
        None => coho_platform::pin::allowed()?,
    };
    let mut placements = Vec::new();
    for wanted in &args.place {
        match wanted {
            Where::All => placements.extend(Placement::of(&begun.topology, &allowed)),
            Where::One(placement) => placements.push(placement.clone()),
        }
    }
    // A CPU that a placement names may lie beyond the inherited mask.
    let named: CpuSet = placements.iter().flat_map(Placement::named).copied().collect();
    let beyond = args.cpus.is_none() && !named.is_subset(&allowed);
    let reached = beyond.then(|| Room { cpus: allowed, quota: None }.reaching(&named).cpus);
    let options = Options {
        tests: if args.tests.is_empty() { default.tests.clone() } else { args.tests.clone() },
        placements: if placements.is_empty() { default.placements.clone() } else { placements },
        copies: args.copies.clone(),
        peer: args.peer.clone(),
        without_idle: args.without_idle.clone(),
        idle_root: Root::at(&args.root),
        source: args.source.clone(),
        folder: args.folder.clone(),
        sample: args.sample.unwrap_or(default.sample),
        course: course.on(args.cpus.as_ref().or(reached.as_ref())),
        ..default
    };
    let measured = begun.measure(&options, false)?;
    if !measured.is_old {
        let before = begun.earlier.and_then(|profile| profile.workloads).as_ref().map(names);
        results.file.say_gone("workloads", before.unwrap_or_default(), &names(&measured.section));
    }
    let nothing = "nothing was measured; 'not_available' of --json says why";
    results.present::<Options>(measured.section, sections::workloads::section, nothing)
}

fn names(workloads: &Workloads) -> BTreeSet<String> {
    workloads.results.iter().map(|result| format!("{} {}", result.test, result.placement)).collect()
}
