//! How the iterations of a loop are divided among the members.

use std::ops::Range;

use crate::sync::AtomicUsize;
use crate::sync::Ordering::Relaxed;

/// Which member does which iterations of a loop. A chunk of 0 counts as 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// One block for each member, all of about the same length.
    #[default]
    Static,
    /// Chunks of this many iterations, assigned in turn.
    StaticChunked(usize),
    /// Chunks of this many iterations, each to the member that asks next. A member's chunks are not always in ascending
    /// order.
    Dynamic(usize),
    /// Chunks that shrink with what is left, down to this many iterations, each to the member that asks next.
    Guided(usize),
}

impl Schedule {
    /// Whether the members take chunks as they come.
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Self::Dynamic(_) | Self::Guided(_))
    }

    /// Gives `work` the chunks of one of `size` members. If they are [shared](Self::is_shared), `taken` counts the
    /// iterations that all have taken, or `take` hands out the next chunk.
    pub(super) fn deal(
        self,
        range: Range<usize>,
        (rank, size): (usize, usize),
        taken: &AtomicUsize,
        take: impl Fn(usize) -> Option<usize>,
        mut work: impl FnMut(Range<usize>),
    ) {
        let length = range.len();
        let mut chunk = |from: usize, to: usize| {
            if from < to {
                work(range.start + from..range.start + to);
            }
        };
        match self {
            Self::Static => {
                let (each, more) = (length / size, length % size);
                let from = each * rank + more.min(rank);
                chunk(from, from + each + usize::from(rank < more));
            }
            Self::StaticChunked(most) => {
                let most = most.clamp(1, length.max(1));
                for index in (rank..length.div_ceil(most)).step_by(size) {
                    chunk(index * most, (index * most).saturating_add(most).min(length));
                }
            }
            Self::Dynamic(most) => {
                let most = most.clamp(1, length.max(1));
                let chunks = length.div_ceil(most);
                while let Some(index) = take(chunks) {
                    chunk(index * most, (index * most).saturating_add(most).min(length));
                }
            }
            Self::Guided(least) => {
                let take = |from: usize| {
                    let left = length.saturating_sub(from);
                    (left > 0).then(|| from + (left / size).max(least.max(1)).min(left))
                };
                while let Ok(from) = taken.fetch_update(Relaxed, Relaxed, take) {
                    chunk(from, take(from).expect("what was taken"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ranges::one_by_one;
    use super::*;

    fn schedules(chunk: usize) -> [Schedule; 4] {
        [Schedule::Static, Schedule::StaticChunked(chunk), Schedule::Dynamic(chunk), Schedule::Guided(chunk)]
    }

    proptest! {
        #[test]
        fn every_iteration_once(start in 0usize..100, length in 0usize..200, size in 1usize..9, chunk in 0usize..50) {
            for schedule in schedules(chunk) {
                let taken = AtomicUsize::new(0);
                let mut seen = vec![0; length];
                for rank in 0..size {
                    let take = |chunks| one_by_one(&taken, chunks);
                    schedule.deal(start..start + length, (rank, size), &taken, take, |chunk| {
                        chunk.for_each(|index| seen[index - start] += 1);
                    });
                }
                prop_assert!(seen.iter().all(|&times| times == 1), "{schedule:?}: {seen:?}");
            }
        }
    }

    #[test]
    fn the_longest_range_does_not_overflow() {
        for chunk in [1 << 60, usize::MAX] {
            for schedule in schedules(chunk) {
                let taken = AtomicUsize::new(0);
                let mut total = 0u128;
                for rank in 0..3 {
                    let take = |chunks| one_by_one(&taken, chunks);
                    schedule
                        .deal(0..usize::MAX, (rank, 3), &taken, take, |chunk| total += chunk.len() as u128);
                }
                assert_eq!(total, usize::MAX as u128, "{schedule:?}");
            }
        }
    }

    #[test]
    fn guided_chunks_shrink_to_the_least() {
        let mut lengths = Vec::new();
        let taken = AtomicUsize::new(0);
        Schedule::Guided(3).deal(0..100, (0, 4), &taken, |_| None, |chunk| lengths.push(chunk.len()));
        assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
        assert_eq!((lengths[0], lengths[lengths.len() - 2]), (25, 3));
    }
}
