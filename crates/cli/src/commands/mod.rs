//! A module for each command.

pub mod calls;
pub mod coherence;
pub mod compare;
pub mod completions;
pub mod counters;
pub mod man;
pub mod mpi_rank;
pub mod predict;
pub mod report;
pub mod schema;
pub mod survey;
pub mod topology;
