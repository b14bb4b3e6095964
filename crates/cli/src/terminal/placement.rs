//! What the report takes of predictions of placements.

pub use coho_model::placement::{RUNS, SEED};
pub use coho_show::sections::placement::{change, sign};
