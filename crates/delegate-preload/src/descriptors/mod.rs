//! What is known of the program's descriptors.

pub mod errors;
mod regular;

pub use regular::{forget, forget_all, is_common, is_known_regular, is_new, is_regular, share, writes_later};

/// Those from here on are not delegated.
pub const MOST: usize = 4096;
