//! Clocks and user-level performance counters.
#![warn(missing_docs)]

pub mod clock;
mod error;
mod event;
pub mod ffi;
mod perf;
mod price;
mod rdpmc;
pub mod selftest;
pub mod tables;

pub use error::{Error, Lost};
pub use event::{Column, Event, Mode};
pub use perf::{Bias, Counter, Delta, Descendants, Group, Page, Span, StandIn, free_counters, passes};
pub use price::{Method, Price};
