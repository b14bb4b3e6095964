//! `coho predict delegate`: which calls another core should execute, by a profile's curves.

use anyhow::bail;
use coho_model::delegation::{self, Choice, Mode};
use coho_run::delegation::{List, NAMES};
use serde::Serialize;

use coho_show::{Subject, sections};

use crate::printed;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A profile with curves of calls, as `coho calls --footprint -o PROFILE` measures them
    #[arg(value_name = "PROFILE")]
    profile: String,
    #[command(flatten)]
    how: printed::How,
}

/// A choice, with its name in `coho run --delegate`.
#[derive(Debug, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub choice: Choice,
    /// `null` if `coho run` cannot delegate it.
    pub delegate: Option<String>,
}

impl Row {
    fn of(choice: Choice) -> Self {
        let name = match choice.mode {
            Mode::Sync => choice.call.clone(),
            Mode::Async => format!("{}:async", choice.call),
        };
        let is_known = name.parse::<List>().is_ok_and(|list| list.writes_later || NAMES.contains(&&*name));
        Self { delegate: is_known.then_some(name), choice }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let name = &args.profile;
    let subjects = Subject::load(name)?;
    let choices = subjects.iter().filter_map(|subject| {
        Some(delegation::choices(subject.profile.calls.as_ref()?, &subject.answers.calls.verdicts))
    });
    let rows: Vec<Row> = choices.flatten().map(Row::of).collect();
    if rows.is_empty() {
        let file = if subjects.iter().any(|subject| subject.published) { "PROFILE" } else { name };
        bail!(
            "{name} has no curves of calls at home and on another core; `coho calls --footprint -o {file}` measures them"
        );
    }
    args.how.print(&rows, |rows| {
        let choices: Vec<_> = rows.iter().map(|row| (&row.choice, row.delegate.as_deref())).collect();
        sections::calls::choices(&choices)
    })
}
