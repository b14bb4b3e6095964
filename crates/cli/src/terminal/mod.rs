//! What people see on a terminal: tables of 80 columns, maps in colour, progress.

pub mod barrier;
pub mod calls;
pub mod coherence;
mod colour;
pub mod counters;
mod heat_map;
pub mod kernels;
pub mod progress;
pub mod table;
pub mod timeline;

pub use colour::Depth;
