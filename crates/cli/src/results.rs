//! Where an experiment's results go: standard output, and a profile if one is named.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coho_platform::{memory, stop};
use coho_probe::Experiment;
use coho_probe::experiment::{Plan, single};
use coho_probe::host;
use coho_profile::{Host, Profile, Section as _, Stored};
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

/// A section that is to be put into a profile.
pub struct Kept {
    /// By which a reader knows its figures.
    pub name: &'static str,
    /// The machine that they are of, if it is known.
    pub host: Option<Host>,
    /// Whether there is any.
    pub has_figures: bool,
    /// Whether a profile has some already.
    pub is_in: fn(&Profile) -> bool,
}

/// What one experiment measured.
pub struct Measured<S> {
    /// As it was measured.
    pub section: S,
    /// The profile that was named, as it is now; otherwise one that holds this section only.
    pub profile: Profile,
    /// Whether the profile keeps its earlier section, as a signal stopped this run or it found nothing.
    pub is_old: bool,
}

impl Begun<'_> {
    /// Measures one experiment and puts its section into the profile, if one is named. Says what is incomplete, which
    /// figures of an earlier run stay, and which are gone. With `history`, compares with earlier surveys of this host.
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
        let before = self.earlier.as_ref().map(quantities::<E::Section>).unwrap_or_default();
        let (section, outcome) = single(experiment, plan, &mut watching)
            .inspect_err(|_| file.say_old(experiment.name(), !before.is_empty()))?;
        let is_old = !outcome.old.is_empty();
        file.say_old(experiment.name(), is_old);
        if let Some(path) = file.path().filter(|_| !is_old) {
            let mut own = Profile::default();
            *E::Section::place(&mut own) = Some(section.clone());
            let [now, own] = [&outcome.profile, &own].map(quantities::<E::Section>);
            let kept = before.iter().filter(|one| now.contains(*one) && !own.contains(*one));
            say_figures(path, "keeps earlier figures", kept);
            say_figures(path, "loses figures", before.iter().filter(|one| !now.contains(*one)));
        }
        Ok(Measured { section, profile: outcome.profile, is_old })
    }
}

/// The labels of the quantities of which a profile's section has figures.
fn quantities<S: Stored>(profile: &Profile) -> BTreeSet<&'static str> {
    let mut alone = Profile::default();
    S::place(&mut alone).clone_from(S::place(&mut profile.clone()));
    alone.figures().iter().map(|one| one.quantity.label).collect()
}

/// Names the quantities of which a file has figures no more.
pub fn say_lost(path: &Path, before: &Profile, now: &Profile) {
    let [before, now] = [before, now]
        .map(|profile| profile.figures().iter().map(|one| one.quantity.label).collect::<BTreeSet<_>>());
    say_figures(path, "loses figures", before.iter().filter(|one| !now.contains(*one)));
}

/// Names quantities, if there are any, of which a run measured no figure.
fn say_figures<'a>(path: &Path, what: &str, which: impl Iterator<Item = &'a &'static str>) {
    let which: Vec<String> = which.map(|name| (*name).to_owned()).collect();
    if !which.is_empty() {
        say!("coho: {} {what} that this run did not measure: {}", path.display(), shortened(&which));
    }
}

/// Names, of which not all are told if they are many.
fn shortened(names: &[String]) -> String {
    let more = names.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names[..names.len().min(TOLD)].join(", ") + &more
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
        let gone = shortened(&gone);
        say!("coho: {}: its {section} were replaced as a whole; gone: {gone}", path.display());
    }

    /// Puts a section, and the host if it is known, into the profile, whose other sections stay. If a signal stopped
    /// the measurement, or it found nothing, an earlier section stays instead. Says what is incomplete or old.
    ///
    /// # Errors
    /// As for [`Profile::update`].
    pub fn keep(&self, kept: Kept, section: impl FnOnce(&mut Profile)) -> anyhow::Result<()> {
        let mut is_old = false;
        if let Some(path) = self.path() {
            Profile::update(path, |profile| {
                is_old = (stop::requested() || !kept.has_figures) && (kept.is_in)(profile);
                if !is_old {
                    profile.host = kept.host.or(profile.host.take());
                    section(profile);
                }
            })?;
        }
        self.say_old(kept.name, is_old);
        Ok(())
    }

    /// Says what a signal left incomplete, or what stays because of it, or because nothing was measured.
    pub fn say_old(&self, name: &str, is_old: bool) {
        let kept =
            self.path().filter(|_| is_old).map(|path| format!("{} keeps its earlier {name}", path.display()));
        match (stop::signal().map(signal_name), kept) {
            (Some(signal), Some(kept)) => say!("coho: stopped by {signal}: {kept}"),
            (Some(signal), None) => say!("coho: stopped by {signal}: {name} is not complete"),
            (None, Some(kept)) => say!("coho: {kept}: this run measured none"),
            (None, None) => {}
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
