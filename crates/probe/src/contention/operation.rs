//! What one CPU does to a line that others use at the same time, and a check that no operation was lost.

use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;

use coho_profile::LineOperation;

use super::line::{Line, WORDS};
use crate::coherence::increment;

/// A CPU's account of its operations on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    /// What it has added to the line's word; for exchanges, what it put in minus what it took out; for stores, the last
    /// value.
    pub(super) balance: u64,
    /// Attempts that failed.
    pub(super) failures: u64,
    /// The last value that it has written: no other CPU writes the same.
    value: u64,
}

impl Account {
    /// The account of a CPU by its rank among those that take part.
    pub(super) fn of(rank: usize) -> Self {
        Self { balance: 0, failures: 0, value: (rank as u64) << 40 }
    }
}

/// The word that a rank works on.
fn word(operation: LineOperation, rank: usize) -> usize {
    match operation {
        LineOperation::Store => rank % WORDS,
        // The first word is the writer's.
        LineOperation::OneWriter if rank > 0 => 1 + (rank - 1) % (WORDS - 1),
        _ => 0,
    }
}

/// Does this many operations, at least one.
#[inline(never)]
pub(super) fn operate(operation: LineOperation, line: &Line, rank: usize, n: u64, account: &mut Account) {
    let at = word(operation, rank);
    let word = &line[at];
    match operation {
        LineOperation::OneWriter if rank > 0 => {
            // Each load waits for the one before: nobody writes this word, so it stays 0.
            let mut zero = 0;
            for _ in 0..n {
                zero = line[at + black_box(zero) as usize].load(Relaxed);
            }
            account.balance = account.balance.wrapping_add(zero);
        }
        LineOperation::Add => {
            increment::locked(word, n);
            account.balance = account.balance.wrapping_add(n);
        }
        LineOperation::CompareAndSwap => {
            let mut failures = 0;
            for _ in 0..n {
                let mut seen = word.load(Relaxed);
                while let Err(now) = word.compare_exchange(seen, seen.wrapping_add(1), Relaxed, Relaxed) {
                    seen = now;
                    failures += 1;
                }
            }
            account.failures += failures;
            account.balance = account.balance.wrapping_add(n);
        }
        LineOperation::Exchange => {
            let (mut value, mut balance) = (account.value, account.balance);
            for _ in 0..n {
                value += 1;
                balance = balance.wrapping_add(value).wrapping_sub(word.swap(value, Relaxed));
            }
            (account.value, account.balance) = (value, balance);
        }
        LineOperation::Store | LineOperation::StoreOneWord | LineOperation::OneWriter => {
            for value in account.value + 1..=account.value + n {
                word.store(value, Relaxed);
            }
            account.value += n;
            account.balance = account.value;
        }
    }
}

/// Whether a line that was 0 before has the contents that these accounts (one for each rank) imply, so that no
/// operation was lost.
pub(super) fn is_settled(operation: LineOperation, line: &Line, accounts: &[Account]) -> bool {
    let holds = |index: usize| line[index].load(Relaxed);
    match operation {
        LineOperation::Add | LineOperation::CompareAndSwap | LineOperation::Exchange => {
            holds(0) == accounts.iter().fold(0, |sum, account| account.balance.wrapping_add(sum))
        }
        // A word keeps the last value of one of those who write it.
        LineOperation::Store | LineOperation::StoreOneWord | LineOperation::OneWriter => {
            (0..WORDS).all(|index| {
                let mut writers =
                    accounts.iter().enumerate().filter(|(rank, _)| word(operation, *rank) == index);
                let written = writers.clone().any(|(_, account)| account.balance != 0);
                if written {
                    writers.any(|(_, account)| account.balance == holds(index))
                } else {
                    holds(index) == 0
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn line() -> Line {
        [const { AtomicU64::new(0) }; WORDS]
    }

    /// Threads at the same line, and their accounts.
    fn work(operation: LineOperation, line: &Line, threads: usize, n: u64) -> Vec<Account> {
        std::thread::scope(|scope| {
            let start = |rank| {
                move || {
                    let mut account = Account::of(rank);
                    (0..50).for_each(|_| operate(operation, line, rank, n, &mut account));
                    account
                }
            };
            let threads: Vec<_> = (0..threads).map(|rank| scope.spawn(start(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn no_operation_is_lost() {
        for operation in LineOperation::ALL {
            for threads in [1, 2, 11] {
                let line = line();
                let accounts = work(operation, &line, threads, 97);
                assert!(is_settled(operation, &line, &accounts), "{operation} by {threads}: {line:?}");
                if matches!(operation, LineOperation::Add | LineOperation::CompareAndSwap) {
                    assert_eq!(line[0].load(Relaxed), threads as u64 * 50 * 97, "{operation}");
                }
            }
        }
    }

    #[test]
    fn a_lost_operation_shows() {
        for operation in LineOperation::ALL {
            let line = line();
            let accounts = work(operation, &line, 2, 10);
            line[0].fetch_sub(1, Relaxed);
            assert!(!is_settled(operation, &line, &accounts), "{operation}");
        }
    }

    #[test]
    fn only_compare_and_swap_fails_and_never_alone() {
        for operation in LineOperation::ALL {
            assert_eq!(work(operation, &line(), 1, 10)[0].failures, 0, "{operation}");
        }
    }
}
