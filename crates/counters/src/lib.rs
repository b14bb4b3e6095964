//! Clocks and user-level performance counters.
#![warn(missing_docs)]

pub mod clock;
mod error;
mod event;
mod perf;
mod rdpmc;

pub use error::{Error, Lost};
pub use event::{Column, Event, Mode};
pub use perf::{Counter, Group, Page};
