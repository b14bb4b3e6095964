//! `coho findings`: what a profile means for its reader.

use anyhow::Context;

use crate::{newest, printed};
use coho_show::Subject;
use coho_show::part::{Part, Text};
use coho_show::words::NO_FINDING;

const EXAMPLES: &str = examples![
    ("What the newest survey here means", "coho findings"),
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
    args.how.print(&subject.answers.findings_of(&subject.profile), |findings| {
        if findings.is_empty() {
            return vec![Part::summary(Text::new(NO_FINDING))];
        }
        findings.iter().cloned().map(Part::summary).collect()
    })
}
