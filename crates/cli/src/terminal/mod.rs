//! What people see on a terminal: tables of 80 columns, maps in colour, progress.

pub mod barrier;
pub mod bench;
pub mod calls;
pub mod coherence;
mod colour;
pub mod counters;
mod heat_map;
pub mod idle;
pub mod kernels;
pub mod memory;
pub mod path;
pub mod path_check;
pub mod placement;
pub mod predict_barrier;
pub mod progress;
pub mod run;
pub mod table;
pub mod timeline;

use std::io::{StdoutLock, Write};

pub use colour::Depth;
use serde::Serialize;

/// Prints a section on standard output: as JSON and nothing else, or as `people` write it.
pub fn print<T: Serialize>(
    json: bool,
    section: &T,
    people: impl FnOnce(&mut StdoutLock<'static>, &T) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(section)?)?;
    } else {
        people(&mut out, section)?;
    }
    Ok(())
}
