//! Unit tests of modules that are also model-checked, and so cannot contain them.

use proptest::prelude::*;

use super::construct::Constructs;
use crate::wait::Crowding;

/// A team's members, all in the same loop of so many chunks, as one thread.
struct Loop {
    constructs: Constructs,
    number: usize,
    chunks: usize,
}

impl Loop {
    fn new(size: usize, chunks: usize) -> Self {
        Self { constructs: Constructs::new(size, Crowding::None), number: 3, chunks }
    }

    fn take(&self, rank: usize) -> Option<usize> {
        let entered = self.constructs.enter(self.number, rank);
        self.constructs.take(&entered, self.number, rank, self.chunks)
    }
}

proptest! {
    #[test]
    fn each_chunk_once_whoever_comes_when(
        size in 1usize..6,
        chunks in 0usize..60,
        turns in proptest::collection::vec(0usize..6, 0..100),
    ) {
        let all = Loop::new(size, chunks);
        let mut had = vec![Vec::new(); size];
        let mut is_over = vec![false; size];
        let mut take = |rank: usize| {
            if !is_over[rank] {
                let chunk = all.take(rank);
                is_over[rank] = chunk.is_none();
                had[rank].extend(chunk);
            }
            !is_over[rank]
        };
        turns.into_iter().for_each(|rank| {
            take(rank % size);
        });
        (0..size).for_each(|rank| while take(rank) {});
        let last = chunks.checked_sub(1);
        for had in had.iter().filter(|had| had.iter().any(|&chunk| Some(chunk) == last)) {
            prop_assert_eq!(had.last().copied(), last);
        }
        let mut had = had.concat();
        had.sort_unstable();
        prop_assert!(had.iter().copied().eq(0..chunks), "{:?}", had);
    }
}

#[test]
fn who_has_run_out_takes_half_of_what_another_has() {
    let all = Loop::new(2, 16);
    assert_eq!(all.take(0), Some(0));
    let second: Vec<_> = std::iter::from_fn(|| all.take(1)).collect();
    // Its own share, then half of what the first has left, and again; in the end the last.
    assert_eq!(second, [8, 9, 10, 11, 12, 13, 14, 4, 5, 6, 7, 2, 3, 1, 15]);
    assert_eq!((all.take(0), all.take(1)), (None, None));
}

#[test]
fn too_many_chunks_for_a_word_are_counted() {
    let all = Loop::new(2, usize::MAX);
    assert_eq!((all.take(0), all.take(1), all.take(0)), (Some(0), Some(1), Some(2)));
}
