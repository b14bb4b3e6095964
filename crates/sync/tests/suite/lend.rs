//! Lines that a barrier lends come back as they were.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

use coho_sync::{Algorithm, Barrier};

/// Lends the lines, writes to every word, and returns how many lines there were.
fn lend(barrier: &mut Barrier) -> usize {
    barrier.lend_lines(|lines| {
        let words = lines.iter().copied().flatten();
        words.for_each(|word| assert_eq!(word.swap(u64::MAX, Relaxed), 0));
        let places: BTreeSet<_> = lines.iter().map(|line| line.as_ptr().addr()).collect();
        assert!(places.len() == lines.len() && places.iter().all(|place| place % 64 == 0), "{places:?}");
        lines.len()
    })
}

#[test]
fn a_barrier_goes_on_after_its_lines_were_lent() {
    for algorithm in Algorithm::ALL {
        for threads in [2, 3] {
            let mut barrier = Barrier::new(algorithm, threads).unwrap();
            // Flags have three numbers. With five barriers between loans, they are lent at each.
            for _ in 0..4 {
                let lines = lend(&mut barrier);
                let expected = match algorithm {
                    Algorithm::Lock | Algorithm::SpinLock | Algorithm::Central => 0..=0,
                    Algorithm::FbsOneLine => 1..=1,
                    _ => threads..=threads * threads,
                };
                assert!(expected.contains(&lines), "{algorithm}, {threads} threads: {lines}");
                let barrier = &barrier;
                std::thread::scope(|scope| {
                    for rank in 0..threads {
                        scope.spawn(move || (0..5).for_each(|_| barrier.wait(rank)));
                    }
                });
            }
        }
    }
}

#[test]
fn a_panic_ends_the_loan_as_well() {
    let mut barrier = Barrier::new(Algorithm::Fbs, 2).unwrap();
    let lent = catch_unwind(AssertUnwindSafe(|| {
        barrier.lend_lines(|lines| {
            lines.iter().for_each(|line| line[0].store(77, Relaxed));
            panic!("while the lines are lent");
        })
    }));
    assert!(lent.is_err());
    std::thread::scope(|scope| {
        scope.spawn(|| barrier.wait(1));
        barrier.wait(0);
    });
}
