//! Acting on what was measured: runs a command where it is to run, and finds out where that is.
//!
//! A [`Job`] is a command with the CPUs that it and all its descendants may use; [`Signals`] that are meant for it are
//! handed on while it runs.
#![warn(missing_docs)]

pub mod child;

pub use child::{Ended, Failed, Job, Output, Running, Signals, Status};
