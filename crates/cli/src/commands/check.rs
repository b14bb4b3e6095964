//! `coho check`: whether this machine is as its group is.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use coho_model::fleet::{Limits, Verdict};
use coho_platform::stop;
use coho_profile::read_text;
use coho_show::visible::{Out, Style, on_one_line};

use crate::printed;
use crate::results::Stopped;

/// Exit statuses that say what the machine is, apart from those of every command.
const ODD: u8 = 3;
const CANNOT_TELL: u8 = 4;
/// The most time that it takes.
const WITHIN: Duration = Duration::from_secs(5);

const EXAMPLES: &str =
    examples![("May this node take the job? The exit status says so", "coho check --against fleet.json",)];

/// Say in five seconds whether this machine is as its group is
///
/// Exit status 0: fit. 3: odd, as a fact is another than its group's, or a figure lies where none of its group's does, each
/// time that it was measured. 4: cannot tell, as when something else has the CPUs, when a figure is in a mode that its group
/// knows but is not usually in, or when too little was learned.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What `coho fleet learn` wrote
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// Print the result as JSON, and nothing else
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = read_text(&args.against)?;
    let limits = Limits::parse(&text).with_context(|| format!("cannot read {}", args.against.display()))?;
    stop::on_signals().context("cannot catch signals")?;
    let checked = coho_run::check::check(&limits, WITHIN).context("cannot detect the topology")?;
    if let Some(signal) = stop::signal() {
        return Err(Stopped { signal }.into());
    }
    let (word, status) = match checked.verdict {
        Verdict::Fit => ("fit", 0),
        Verdict::Odd => ("odd", ODD),
        Verdict::CannotTell => ("cannot tell", CANNOT_TELL),
    };
    if args.json {
        printed::json(&checked)?;
    } else {
        writeln!(Out::new(Style::Plain), "{word}: {} ({:.1} s)", on_one_line(&checked.why), checked.seconds)?;
    }
    Ok(ExitCode::from(status))
}
