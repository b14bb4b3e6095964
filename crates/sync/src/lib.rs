//! Barriers near the physical limit, and fork-join teams, after Nakamura et al., "Fast Barrier Synchronization" (FBS).
//!
//! A [`Barrier`] lets a fixed number of threads wait for each other. Threads spin and sleep in the end
//! ([`WaitPolicy`]); a thread that arrives pays for the sleepers neither a fence nor a read-modify-write.

mod barrier;
mod doze;
mod error;
mod ffi;
mod machine;
mod map;
mod number;
mod os;
mod padded;
pub mod rule;
mod sync;
mod team;
#[cfg(test)]
mod tests;
mod wait;
mod watchdog;

pub use barrier::{Algorithm, Barrier, BarrierBuilder, Latencies, MAX_THREADS, TimedOut};
pub use error::Error;
pub use map::Mapping;
pub use team::{CallerPin, Member, Schedule, Team, TeamBuilder, Times, Turn};
pub use wait::{IdleWork, WaitPolicy};
pub use watchdog::Late;
