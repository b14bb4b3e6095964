//! Choices that were measured, in a profile.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coho_profile::{Live, Profile, Runs, Trial};

use super::{Args, Machine};

/// The profile that the arguments mean: one that is named must be there.
pub fn profile(args: &Args) -> anyhow::Result<Option<Profile>> {
    match (&args.profile, default_path()) {
        (Some(path), _) if !path.exists() && args.compares() => Ok(None),
        (Some(path), _) => Ok(Some(Profile::read(path)?)),
        (None, Some(path)) if path.exists() => Ok(Some(Profile::read(&path)?)),
        (None, _) => Ok(None),
    }
}

/// The name that a command's choice is remembered under.
pub fn name(args: &Args) -> String {
    let program = || {
        let program = Path::new(args.command.first()?);
        Some(program.file_name()?.to_string_lossy().into_owned())
    };
    args.name.clone().or_else(program).unwrap_or_default()
}

/// What is remembered of the command, if it was tried on the CPUs that there are now.
pub fn trial<'m>(args: &Args, machine: &'m Machine) -> Option<&'m Trial> {
    let trial = machine.profile.as_ref()?.run.as_ref()?.commands.get(&name(args))?;
    (trial.best.is_some() && trial.allowed_cpus.iter().copied().eq(machine.room.cpus.iter())).then_some(trial)
}

/// Remembers a trial, in the profile that the arguments mean.
pub fn remember(args: &Args, trial: &Trial) -> anyhow::Result<()> {
    keep(args, |runs, name| drop(runs.commands.insert(name, trial.clone())))
}

/// Remembers a live run, likewise.
pub fn remember_live(args: &Args, live: &Live) -> anyhow::Result<()> {
    keep(args, |runs, name| drop(runs.live.insert(name, live.clone())))
}

fn keep(args: &Args, insert: impl FnOnce(&mut Runs, String)) -> anyhow::Result<()> {
    let path = match (&args.profile, default_path()) {
        (Some(path), _) => path.clone(),
        (None, Some(path)) => {
            let folder = path.parent().expect("it ends with a folder and a name");
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
            path
        }
        (None, None) => {
            anyhow::bail!("there is no home folder to remember the choice in; name a file by --profile")
        }
    };
    Profile::update(&path, |profile| insert(profile.run.get_or_insert_default(), name(args)))?;
    Ok(())
}

/// `coho/profile.json` where a user's programs keep their state.
fn default_path() -> Option<PathBuf> {
    let folder = |variable| env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("coho/profile.json"))
}
