//! The table of experiments.

use std::fmt;

use coho_profile::{Profile, Stored};

use super::walk::{Survey, Walk, WalkError};
use super::{Surveyed, Times};

/// All experiments of a survey, in the order in which it runs them.
pub const EXPERIMENTS: &[Entry] = &[
    Entry::of::<crate::coherence::ThenWatched>(),
    Entry::of::<crate::counters::Options>(),
    Entry::of::<crate::calls::Options>(),
    Entry::of::<crate::memory::Options>(),
    Entry::of::<crate::memory::loaded::Options>(),
    Entry::of::<crate::barrier::WithPrograms>(),
    Entry::of::<crate::contention::Options>(),
    Entry::of::<crate::idle::Options>(),
];

/// An experiment in a table.
#[derive(Clone, Copy)]
pub struct Entry {
    /// As [`Experiment::SECTION`](super::Experiment::SECTION).
    pub section: &'static str,
    /// As [`Surveyed::TIMES`].
    pub times: Times,
    /// As [`Surveyed::NEEDS_TWO`].
    pub needs_two: &'static [&'static str],
    pub(super) is_in: fn(&mut Profile) -> bool,
    pub(super) visit: fn(&mut Walk<'_>, &Survey, bool) -> Result<(), WalkError>,
}

impl Entry {
    /// The row of an experiment.
    pub const fn of<E: Surveyed>() -> Self {
        Self {
            section: E::SECTION,
            times: E::TIMES,
            needs_two: E::NEEDS_TWO,
            is_in: |profile| E::Section::place(profile).is_some(),
            visit: |walk, survey, is_first| walk.visit_as_part_of::<E>(survey, is_first),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.section).finish()
    }
}

#[cfg(test)]
mod tests {
    use coho_profile::SECTIONS;

    use super::*;

    #[test]
    fn every_row_is_a_section_of_its_own_and_full_takes_no_less_than_quick() {
        for (index, entry) in EXPERIMENTS.iter().enumerate() {
            assert!(SECTIONS.iter().any(|listed| listed.name == entry.section), "{entry:?}");
            assert!(EXPERIMENTS[..index].iter().all(|other| other.section != entry.section), "{entry:?}");
            assert!(entry.times.quick <= entry.times.full, "{entry:?}");
            assert!(!(entry.is_in)(&mut Profile::default()));
        }
    }
}
