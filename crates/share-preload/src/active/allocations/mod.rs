//! What the program allocates, and where: known of every block at little cost, and recorded of those that an operand is in.

mod blocks;
mod frames;
mod interpose;
mod large;
mod padding;
mod sites;

pub use blocks::report;
pub use frames::{Told, remember_module};
pub use interpose::look_up_all;
pub use large::report_all;
pub use sites::{SEEN, Seen, forget_reports};

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Whether allocations are looked at.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// From now on, allocations are looked at.
pub fn begin() {
    IS_ACTIVE.store(true, Relaxed);
}

/// From now on, what these sites allocate is padded; whether there is any, and the program has no allocator of its own.
pub fn pad(sites: &[u8]) -> bool {
    interpose::is_whole() && padding::begin(sites)
}
