//! `coho predict`: what measured costs mean for a program.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Subcommand;
use coho_model::cpi::Prediction;
use coho_profile::{PairMethod, check_writable, write_atomic};
use coho_show::Subject;
use coho_show::render::svg;
use coho_show::sections::predictions::cpi as shown;

use crate::arguments::{check_outputs, file_name};
use crate::printed;

/// Predict from measured or published figures
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Cycles per instruction by the rate of coherence events, one line per class of CPU pairs
    Cpi(CpiArgs),
    /// Barriers, fork and join from the latencies between CPUs, for every algorithm
    Barrier(super::predict_barrier::Args),
    /// How FreeBSD's ULE scheduler treats programs under different views of the topology, and why
    Placement(super::predict_placement::Args),
    /// What regions and barriers cost an OpenMP program, here and with libgomp, from the counts of `coho run --openmp
    /// --count`
    Openmp(super::predict_openmp::Args),
    /// Which system calls another core should execute, from which cache footprint on, and what that gains
    Delegate(super::predict_delegate::Args),
}

const CPI_EXAMPLES: &str = examples![(
    "What coherence costs a program, by the share of its instructions that cause it",
    "coho predict cpi published:kawabe-furuya",
)];

#[derive(Debug, clap::Args)]
#[command(after_help = CPI_EXAMPLES)]
struct CpiArgs {
    /// Profile files, or `published:NAME` (`published:kawabe-furuya/e5620`)
    #[arg(value_name = "PROFILE", default_value = PUBLISHED)]
    profiles: Vec<String>,
    /// Cycles per instruction without coherence events
    #[arg(long, value_name = "CPI", default_value = "2.0", value_parser = positive)]
    base_cpi: f64,
    /// Coherence events per 100 instructions
    #[arg(
        long,
        value_name = "PERCENT",
        value_delimiter = ',',
        default_value = "0,0.5,1,1.5,2",
        value_parser = percent
    )]
    rate: Vec<f64>,
    /// Which times to use: free-running as in the paper, turn, flags [default: the first of these that was measured]
    #[arg(long, value_name = "METHOD", value_parser = super::coherence::method)]
    method: Option<PairMethod>,
    #[command(flatten)]
    how: printed::How,
    /// Also draw the chart to a file
    #[arg(long, value_name = "FILE", value_parser = file_name())]
    svg: Option<PathBuf>,
}

/// The default source of a prediction: the paper's machines.
const PUBLISHED: &str = "published:kawabe-furuya";

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("must be above 0".into()) }
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if (0.0..=100.0).contains(&value) { Ok(value) } else { Err("must lie between 0 and 100".into()) }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.what {
        What::Cpi(args) => run_cpi(args),
        What::Barrier(args) => super::predict_barrier::run(args),
        What::Placement(args) => super::predict_placement::run(args),
        What::Openmp(args) => super::predict_openmp::run(args),
        What::Delegate(args) => super::predict_delegate::run(args),
    }
}

fn run_cpi(args: &CpiArgs) -> anyhow::Result<()> {
    if let Some(file) = &args.svg {
        check_outputs(&[file], &args.profiles.iter().map(Path::new).collect::<Vec<_>>())?;
        check_writable(file)?;
    }
    let subjects = Subject::load_all(&args.profiles)?;
    let profiles = subjects.iter().map(|subject| (subject.label.as_str(), &subject.profile));
    let prediction = Prediction::of(profiles, args.base_cpi, &args.rate, args.method);
    if let Some(file) = &args.svg
        && !prediction.lines.is_empty()
    {
        write_atomic(file, svg::file(&svg::chart(&shown::chart(&prediction.lines))).as_bytes())?;
    }
    args.how.print(&prediction, |prediction| shown::parts(prediction, &args.rate))?;
    if !args.how.json && args.profiles == [PUBLISHED] && std::io::stderr().is_terminal() {
        coho_show::say!("The published machines; `coho predict cpi PROFILE` shows yours.");
    }
    if prediction.lines.is_empty() {
        let reasons: Vec<String> =
            prediction.not_available.iter().map(|(source, reason)| format!("{source}: {reason}")).collect();
        bail!("not available: {}", reasons.join("; "));
    }
    Ok(())
}
