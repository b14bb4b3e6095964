//! Acting on what was measured: runs a command on the CPUs where it runs best, and finds out which these are.
//!
//! A [`Job`] is a command with the CPUs that it and all its descendants may use; [`Signals`] that are meant for it are
//! passed on while it runs. A [`trial`] runs it under several placements in turn; [`live`] moves one that runs for
//! long. A [`Plan`](plan::Plan) is all that `coho run` was asked for, checked, and carries it out.
#![warn(missing_docs)]

pub mod check;
pub mod child;
pub mod delegation;
pub mod doctor;
mod events;
mod go;
mod imports;
pub mod live;
mod mapped;
pub mod mpi;
pub mod openmp;
mod per_process;
pub mod per_thread;
pub mod plan;
pub mod preload;
pub mod share;
pub mod trial;
mod unnamed;
pub mod watch;

pub use child::{Ended, Failed, Input, Job, NoInput, Output, Running, Samples, Signals, Status, Traced};
pub use imports::NotExamined;
