//! A module for each command.

pub mod barrier;
pub mod bench;
pub mod calls;
pub mod coherence;
pub mod compare;
pub mod completions;
pub mod contention;
pub mod counters;
pub mod findings;
pub mod idle;
pub mod kernels;
pub mod man;
pub mod memory;
pub mod mpi_rank;
pub mod path;
pub mod predict;
pub mod predict_barrier;
pub mod predict_delegate;
pub mod predict_openmp;
pub mod predict_placement;
pub mod report;
pub mod run;
pub mod schema;
pub mod survey;
pub mod topology;
