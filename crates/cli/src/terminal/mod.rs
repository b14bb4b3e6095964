//! What people see on a terminal: tables of 80 columns, maps in colour, progress.

pub mod barrier;
pub mod calls;
mod colour;
pub mod placement;
pub mod predict_barrier;
pub mod predict_delegate;
pub mod progress;
pub mod run;
pub mod table;
pub mod timeline;

use std::io::Write;

pub use colour::Depth;
use serde::Serialize;

use crate::visible::{Out, Style};

/// Prints a section on standard output: as JSON and nothing else, or as `people` write it.
pub fn print<T: Serialize>(
    json: bool,
    section: &T,
    people: impl FnOnce(&mut Out, &T) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = out(json);
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(section)?)?;
    } else {
        people(&mut out, section)?;
    }
    Ok(())
}

/// Standard output, for JSON or for people.
pub fn out(json: bool) -> Out {
    Out::new(if json { Style::Json } else { Style::Plain })
}
