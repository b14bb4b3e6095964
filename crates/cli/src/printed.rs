//! How to print a result: only as JSON, or as parts for people.

use std::io::{BufWriter, Write};

use coho_profile::{Profile, Stored};
use coho_show::Subject;
use coho_show::part::{Part, Section};
use coho_show::render::terminal::{self, Options};
use coho_show::visible::{Out, Style};
use serde::Serialize;

/// The options of every command that prints a result.
#[derive(Debug, clap::Args)]
pub struct How {
    /// Print the result as JSON, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Show all rows, and how they were obtained
    #[arg(long, alias = "all", conflicts_with = "json")]
    pub full: bool,
}

/// Prints a result on standard output as JSON.
///
/// # Errors
/// If standard output cannot be written to.
pub fn json<T: Serialize>(result: &T) -> anyhow::Result<()> {
    let mut out = BufWriter::new(Out::new(Style::Json));
    serde_json::to_writer_pretty(&mut out, result)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

impl How {
    /// Prints a result on standard output.
    ///
    /// # Errors
    /// If standard output cannot be written to.
    pub fn print<T: Serialize>(&self, result: &T, parts: impl FnOnce(&T) -> Vec<Part>) -> anyhow::Result<()> {
        if self.json {
            return json(result);
        }
        Ok(terminal::parts(&mut self.out(), &parts(result), Options::stdout(self.full))?)
    }

    /// Prints a section, either as JSON only or as parts for people.
    ///
    /// # Errors
    /// If standard output cannot be written to.
    pub fn show_section<S: Stored + Serialize>(
        &self,
        section: S,
        shown: impl FnOnce(&Subject) -> Option<Section>,
    ) -> anyhow::Result<()> {
        let mut profile = Profile::default();
        *S::place(&mut profile) = Some(section);
        self.show(profile, |mut profile| S::place(&mut profile).take(), shown)
    }

    /// The same of a profile's section, or of what is judged of it.
    ///
    /// # Errors
    /// If standard output cannot be written to.
    pub fn show<T: Serialize>(
        &self,
        profile: Profile,
        section: fn(Profile) -> Option<T>,
        shown: impl FnOnce(&Subject) -> Option<Section>,
    ) -> anyhow::Result<()> {
        if self.json {
            return json(&section(profile));
        }
        if let Some(section) = shown(&Subject::new("", profile).answered()) {
            terminal::parts(&mut self.out(), &section.parts, Options::stdout(self.full))?;
        }
        Ok(())
    }

    /// Standard output, for JSON or for people.
    pub fn out(&self) -> Out {
        Out::new(if self.json { Style::Json } else { Style::Plain })
    }
}
