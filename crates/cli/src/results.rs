//! Where an experiment's results go: standard output, and a profile if one is named.

use std::io::StdoutLock;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coho_probe::stop;
use coho_profile::{Host, Profile};
use serde::Serialize;

use crate::arguments::check_folder;
use crate::terminal;

/// What every experiment's command takes.
#[derive(Debug, clap::Args)]
pub struct Results {
    /// Print the profile's section as JSON, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Also write a profile
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Results {
    /// The profile to write.
    pub fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Before anything is measured: the profile has a place to lie, and an interrupted run keeps what is done.
    ///
    /// # Errors
    /// If there is no such folder, or signals cannot be caught.
    pub fn prepare(&self) -> anyhow::Result<()> {
        stop::on_signals().context("cannot catch Ctrl-C")?;
        self.output().map_or(Ok(()), check_folder)
    }

    /// Puts a section into the profile; other sections of one that is there already stay.
    ///
    /// # Errors
    /// As [`Profile::update`].
    pub fn keep(&self, host: Host, section: impl FnOnce(&mut Profile)) -> anyhow::Result<()> {
        if let Some(path) = self.output() {
            Profile::update(path, |profile| {
                profile.host = Some(host);
                section(profile);
            })?;
        }
        Ok(())
    }

    /// Prints a section as JSON and nothing else, or as `people` write it.
    ///
    /// # Errors
    /// If standard output cannot be written to.
    pub fn print<T: Serialize>(
        &self,
        section: &T,
        people: impl FnOnce(&mut StdoutLock<'static>, &T) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        terminal::print(self.json, section, people)
    }
}
