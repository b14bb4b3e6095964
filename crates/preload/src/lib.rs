//! What libraries that are preloaded into programs (`LD_PRELOAD`) share: settings that only an ordinary program obeys, the
//! functions that they stand before, jumps to these, CPU masks without allocation, and a line on standard error.
#![warn(missing_docs)]

mod jump;
mod mask;
mod real;
mod report;
mod settings;

pub use mask::{MOST, Mask};
pub use real::{on_fork, real};
pub use report::line;
pub use settings::{is_privileged, setting};
