//! `coho predict openmp`: what synchronising costs an OpenMP program, from its counts and a profile.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use coho_model::openmp::{Counts, Forecast, Outcome};
use coho_profile::{Profile, read_text};
use coho_show::sections::predictions::openmp;

use crate::printed::How;

const EXAMPLES: &str = examples![(
    "What a program's regions and barriers cost here, from the counts of `coho run --openmp --count`",
    "coho predict openmp counts.json -p mine.json",
)];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The file that `coho run --openmp --count FILE` wrote
    #[arg(value_name = "FILE")]
    counts: PathBuf,
    /// A profile of the same machine with barriers; `coho barrier --peers -o PROFILE` also measures libgomp's
    #[arg(short, long, value_name = "PROFILE")]
    profile: PathBuf,
    #[command(flatten)]
    how: How,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let name = args.counts.display();
    let text = read_text(&args.counts)?;
    let counts: Counts = serde_json::from_str(&text)
        .with_context(|| format!("{name} does not hold counts of `coho run --openmp --count`"))?;
    ensure!(
        counts.openmp_counts == 1,
        "{name}: this version of coho does not read counts of version {}",
        counts.openmp_counts
    );
    let profile = Profile::read(&args.profile)?;
    let Some(sync) = &profile.sync else {
        bail!("{0} has no barriers; `coho barrier --peers -o {0}` measures them", args.profile.display());
    };
    let processes: Vec<Outcome> = counts.processes.iter().map(|process| Outcome::of(process, sync)).collect();
    let predictions = processes.iter().filter_map(Outcome::prediction);
    let forecast = Forecast { findings: predictions.filter_map(openmp::finding).collect(), processes };
    args.how.print(&forecast, |forecast| openmp::parts(&forecast.processes))?;
    ensure!(
        forecast.processes.iter().any(|process| process.prediction().is_some()),
        "not available: no process can be predicted"
    );
    Ok(())
}
