//! `coho predict`: what measured costs mean for a program.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Subcommand;
use coho_model::cpi::{self, Line};
use coho_profile::{PairMethod, check_writable, write_atomic};
use coho_show::Subject;
use coho_show::render::svg;
use coho_show::sections::predictions::cpi as shown;
use serde_json::json;

use crate::arguments::{check_outputs, file_name};
use crate::printed;

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

#[derive(Debug, clap::Args)]
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

/// Lines of several profiles, each with its source, and why others have none.
struct Prediction {
    lines: Vec<(String, Line)>,
    not_available: BTreeMap<String, String>,
}

fn run_cpi(args: &CpiArgs) -> anyhow::Result<()> {
    if let Some(file) = &args.svg {
        check_outputs(&[file], &args.profiles.iter().map(Path::new).collect::<Vec<_>>())?;
        check_writable(file)?;
    }
    let prediction = Prediction::of(&Subject::load_all(&args.profiles)?, args);
    if let Some(file) = &args.svg
        && !prediction.lines.is_empty()
    {
        write_atomic(file, svg::file(&svg::chart(&shown::chart(&prediction.lines))).as_bytes())?;
    }
    let json = prediction.json(args.base_cpi);
    args.how.print(&json, |_| {
        shown::parts(&prediction.lines, args.base_cpi, &args.rate, &prediction.not_available)
    })?;
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

impl Prediction {
    fn of(subjects: &[Subject], args: &CpiArgs) -> Self {
        let mut prediction = Self { lines: Vec::new(), not_available: BTreeMap::new() };
        for subject in subjects {
            match cpi::lines(&subject.profile, args.base_cpi, &args.rate, args.method) {
                Ok(lines) => {
                    prediction.lines.extend(lines.into_iter().map(|line| (subject.label.clone(), line)));
                }
                Err(reason) => {
                    prediction.not_available.insert(subject.label.clone(), reason.to_string());
                }
            }
        }
        prediction
    }

    fn json(&self, base_cpi: f64) -> serde_json::Value {
        let point = |point: &cpi::Point| json!({ "rate_percent": point.rate_percent, "cpi": point.cpi });
        let line = |(source, line): &(String, Line)| {
            json!({
                "class": line.class,
                "cycles": line.cycles,
                "points": line.points.iter().map(point).collect::<Vec<_>>(),
                "source": source,
                "method": line.method,
            })
        };
        let lines: Vec<_> = self.lines.iter().map(line).collect();
        let mut all = json!({ "base_cpi": base_cpi, "lines": lines });
        if !self.not_available.is_empty() {
            all["not_available"] = json!(self.not_available);
        }
        all
    }
}
