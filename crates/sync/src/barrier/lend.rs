//! Lends the lines of a barrier's flags while nobody waits, so that the time of a transfer can be measured on these
//! very lines.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU64;

use super::{Barrier, Kind};
use crate::padded::Padded;

/// Words of a line.
const WORDS: usize = 8;

type Words = [MaybeUninit<u64>; WORDS];

/// A line that holds flags, with their padding.
pub(super) struct Line<'a>(&'a mut Words);

impl<'a> Line<'a> {
    /// The first line of a place.
    pub(super) fn of<T>(place: &'a mut Padded<T>) -> Self {
        // SAFETY: a place is padded to more than a line, aligned for words, and borrowed for as long. Only `Lent`
        // writes to the words, and it restores them before anybody can look at the place again.
        Self(unsafe { &mut *ptr::from_mut(place).cast() })
    }

    fn clear(&mut self) -> &[AtomicU64; WORDS] {
        *self.0 = [MaybeUninit::new(0); WORDS];
        // SAFETY: each word is now a number, and the loan is as exclusive as the line's own.
        unsafe { &*ptr::from_mut(self.0).cast() }
    }
}

/// Lines and their former contents, which are restored in the end.
struct Lent<'a> {
    lines: Vec<Line<'a>>,
    held: Vec<Words>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.lines.iter_mut().zip(&self.held).for_each(|(line, held)| *line.0 = *held);
    }
}

impl Barrier {
    /// Calls `measure` with the lines by which the threads learn of each other's arrivals: the first 64 bytes of each,
    /// as words of 0. Afterwards their contents are restored, so that the barrier goes on as if nothing had happened.
    /// Barriers that count arrivals have no such lines: [`Algorithm::Central`](crate::Algorithm::Central) and the
    /// locks.
    ///
    /// Nobody waits at the barrier meanwhile, as it is borrowed mutably.
    ///
    /// ```
    /// use coho_sync::{Algorithm, Barrier};
    /// let mut barrier = Barrier::new(Algorithm::Fbs, 4)?;
    /// assert_eq!(barrier.lend_lines(|lines| lines.len()), 4);
    /// # Ok::<(), coho_sync::Error>(())
    /// ```
    pub fn lend_lines<T>(&mut self, measure: impl FnOnce(&[&[AtomicU64; WORDS]]) -> T) -> T {
        let lines = self.kind.lines();
        let mut lent = Lent { held: lines.iter().map(|line| *line.0).collect(), lines };
        let words: Vec<_> = lent.lines.iter_mut().map(Line::clear).collect();
        measure(&words)
    }
}

impl Kind {
    fn lines(&mut self) -> Vec<Line<'_>> {
        match self {
            Self::Pair(pair) => pair.lines().collect(),
            Self::SeparateLines(fbs) => fbs.lines().collect(),
            Self::OneLine(fbs) => fbs.lines().collect(),
            Self::Tournament(tournament) => tournament.lines().collect(),
            Self::Rounds(rounds) => rounds.lines().collect(),
            Self::Lock(_) | Self::SpinLock(_) | Self::Central(_) => Vec::new(),
        }
    }
}
