//! UnixBench's tests and a build, ready to be run on any CPUs (Kimoto measures placements by them).
//!
//! The definitions are those of UnixBench 5.1.3 and 6.0.0 (kdlucas/byte-unixbench). Tests that depend on the compiler
//! or on a program's size are small C programs, compiled where they run; the other tests are functions that run in
//! processes of their own.

mod building;
mod child;
mod folder;
mod functions;
mod peer;
mod programs;
mod report;
mod seat;
mod shell_task;
mod source;
mod stage;
mod test;

pub use building::FLAGS as BUILD_FLAGS;
pub use child::Outcome;
pub use folder::Folder;
pub use peer::Peer;
pub use programs::FLAGS as COMPILER_FLAGS;
pub use report::{Report, rate};
pub use seat::Seat;
pub use stage::Stage;
pub use test::{Test, Unit};
