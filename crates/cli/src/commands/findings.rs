//! `coho findings`: what a profile means for its reader.

use std::io::Write;

use anyhow::{Context, bail};
use coho_show::Subject;
use coho_show::render::terminal::{self, Options};

use crate::arguments::WrongUsage;
use crate::{newest, printed};

const EXAMPLES: &str = examples![
    ("What the newest survey here means", "coho findings"),
    ("What the first of them rests on, and when it holds", "coho findings mine.json --explain 1"),
    ("The same for a profile, as JSON for scripts", "coho findings mine.json --json"),
];

/// Print what a profile means, when it holds, and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A profile file, or one machine of a publication (`published:kawabe-furuya/e5620`) [default: the newest
    /// coho-DATE.json here]
    ///
    /// By default it reads the newest coho-DATE.json in this folder, as `coho survey` writes it, or else
    /// coho/profile.json in $XDG_STATE_HOME or ~/.local/state.
    profile: Option<String>,
    /// Print the Nth finding whole: its figures, its condition, and where in the profile they stand
    #[arg(long, value_name = "N", conflicts_with = "full")]
    explain: Option<usize>,
    #[command(flatten)]
    how: printed::How,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let subject = match &args.profile {
        Some(name) => Subject::only(name)?,
        None => {
            let newest = newest::subject()?;
            let newest =
                newest.context("there is no profile here; name one, or let `coho survey` write one")?;
            newest.say("findings of");
            newest.subject
        }
    };
    let findings = subject.answers.findings_of(&subject.profile);
    let Some(number) = args.explain else {
        if args.how.json {
            return printed::json(&findings);
        }
        let mut out = args.how.out();
        return Ok(terminal::findings(
            &mut out,
            &findings,
            Options::stdout(args.how.full).depth,
            usize::MAX,
        )?);
    };
    let Some(one) = number.checked_sub(1).and_then(|at| findings.get(at)) else {
        bail!(WrongUsage::new(match findings.len() {
            0 => "there is no finding to explain".to_owned(),
            n => format!("--explain takes a finding's number, from 1 to {n}"),
        }));
    };
    if args.how.json {
        return printed::json(one);
    }
    Ok(writeln!(args.how.out(), "{}", terminal::finding(one))?)
}
