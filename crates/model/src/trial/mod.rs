//! What follows from a command's trial under several placements: which of them to choose, and what may explain its
//! time.

mod choose;
mod difference;
mod fingerprint;

use coho_profile::Trial;

pub use choose::choice;
pub use difference::{Difference, differences};
pub use fingerprint::fingerprint;

use crate::chance::Family;

/// The comparisons that the search for a trial's best placement takes; those on the same CPUs are one.
pub fn family(trial: &Trial) -> Family {
    Family::among(trial.placements.iter().filter(|one| one.same_as.is_none()).count())
}
