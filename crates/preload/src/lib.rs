//! Code shared by the libraries that are preloaded into programs (`LD_PRELOAD`): settings that are ignored in
//! privileged programs, the functions that the libraries replace, jumps to these, CPU masks without allocation, a
//! thread's own storage, and a line on standard error.
#![warn(missing_docs)]

mod jump;
mod mask;
mod real;
mod report;
mod settings;
mod storage;

pub use mask::{MOST, Mask};
pub use real::{forget_failures, on_fork, real};
pub use report::line;
pub use settings::{is_privileged, setting};
