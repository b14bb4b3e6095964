//! The one-way time on the very lines by which a barrier's threads learn of each other, and on the best of many: the
//! cache slice that holds a line changes its time by up to a half.

use std::sync::atomic::AtomicU64;

use coho_profile::PairMethod;
use coho_sync::Barrier;

use super::limit;
use crate::coherence::arena::LINES;
use crate::coherence::line::Two;
use crate::coherence::line_spread;
use crate::coherence::run::Effort;
use crate::coherence::visit::{Kind, Task};
use crate::workers::Workers;

/// Words of a line that a barrier lends.
const WORDS: usize = 8;
/// How often every one of those lines is timed, and with how many round trips.
const ROUNDS: u64 = 4;
const ROUND_TRIPS: u64 = 64;

/// Measures the one-way time of two CPUs on the lines of this barrier's flags, by flags. `None` if the barrier has none, or
/// if the CPUs did not meet.
pub(super) fn own_lines(workers: &Workers, pair: (u32, u32), barrier: &mut Barrier) -> Option<f64> {
    barrier.lend_lines(|lines| {
        let two = (!lines.is_empty()).then(|| words(lines))?;
        let by_flags = limit::between(workers, pair, two, &[PairMethod::Flags]);
        by_flags.into_iter().find(|ns| ns.is_finite())
    })
}

/// The lines repeated, in the form of an arena's pairs of lines. Each uses a word that no earlier segment used, since
/// the protocols must not find the word of the previous segment; the two words of a pair are in two lines if there are
/// two.
fn words<'a>(lines: &[&'a [AtomicU64; WORDS]]) -> [Two<'a>; LINES] {
    let word = |line: usize, word: usize| &lines[line % lines.len()][word % WORDS];
    std::array::from_fn(|i| Two { first: word(i, 2 * i), second: word(i + 1, 2 * i + 1) })
}

/// The one-way time of two CPUs by `turn` on the best of some lines, in ns: the time that the quickest tenth of
/// them does not exceed, since the minimum of many figures owes as much to noise as to its line. `None` if the CPUs did
/// not meet.
pub(super) fn best_line(workers: &Workers, pair: (u32, u32), lines: [Two<'_>; LINES]) -> Option<f64> {
    let round = |seed| Task { kind: Kind::EachLine(seed), lines, rounds: ROUND_TRIPS };
    // A round that is broken off is not repeated.
    let outcomes = limit::meet(workers, pair, (0..ROUNDS).map(round).collect(), Effort::new(0, 0, 0.0));
    let rounds: Vec<_> = outcomes.into_iter().map(|outcome| outcome.samples).collect();
    line_spread::spread(&rounds).map(|lines| lines.p10)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coho_sync::Algorithm;
    use coho_testing::{Capability, needs};

    use super::*;
    use crate::coherence::arena::Arena;
    use coho_platform::pin;

    #[test]
    fn no_segment_uses_a_word_of_the_one_before() {
        let lines: Vec<[AtomicU64; WORDS]> = (0..5).map(|_| [const { AtomicU64::new(0) }; WORDS]).collect();
        for count in 1..=lines.len() {
            let lent: Vec<_> = lines[..count].iter().collect();
            let place = |word: &AtomicU64| std::ptr::from_ref(word).addr();
            let line = |word: &AtomicU64| {
                lent.iter().position(|line| line.iter().any(|other| place(other) == place(word)))
            };
            let words = words(&lent);
            for (two, next) in words.iter().zip(words.iter().cycle().skip(1)) {
                let places: BTreeSet<_> =
                    [two, next].iter().flat_map(|two| [place(two.first), place(two.second)]).collect();
                assert_eq!(places.len(), 4, "{count} lines");
                assert_eq!(line(two.first) == line(two.second), count == 1);
            }
            let used: BTreeSet<_> = words.iter().map(|two| line(two.first)).collect();
            assert_eq!(used.len(), count);
        }
    }

    #[test]
    fn every_barrier_with_flags_has_a_limit_of_its_own_and_still_works() {
        needs!(Capability::TwoCpus);
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let workers = Workers::start(&cpus).unwrap();
        for algorithm in Algorithm::ALL {
            let mut barrier = Barrier::new(algorithm, 2).unwrap();
            // If others use the CPUs too, the two may not meet.
            let ns = own_lines(&workers, (cpus[0], cpus[1]), &mut barrier);
            let counts = matches!(algorithm, Algorithm::Lock | Algorithm::SpinLock | Algorithm::Central);
            assert!(ns.is_none_or(|ns| !counts && (0.1..1e5).contains(&ns)), "{algorithm}: {ns:?}");
            let barrier = &barrier;
            std::thread::scope(|scope| {
                scope.spawn(move || (0..5).for_each(|_| barrier.wait(1)));
                (0..5).for_each(|_| barrier.wait(0));
            });
        }
        let best = best_line(&workers, (cpus[0], cpus[1]), Arena::map().unwrap().lines());
        assert!(best.is_none_or(|ns| (0.1..1e5).contains(&ns)), "{best:?}");
    }
}
