//! What follows from a command's trial under several placements: which of them to choose, and what may explain its
//! time.

mod choose;
mod difference;

pub use choose::choice;
pub use difference::{Difference, differences};
