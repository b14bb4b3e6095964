//! One run of a command: it is started on its CPUs, signals are passed on to it, and its end is reported.

mod input;
mod job;
pub mod orphans;
mod running;
mod signals;
mod trace;

use std::ffi::OsString;

pub use input::{Input, NoInput};
pub use job::{Failed, Job, Output, Traced};
pub use running::{Ended, Running, Status};
pub use signals::{Signal, Signals};
pub use trace::{NotAttached, Samples, Watched, watch, why_no_samples};

/// A command's words as a profile has them.
pub(crate) fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
