//! Measured choices, kept in a profile.

use std::path::PathBuf;

use coho_platform::state;
use coho_probe::host;
use coho_profile::{Live, Profile, Runs, Trial};

use super::execute::Machine;
use super::identity::Identity;
use super::{Error, Unknown};

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
    /// The command's name; its whole line if `None`.
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

    /// The trial that is remembered for this command, if its programs and the CPUs are still the same.
    pub(super) fn trial<'m>(&self, command: &Identity, machine: &'m Machine) -> Result<&'m Trial, Unknown> {
        let runs = machine.profile.as_ref().and_then(|profile| profile.run.as_ref()).ok_or(Unknown::New)?;
        let trial = runs.commands.get(&command.name_in(runs)).filter(|trial| trial.best.is_some());
        let trial = trial.ok_or(Unknown::New)?;
        command.check(trial)?;
        match trial.allowed_cpus.iter().copied().eq(machine.room.cpus.iter()) {
            true => Ok(trial),
            false => Err(Unknown::OtherCpus(trial.allowed_cpus.clone())),
        }
    }

    /// Remembers a trial.
    pub(super) fn remember(&self, command: &Identity, trial: &Trial) -> Result<(), Error> {
        self.keep(|runs| drop(runs.commands.insert(command.name_in(runs), of(command, trial))))
    }

    /// Remembers a trial that a signal stopped, unless an earlier one is remembered; returns whether it was kept.
    pub(super) fn remember_part(&self, command: &Identity, trial: &Trial) -> Result<bool, Error> {
        let mut is_first = false;
        self.keep(|runs| {
            let name = command.name_in(runs);
            is_first = !runs.commands.contains_key(&name);
            runs.commands.entry(name).or_insert_with(|| of(command, trial));
        })?;
        Ok(is_first)
    }

    /// Remembers a live run in the same way.
    pub(super) fn remember_live(&self, command: &Identity, live: &Live) -> Result<(), Error> {
        self.keep(|runs| drop(runs.live.insert(command.name.clone(), live.clone())))
    }

    /// Checks before anything runs that a choice can be remembered: another machine's profile cannot hold it.
    pub(super) fn check(&self) -> Result<(), Error> {
        let path = self.path()?;
        Ok(Profile::check_update(&path)?.check_machine(&path, &host::collect())?)
    }

    fn keep(&self, insert: impl FnOnce(&mut Runs)) -> Result<(), Error> {
        Profile::update(&self.path()?, |profile| insert(profile.run.get_or_insert_default()))?;
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

/// The trial as one of this command.
fn of(command: &Identity, trial: &Trial) -> Trial {
    Trial { folder: command.folder.clone(), programs: command.programs.clone(), ..trial.clone() }
}
