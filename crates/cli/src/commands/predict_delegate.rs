//! `coho predict delegate`: which calls another core should execute, by a profile's curves.

use anyhow::bail;
use coho_model::delegation::{self, Choice};

use coho_show::{Subject, sections};

use crate::printed;

const EXAMPLES: &str = examples![(
    "Which calls another core should execute, from `coho calls --footprint`",
    "coho predict delegate mine.json",
)];

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A profile with curves of calls, as `coho calls --footprint -o PROFILE` measures them
    #[arg(value_name = "PROFILE")]
    profile: String,
    #[command(flatten)]
    how: printed::How,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let name = &args.profile;
    let subjects = Subject::load(name)?;
    let choices = subjects.iter().filter_map(|subject| {
        Some(delegation::choices(subject.profile.calls.as_ref()?, &subject.answers.calls.verdicts))
    });
    let choices: Vec<Choice> = choices.flatten().collect();
    if choices.is_empty() {
        let file = if subjects.iter().any(|subject| subject.published) { "PROFILE" } else { name };
        bail!(
            "{name} has no curves of calls at home and on another core; `coho calls --footprint -o {file}` measures them"
        );
    }
    args.how.print(&choices, |choices| sections::calls::choices(choices))
}
