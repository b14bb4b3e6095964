//! Programs that are only measured: what they compute interests nobody, but how long it takes.
//!
//! - [`kernels`]: a loop and two applications whose threads meet at barriers, and the crews that run them.
//! - [`unixbench`]: UnixBench's tests by its definitions, and a build, in processes of their own.
//!
//! `probe` times them and decides in which order, where and how often they run.
#![warn(missing_docs)]

mod error;
pub mod kernels;
pub mod unixbench;

pub use error::Error;
