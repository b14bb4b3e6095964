//! A fleet: its tables for other programs, and what is worth showing of it.

mod metrics;
mod page;
mod parts;
mod table;

pub use metrics::{metrics, metrics_of};
pub use page::page;
pub use parts::{parts, say_missing, say_skipped};
pub use table::{Line, Tables};
