//! Measured choices, kept in a profile.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coho_platform::state;
use coho_probe::host;
use coho_profile::{Live, Profile, Runs, Trial};

use super::Error;
use super::execute::Machine;

/// The profile's name in the folder where coho keeps its state.
const NAME: &str = "profile.json";

/// The profile that is read by default.
pub fn default_profile() -> Option<PathBuf> {
    Some(state::folder().ok()?.join(NAME))
}

/// Where choices are remembered, and under which name.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// A profile of this machine; [`default_profile`] if `None`.
    pub profile: Option<PathBuf>,
    /// The command's name; the program's if `None`.
    pub name: Option<String>,
}

impl Memory {
    /// The profile. A named one must exist unless it `may_be_new`.
    pub(super) fn profile(&self, may_be_new: bool) -> Result<Option<Profile>, Error> {
        match (&self.profile, default_profile()) {
            (Some(path), _) if !path.exists() && may_be_new => Ok(None),
            (Some(path), _) => Ok(Some(Profile::read(path)?)),
            (None, Some(path)) if path.exists() => Ok(Some(Profile::read(&path)?)),
            (None, _) => Ok(None),
        }
    }

    /// The name under which a command's choice is remembered.
    pub(super) fn name(&self, command: &[OsString]) -> String {
        let program = || {
            let program = Path::new(command.first()?);
            Some(program.file_name()?.to_string_lossy().into_owned())
        };
        self.name.clone().or_else(program).unwrap_or_default()
    }

    /// The command's remembered trial, if it was made on the present CPUs.
    pub(super) fn trial<'m>(&self, command: &[OsString], machine: &'m Machine) -> Option<&'m Trial> {
        let trial = machine.profile.as_ref()?.run.as_ref()?.commands.get(&self.name(command))?;
        let is_here = trial.allowed_cpus.iter().copied().eq(machine.room.cpus.iter());
        (trial.best.is_some() && is_here).then_some(trial)
    }

    /// Remembers a trial.
    pub(super) fn remember(&self, command: &[OsString], trial: &Trial) -> Result<(), Error> {
        self.keep(command, |runs, name| drop(runs.commands.insert(name, trial.clone())))
    }

    /// Remembers a trial that a signal stopped, unless an earlier one is remembered; returns whether it was kept.
    pub(super) fn remember_part(&self, command: &[OsString], trial: &Trial) -> Result<bool, Error> {
        let mut is_first = false;
        self.keep(command, |runs, name| {
            is_first = !runs.commands.contains_key(&name);
            runs.commands.entry(name).or_insert_with(|| trial.clone());
        })?;
        Ok(is_first)
    }

    /// Remembers a live run in the same way.
    pub(super) fn remember_live(&self, command: &[OsString], live: &Live) -> Result<(), Error> {
        self.keep(command, |runs, name| drop(runs.live.insert(name, live.clone())))
    }

    /// Checks before anything runs that a choice can be remembered: another machine's profile cannot hold it.
    pub(super) fn check(&self) -> Result<(), Error> {
        let path = self.path()?;
        Ok(Profile::check_update(&path)?.check_machine(&path, &host::collect())?)
    }

    fn keep(&self, command: &[OsString], insert: impl FnOnce(&mut Runs, String)) -> Result<(), Error> {
        let name = self.name(command);
        Profile::update(&self.path()?, |profile| insert(profile.run.get_or_insert_default(), name))?;
        Ok(())
    }

    /// The profile in which choices are remembered; creates its folder if needed.
    fn path(&self) -> Result<PathBuf, Error> {
        match &self.profile {
            Some(path) => Ok(path.clone()),
            None => Ok(state::create().map_err(Error::NoState)?.join(NAME)),
        }
    }
}
