//! The survey's profile on disk: a section is replaced only once its new measurement is done.

use std::path::{Path, PathBuf};

use coho_platform::stop;
use coho_profile::{Host, Profile, TopologySection};

use super::figures::Figures;
use crate::results::signal_name;
use coho_show::say;

/// The result of one experiment: its section, or one that says only why nothing was measured.
pub type Measured<T> = Result<T, T>;

/// Where a section stands in a profile.
type Slot<T> = fn(&mut Profile) -> &mut Option<T>;

/// The profile, and what happened to the sections that were not completely measured.
pub struct Sections {
    path: PathBuf,
    profile: Profile,
    /// Written, but a signal ended them early.
    incomplete: Vec<&'static str>,
    /// Not measured, or not to the end; those of an earlier survey are still there.
    old: Vec<&'static str>,
    /// Not measured at all.
    missing: Vec<&'static str>,
    /// Whether anything was measured.
    has_figures: bool,
}

impl Sections {
    /// Records the machine; every other section stays as it is.
    ///
    /// # Errors
    /// As for [`Profile::update`].
    pub fn begin(path: &Path, host: Host, topology: TopologySection) -> anyhow::Result<Self> {
        let profile = Profile::update(path, |profile| {
            profile.host = Some(host);
            profile.topology = Some(topology);
        })?;
        let path = path.to_owned();
        Ok(Self {
            path,
            profile,
            incomplete: Vec::new(),
            old: Vec::new(),
            missing: Vec::new(),
            has_figures: false,
        })
    }

    /// The profile as it is now.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Whether this survey has measured anything.
    pub fn has_figures(&self) -> bool {
        self.has_figures
    }

    /// Stores an experiment's result; `None` where the survey had to end before it. Only a completely measured
    /// section replaces an earlier one.
    ///
    /// # Errors
    /// As for [`Profile::update`].
    pub fn put<T: Figures>(
        &mut self,
        name: &'static str,
        slot: Slot<T>,
        measured: Option<Measured<T>>,
    ) -> anyhow::Result<()> {
        let stopped = stop::requested();
        let Some(measured) = measured else {
            let earlier = slot(&mut self.profile).is_some();
            if earlier {
                self.old.push(name)
            } else {
                self.missing.push(name)
            }
            return Ok(());
        };
        self.has_figures |= measured.as_ref().is_ok_and(Figures::has_figures);
        let is_done = measured.is_ok() && !stopped;
        let mut is_old = false;
        self.profile = Profile::update(&self.path, |profile| {
            let slot = slot(profile);
            is_old = !is_done && slot.is_some();
            if !is_old {
                *slot = Some(measured.unwrap_or_else(|why| why));
            }
        })?;
        match (is_old, stopped) {
            (true, _) => self.old.push(name),
            (false, true) => self.incomplete.push(name),
            (false, false) => {}
        }
        Ok(())
    }

    /// Adds to a section that this survey has measured; a signal leaves it incomplete.
    ///
    /// # Errors
    /// As for [`Profile::update`].
    pub fn add<T>(&mut self, name: &'static str, slot: Slot<T>, section: T) -> anyhow::Result<()> {
        self.profile = Profile::update(&self.path, |profile| *slot(profile) = Some(section))?;
        if stop::requested() && !self.incomplete.contains(&name) {
            self.incomplete.push(name);
        }
        Ok(())
    }

    /// Names the sections that are incomplete, old or missing.
    pub fn report(&self) {
        let mut parts = Vec::new();
        if !self.incomplete.is_empty() {
            parts.push(format!("not complete: {}", self.incomplete.join(", ")));
        }
        if !self.missing.is_empty() {
            parts.push(format!("not measured: {}", self.missing.join(", ")));
        }
        if !self.old.is_empty() {
            parts.push(format!("{} keeps its earlier {}", self.path.display(), self.old.join(", ")));
        }
        let why = match stop::signal() {
            Some(signal) => format!("stopped by {}", signal_name(signal)),
            None if parts.is_empty() => return,
            None => "not everything was measured".into(),
        };
        say!("coho: {}", std::iter::once(why).chain(parts).collect::<Vec<_>>().join("; "));
    }
}
