//! How many threads are at work for one thread of the program: OpenMP's contention groups, to which `OMP_THREAD_LIMIT`
//! applies.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::here::Membership;
use crate::pool::own;

/// Threads that work for a thread outside all regions, besides itself; counted only if they are limited.
#[derive(Debug, Default)]
pub struct Group(AtomicU32);

impl Group {
    /// The group of a region that this member opens.
    #[inline(always)]
    pub fn of(opener: &Membership) -> &Self {
        // SAFETY: it belongs to the thread that opened the outermost region, and lives as long as that thread.
        unsafe { opener.region().group.as_ref() }.unwrap_or_else(|| &own().group)
    }

    /// Takes as many threads as the limit allows, and returns their number.
    #[cold]
    pub fn reserve(&self, threads: u32, limit: u32) -> u32 {
        let mut got = 0;
        let _ = self.0.fetch_update(Relaxed, Relaxed, |at_work| {
            got = threads.min(limit.saturating_sub(at_work));
            Some(at_work + got)
        });
        got
    }

    /// If there is no limit, nothing was taken.
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
