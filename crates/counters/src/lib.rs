//! Clocks and user-level performance counters.
//!
//! [`Clock`](clock::Clock) times, in ns. A [`Counter`] counts one [`Event`] of the calling thread, and a [`Group`] several that
//! count together. Both are read in user mode, without a system call; where that is impossible, the [`Error`] says what
//! is missing. A count between two reads has its own cost taken off:
//!
//! ```
//! use coho_counters::{Counter, Error, Event, Mode};
//!
//! fn instructions_of(work: impl FnOnce()) -> Result<i64, Error> {
//!     let counter = Counter::open(&Event::instructions(), Mode::User)?;
//!     let bias = counter.calibrate()?;
//!     let span = counter.start()?;
//!     work();
//!     Ok(span.stop()?.less(bias).events())
//! }
//!
//! match instructions_of(|| drop(vec![1; 1000])) {
//!     Ok(instructions) => println!("{instructions} instructions"),
//!     Err(why) => println!("not available: {why}"),
//! }
//! ```
#![warn(missing_docs)]

mod architecture;
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
