//! How many threads are at work for one thread of the program: OpenMP's contention groups, to which `OMP_THREAD_LIMIT`
//! applies.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::here::Membership;
use crate::pool::own;

/// Threads that a thread outside all regions has at work besides itself, counted only where they are limited.
#[derive(Debug, Default)]
pub struct Group(AtomicU32);

impl Group {
    /// The one that a region belongs to which this member opens.
    #[inline(always)]
    pub fn of(opener: &Membership) -> &Self {
        // SAFETY: it is part of what the thread keeps that opened the outermost region, and goes with that thread.
        unsafe { opener.region().group.as_ref() }.unwrap_or_else(|| &own().group)
    }

    /// Takes as many of the threads as are left below the limit, and says how many these are.
    #[cold]
    pub fn reserve(&self, threads: u32, limit: u32) -> u32 {
        let mut got = 0;
        let _ = self.0.fetch_update(Relaxed, Relaxed, |at_work| {
            got = threads.min(limit.saturating_sub(at_work));
            Some(at_work + got)
        });
        got
    }

    /// Where nothing is limited, nothing was taken.
    #[inline(always)]
    pub fn give_back(&self, threads: u32) {
        if self.0.load(Relaxed) > 0 {
            self.0.fetch_sub(threads, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_never_go_beyond_the_limit() {
        let (group, most) = (Group::default(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for threads in 1..5 {
                let (group, most) = (&group, &most);
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let got = group.reserve(threads, 5);
                        assert!(got <= threads);
                        most.fetch_max(group.0.load(Relaxed), Relaxed);
                        std::thread::yield_now();
                        group.give_back(got);
                    }
                });
            }
        });
        assert!((1..=5).contains(&most.load(Relaxed)));
        assert_eq!(group.reserve(9, 5), 5);
        assert_eq!(group.reserve(1, 5), 0);
        group.give_back(5);
        assert_eq!(group.reserve(2, 5), 2);
    }
}
