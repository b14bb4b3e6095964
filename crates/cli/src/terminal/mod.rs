//! What people see on a terminal: tables of 80 columns, maps in colour, progress.

pub mod coherence;
mod colour;
mod heat_map;
pub mod progress;
mod table;
pub mod timeline;

pub use colour::Depth;
