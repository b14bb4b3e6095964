//! `coho fleet learn`: what is usual among machines.

use std::path::PathBuf;

use anyhow::{Context, bail};
use coho_model::fleet::Fleet;
use coho_platform::stop;
use coho_profile::{check_writable, write_atomic};
use coho_show::fleet::say_skipped;
use coho_show::say;

use super::fleet_report::Grouping;
use crate::arguments::{check_outputs, file_name};
use crate::gather::{self, Read};
use crate::results::Stopped;

const EXAMPLES: &str = examples![(
    "Learn from surveys what is usual, for `coho check`",
    "coho fleet learn profiles -o fleet.json"
)];

/// What is usual among machines, for `coho check`
///
/// Between which limits each figure of a group lies, mode by mode, and in which facts its machines agree. Limits take ten
/// surveys of a group at least, of as many machines as there are and of several days: what they did not see is odd to
/// `coho check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile files, or folders of them
    #[arg(required = true, value_name = "PROFILE|DIR")]
    profiles: Vec<PathBuf>,
    /// Where to write what was learned
    #[arg(short, long, value_name = "FILE", value_parser = file_name())]
    output: PathBuf,
    #[command(flatten)]
    grouping: Grouping,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    stop::on_signals().context("cannot catch signals")?;
    let (files, skipped) = gather::find(&args.profiles)?;
    let inputs: Vec<_> = files.iter().map(|found| found.file.as_path()).collect();
    check_outputs(&[&args.output], &inputs)?;
    check_writable(&args.output)?;
    for one in &skipped {
        say!("{}", say_skipped(&one.file, &one.why));
    }
    let mut fleet = Fleet::new();
    gather::read(&files, |_, found, content| {
        let added = content.and_then(|content| match content {
            Read::Survey(mut survey) => fleet.add(&mut survey),
            Read::Nodes(_) => Ok(()),
        });
        if let Err(why) = added {
            say!("{}", say_skipped(&found.file.display().to_string(), &why));
        }
        !stop::requested()
    });
    if let Some(signal) = stop::signal() {
        return Err(Stopped { signal }.into());
    }
    if fleet.machines() == 0 {
        bail!("no profile could be read");
    }
    let (limits, left_out) = fleet.learn(&args.grouping.facts());
    for why in left_out {
        say!("coho: {why}");
    }
    write_atomic(&args.output, &serde_json::to_vec(&limits)?)?;
    say!("wrote {}", args.output.display());
    Ok(())
}
