//! Experiments: they measure what the machine really does, as sections of a [`coho_profile::Profile`].
//!
//! [`EXPERIMENTS`] lists them. Every experiment pins persistent [`workers`], takes short batches of the [`clock`], and
//! turns them into estimates by [`statistics`]. It never predicts; that is the model's part.
#![warn(missing_docs)]

pub mod barrier;
pub mod calls;
pub mod coherence;
pub mod contention;
pub mod counters;
mod error;
pub mod experiment;
mod flush;
mod frame;
pub mod glance;
pub mod host;
pub mod idle;
pub mod kernels;
mod library;
pub mod meanwhile;
pub mod memory;
pub mod mpi;
pub mod placement;
pub mod statistics;
pub mod step;
mod tries;
pub mod workers;
pub mod workload;

pub use coho_counters::clock;
pub use error::Error;
pub use experiment::{Around, Course, EXPERIMENTS, Experiment};
pub use frame::Progress;
