//! How to print a result: only as JSON, or as parts for people.

use std::io::{BufWriter, Write};

use coho_show::part::Part;
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

    /// Standard output, for JSON or for people.
    pub fn out(&self) -> Out {
        Out::new(if self.json { Style::Json } else { Style::Plain })
    }
}
