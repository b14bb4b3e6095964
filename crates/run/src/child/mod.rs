//! One run of a command: started on its CPUs, signals handed on, its end told.

mod job;
pub mod orphans;
mod running;
mod signals;

pub use job::{Failed, Job, Output};
pub use running::{Ended, Running, Status};
pub use signals::{Signal, Signals};
