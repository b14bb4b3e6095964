//! Code shared by the libraries that are preloaded into programs (`LD_PRELOAD`): settings that are ignored in
//! privileged programs, the functions that the libraries replace, jumps to these, whose they are, CPU masks without
//! allocation, a thread's own storage, values by address, `errno`, and a line on standard error.
#![warn(missing_docs)]

mod by_address;
mod errno;
mod jump;
mod mask;
mod next;
mod others;
mod real;
mod report;
mod sanitizer;
mod settings;
mod storage;

pub use by_address::{ByAddress, REGION, Zeros, give_back, reserve};
pub use errno::Errno;
pub use mask::{MOST, Mask};
pub use next::{Next, look_up_all};
pub use others::{Library, library_of, range_of};
pub use real::{on_fork, real};
pub use report::line;
pub use settings::{is_privileged, setting};
