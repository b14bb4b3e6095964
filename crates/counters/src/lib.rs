//! Clocks and user-level performance counters.
#![warn(missing_docs)]

pub mod clock;
mod event;

pub use event::{Column, Event, Mode};
