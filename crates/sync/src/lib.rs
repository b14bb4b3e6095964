//! Barriers near the physical limit, and fork-join teams, after Nakamura et al., "Fast Barrier Synchronization" (FBS).
//!
//! A [`Barrier`] makes a fixed number of threads wait for each other. A waiting thread spins, and sleeps if the wait
//! grows long ([`WaitPolicy`]). Sleepers cost an arriving thread no read-modify-write, and a fence only if threads
//! outnumber the CPUs or the kernel lacks `membarrier`.
//!
//! A [`Team`] is a number of threads that persist between parallel regions, and share loops and reductions:
//!
//! ```
//! use coho_sync::{Schedule, Team};
//!
//! let mut team = Team::new(2)?;
//! let sum = team.parallel_reduce(0..100, Schedule::Static, || 0, |sum, i| sum + i * i, |a, b| a + b);
//! assert_eq!(sum, 328350);
//! # Ok::<(), coho_sync::Error>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

mod barrier;
mod doze;
mod error;
mod ffi;
mod machine;
mod map;
mod number;
mod os;
mod padded;
mod process;
pub mod rule;
mod sync;
mod team;
#[cfg(test)]
mod tests;
mod wait;
mod watchdog;

pub use barrier::{Algorithm, Barrier, BarrierBuilder, Latencies, MAX_THREADS, TimedOut};
pub use error::Error;
pub use map::{Mapping, Objects};
pub use process::{Lost, ProcessBarrier};
pub use team::{CallerPin, Member, Schedule, Share, Team, TeamBuilder, Times, Turn};
pub use wait::{IdleWork, SpareWork, WaitPolicy, may_linger};
pub use watchdog::Late;
