//! Two things that happen once each, in any order, on any threads.

use crate::sync::AtomicU8;
use crate::sync::Ordering::AcqRel;

/// Which of the two have happened.
#[derive(Debug)]
pub struct Both(AtomicU8);

const NEITHER: u8 = 0;
const ONE: u8 = 1;
const OTHER: u8 = 2;

impl Both {
    pub fn new() -> Self {
        Self(AtomicU8::new(NEITHER))
    }

    /// The one has happened; returns whether the other has, too. What was done before that is then visible.
    pub fn one(&self) -> bool {
        self.0.swap(ONE, AcqRel) == OTHER
    }

    /// As [`Both::one`], for the other.
    pub fn other(&self) -> bool {
        self.0.swap(OTHER, AcqRel) == ONE
    }
}
