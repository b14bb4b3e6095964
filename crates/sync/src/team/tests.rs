//! Unit tests of modules that are model-checked as well, which cannot hold them.

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
        let mut seen = vec![0; chunks];
        let mut take = |rank: usize| {
            let chunk = all.take(rank % size);
            chunk.inspect(|&chunk| seen[chunk] += 1).is_some()
        };
        turns.into_iter().for_each(|rank| {
            take(rank);
        });
        (0..size).for_each(|rank| while take(rank) {});
        prop_assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
    }
}

#[test]
fn who_has_run_out_takes_half_of_what_another_has() {
    let all = Loop::new(2, 16);
    assert_eq!(all.take(0), Some(0));
    let second: Vec<_> = std::iter::from_fn(|| all.take(1)).collect();
    // Its own share, then half of what the first has left.
    assert_eq!(second[..12], [8, 9, 10, 11, 12, 13, 14, 15, 4, 5, 6, 7]);
    assert_eq!(all.take(0), None);
}

#[test]
fn too_many_chunks_for_a_word_are_counted() {
    let all = Loop::new(2, usize::MAX);
    assert_eq!((all.take(0), all.take(1), all.take(0)), (Some(0), Some(1), Some(2)));
}
