//! Where an experiment's results go: standard output, and a profile if one is named.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coho_platform::{memory, stop};
use coho_probe::Experiment;
use coho_probe::experiment::{Plan, single};
use coho_probe::host;
use coho_profile::{Host, Profile, Section as _};
use coho_show::Subject;
use coho_show::part::Section;
use coho_topology::Topology;
use serde::Serialize;

use crate::arguments::{Course, file_name};
use crate::printed::How;
use crate::progress::Watching;
use coho_show::say;

/// What an experiment needs beside its buffers, which adapt to the remaining memory.
const LEAST_MEMORY: u64 = 16 << 20;

/// Refuses to begin where the system would kill the command for lack of memory.
///
/// # Errors
/// If less than `least` bytes remain for this process.
pub fn enough_memory(least: u64) -> anyhow::Result<()> {
    let room = memory::room();
    anyhow::ensure!(
        room >= least,
        "{} MiB of memory are left to this process; this takes {} MiB",
        room >> 20,
        least >> 20
    );
    Ok(())
}

/// The options of every experiment's command.
#[derive(Debug, clap::Args)]
pub struct Results {
    #[command(flatten)]
    pub how: How,
    #[command(flatten)]
    pub file: File,
}

/// The options with which most experiments' commands end.
#[derive(Debug, clap::Args)]
pub struct Run {
    #[command(flatten)]
    pub course: Course,
    #[command(flatten)]
    pub results: Results,
}

/// The profile in which a section is kept.
#[derive(Debug, clap::Args)]
pub struct File {
    /// Also write a profile
    #[arg(short, long, value_name = "FILE", value_parser = file_name())]
    output: Option<PathBuf>,
}

/// A signal ended something that has no partial result.
#[derive(Debug)]
pub struct Stopped {
    /// The signal's number.
    pub signal: i32,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped by {}", signal_name(self.signal))
    }
}

impl std::error::Error for Stopped {}

/// `SIGINT`.
pub fn signal_name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".into(),
        2 => "SIGINT".into(),
        3 => "SIGQUIT".into(),
        15 => "SIGTERM".into(),
        other => format!("signal {other}"),
    }
}

/// A measurement that has been prepared: signals end it instead of the process, and its profile can be written.
pub struct Begun<'a> {
    file: &'a File,
    /// The profile that was named, as it was before.
    pub earlier: Option<Profile>,
    /// The machine and its software.
    pub host: Host,
    /// What the machine says it is.
    pub topology: Topology,
}

/// What one experiment measured.
pub struct Measured<S> {
    /// As it was measured.
    pub section: S,
    /// The profile that was named, as it is now; otherwise one that holds this section only.
    pub profile: Profile,
    /// Whether the profile keeps its earlier section, as a signal stopped this run.
    pub is_old: bool,
}

impl Begun<'_> {
    /// Measures one experiment and puts its section into the profile, if one is named. Says what a signal left
    /// incomplete or old. With `history`, compares with earlier surveys of this host.
    ///
    /// # Errors
    /// As for [`single`].
    pub fn measure<E: Experiment>(
        &self,
        experiment: &E,
        history: bool,
    ) -> anyhow::Result<Measured<E::Section>> {
        let Self { file, host, topology, .. } = self;
        let plan = Plan { host, topology, mpi_rank: None, path: file.path() };
        let mut watching = Watching::new(Some(host).filter(|_| history));
        let (section, outcome) = single(experiment, plan, &mut watching)?;
        let is_old = !outcome.old.is_empty();
        file.say_stopped(experiment.name(), is_old);
        Ok(Measured { section, profile: outcome.profile, is_old })
    }
}

impl File {
    /// The profile's path.
    pub fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Prepares a measurement: from now on signals end the measurement instead of the process. Checks that the
    /// profile's path holds a profile of this machine that may be written, or nothing, and returns the profile.
    ///
    /// # Errors
    /// If too little memory is left, signals cannot be caught, or as for [`File::check`].
    pub fn prepare(&self) -> anyhow::Result<Option<Profile>> {
        begin()?;
        self.check()
    }

    /// The same, with what the machine is.
    ///
    /// # Errors
    /// As for [`File::prepare`], or if the topology cannot be detected.
    pub fn begin(&self) -> anyhow::Result<Begun<'_>> {
        let earlier = self.prepare()?;
        let host = host::collect();
        let topology = coho_topology::detect().context("cannot detect the topology")?;
        Ok(Begun { file: self, earlier, host, topology })
    }

    /// As [`File::prepare`], where figures are read instead of measured: [`Profile::check_machine_of`] later checks
    /// which machine they belong to.
    ///
    /// # Errors
    /// As for [`File::prepare`], but not for another machine's profile.
    pub fn prepare_to_read(&self) -> anyhow::Result<Option<Profile>> {
        begin()?;
        Ok(self.path().map(Profile::check_update).transpose()?)
    }

    /// The profile as it is; `None` if none is named.
    ///
    /// # Errors
    /// As for [`Profile::check_update`], or if it is another machine's.
    pub fn check(&self) -> anyhow::Result<Option<Profile>> {
        let Some(path) = self.path() else { return Ok(None) };
        let earlier = Profile::check_update(path)?;
        earlier.check_machine(path, &host::collect())?;
        Ok(Some(earlier))
    }

    /// Names the figures of an earlier section that were not measured again and are gone: its figures share a method,
    /// so the section is replaced as a whole.
    pub fn say_gone(&self, section: &str, before: BTreeSet<String>, now: &BTreeSet<String>) {
        let gone: Vec<String> = before.into_iter().filter(|name| !now.contains(name)).collect();
        let Some(path) = self.path().filter(|_| !gone.is_empty()) else { return };
        let more = gone.len().saturating_sub(TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let gone = gone[..gone.len().min(TOLD)].join(", ");
        say!("coho: {}: its {section} were replaced as a whole; gone: {gone}{more}", path.display());
    }

    /// Puts a section, and the host if it is known, into the profile, whose other sections stay. If a signal stopped
    /// the measurement and the profile `has` an earlier section, the earlier one stays instead. Says what is
    /// incomplete or old.
    ///
    /// # Errors
    /// As for [`Profile::update`].
    pub fn keep(
        &self,
        name: &str,
        host: Option<Host>,
        has: impl FnOnce(&Profile) -> bool,
        section: impl FnOnce(&mut Profile),
    ) -> anyhow::Result<()> {
        let mut is_old = false;
        if let Some(path) = self.path() {
            Profile::update(path, |profile| {
                is_old = stop::requested() && has(profile);
                if !is_old {
                    profile.host = host.or(profile.host.take());
                    section(profile);
                }
            })?;
        }
        self.say_stopped(name, is_old);
        Ok(())
    }

    /// Says what a signal left incomplete, or what stays because of it.
    pub fn say_stopped(&self, name: &str, is_old: bool) {
        let Some(signal) = stop::signal().map(signal_name) else { return };
        match self.path().filter(|_| is_old) {
            Some(path) => say!("coho: stopped by {signal}: {} keeps its earlier {name}", path.display()),
            None => say!("coho: stopped by {signal}: {name} is not complete"),
        }
    }
}

/// The most names of lost figures that are listed.
const TOLD: usize = 8;

fn begin() -> anyhow::Result<()> {
    enough_memory(LEAST_MEMORY)?;
    stop::on_signals().context("cannot catch signals")
}

impl Results {
    /// Measures an experiment, keeps its section and prints it. Fails with `nothing` if there is no figure, though nothing
    /// interrupted it.
    ///
    /// # Errors
    /// As for [`File::begin`] and [`Begun::measure`], or if standard output cannot be written to.
    pub fn run<E: Experiment<Section: Serialize>>(
        &self,
        experiment: &E,
        shown: impl FnOnce(&Subject) -> Option<Section>,
        nothing: &str,
    ) -> anyhow::Result<()> {
        let section = self.file.begin()?.measure(experiment, false)?.section;
        self.present::<E>(section, shown, nothing)
    }

    /// The same of what was measured already.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn present<E: Experiment<Section: Serialize>>(
        &self,
        section: E::Section,
        shown: impl FnOnce(&Subject) -> Option<Section>,
        nothing: &str,
    ) -> anyhow::Result<()> {
        let was_interrupted = section.method().is_some_and(|method| method.interrupted);
        let is_empty = !E::has_figures(&section) && !was_interrupted;
        self.how.show_section(section, shown)?;
        anyhow::ensure!(!is_empty, "{nothing}");
        Ok(())
    }
}
