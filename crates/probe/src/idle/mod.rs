//! Idle states and frequency: what there is, how long waking takes, and temporary changes (Kimoto).

pub mod control;
mod files;
mod frequency;
mod observe;
mod states;
mod wakeup;

pub use files::Root;
pub use observe::{Options, told};
pub(crate) use states::{Residency, residency, time_us as states_time_us};
