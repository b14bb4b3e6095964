//! What follows from a machine profile: classes of CPU pairs in their times, contradictions to the claimed topology,
//! what coherence costs a program, which calls another core should execute, and where a scheduler puts programs.
//! [`findings`](findings()) sums up what the reader can act on. Nothing here measures.
#![warn(missing_docs)]

mod answers;
mod audit;
pub mod barrier;
pub mod chance;
pub mod claims;
mod classify;
pub mod cpi;
pub mod delegation;
mod error;
mod findings;
pub mod fleet;
pub mod history;
pub mod hops;
mod imported;
mod json;
pub mod judge;
pub mod listings;
pub mod loaded;
mod matrix;
pub mod measured;
mod nearest;
pub mod network;
pub mod openmp;
pub mod papers;
pub mod path;
pub mod placement;
mod range;
pub mod ratios;
mod reading;
pub mod shape;
pub mod share;
pub mod share_lines;
pub mod signs;
pub mod stability;
mod stats;
pub mod trial;
pub mod watch;
mod words;

pub use answers::Answers;
pub use audit::{Contradiction, audit};
pub use classify::{Class, Classification, LEAST_RATIO, Level, Verdict, classify};
pub use error::Error;
pub use findings::{Finding, Urgency, findings};
pub use imported::{check_known, coherence_from_matrix, coherence_of_machine};
pub use matrix::{MAX_CPUS, Matrix};
pub use nearest::{Beside, Kinship, Likeness, nearest};
