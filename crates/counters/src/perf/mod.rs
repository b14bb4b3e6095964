//! Linux' perf events of the calling thread, read in user mode.

mod counter;
mod descendants;
mod group;
pub(crate) mod machine;
mod map;
mod open;
mod page;
mod passes;
mod span;
mod stand_in;

pub use counter::Counter;
pub use descendants::Descendants;
pub use group::Group;
pub(crate) use page::CAP_USER_RDPMC;
pub use page::Page;
pub use passes::{free_counters, passes};
pub(crate) use span::median_of_pairs;
pub use span::{Bias, Delta, Span};
pub use stand_in::StandIn;
