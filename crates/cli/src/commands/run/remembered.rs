//! Measured choices, kept in a profile.

use std::path::{Path, PathBuf};

use anyhow::Context;
use coho_platform::state;
use coho_probe::host;
use coho_profile::{Live, Profile, Runs, Trial};

use super::{Args, Machine};
use crate::results::same_machine;

/// The profile's name in the folder where coho keeps its state.
const NAME: &str = "profile.json";

/// The profile that the arguments select. A named one must exist.
pub fn profile(args: &Args) -> anyhow::Result<Option<Profile>> {
    match (&args.profile, default_path()) {
        (Some(path), _) if !path.exists() && args.compares() => Ok(None),
        (Some(path), _) => Ok(Some(Profile::read(path)?)),
        (None, Some(path)) if path.exists() => Ok(Some(Profile::read(&path)?)),
        (None, _) => Ok(None),
    }
}

/// The name under which a command's choice is remembered.
pub fn name(args: &Args) -> String {
    let program = || {
        let program = Path::new(args.command.first()?);
        Some(program.file_name()?.to_string_lossy().into_owned())
    };
    args.name.clone().or_else(program).unwrap_or_default()
}

/// The command's remembered trial, if it was made on the present CPUs.
pub fn trial<'m>(args: &Args, machine: &'m Machine) -> Option<&'m Trial> {
    let trial = machine.profile.as_ref()?.run.as_ref()?.commands.get(&name(args))?;
    (trial.best.is_some() && trial.allowed_cpus.iter().copied().eq(machine.room.cpus.iter())).then_some(trial)
}

/// Remembers a trial in the profile that the arguments select.
pub fn remember(args: &Args, trial: &Trial) -> anyhow::Result<()> {
    keep(args, |runs, name| drop(runs.commands.insert(name, trial.clone())))
}

/// Remembers a trial that a signal stopped, unless an earlier one is remembered; returns whether it was kept.
pub fn remember_part(args: &Args, trial: &Trial) -> anyhow::Result<bool> {
    let mut is_first = false;
    keep(args, |runs, name| {
        is_first = !runs.commands.contains_key(&name);
        runs.commands.entry(name).or_insert_with(|| trial.clone());
    })?;
    Ok(is_first)
}

/// Remembers a live run in the same way.
pub fn remember_live(args: &Args, live: &Live) -> anyhow::Result<()> {
    keep(args, |runs, name| drop(runs.live.insert(name, live.clone())))
}

/// Checks before anything runs that a choice can be remembered: another machine's profile cannot hold it.
pub fn check(args: &Args) -> anyhow::Result<()> {
    let path = path(args)?;
    same_machine(&path, &Profile::check_update(&path)?, &host::collect())
}

fn keep(args: &Args, insert: impl FnOnce(&mut Runs, String)) -> anyhow::Result<()> {
    Profile::update(&path(args)?, |profile| insert(profile.run.get_or_insert_default(), name(args)))?;
    Ok(())
}

/// The profile in which choices are remembered; creates its folder if needed.
fn path(args: &Args) -> anyhow::Result<PathBuf> {
    match &args.profile {
        Some(path) => Ok(path.clone()),
        None => {
            let folder = state::create().context("no choice can be remembered; name a file by --profile")?;
            Ok(folder.join(NAME))
        }
    }
}

/// The profile that is read by default.
pub fn default_path() -> Option<PathBuf> {
    Some(state::folder().ok()?.join(NAME))
}
