//! Increments of one line, as in the paper.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{locked, locked_counting, unlocked};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{locked, locked_counting, unlocked};

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn count_exactly_alone() {
        let line = AtomicU64::new(0);
        assert_eq!(locked(&line, 1000), 1000);
        unlocked(&line, 500);
        assert_eq!(line.load(Ordering::Relaxed), 1500);
        let mut last = line.load(Ordering::Relaxed);
        assert_eq!(locked_counting(&line, 250, &mut last), 0);
        assert_eq!((last, line.load(Ordering::Relaxed)), (1750, 1750));
        // One increment by another owner in between must be seen once.
        line.fetch_add(1, Ordering::Relaxed);
        assert_eq!(locked_counting(&line, 10, &mut last), 1);
    }

    #[test]
    fn count_exactly_together() {
        let line = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    for _ in 0..100 {
                        locked(&line, 997);
                        locked_counting(&line, 101, &mut last);
                    }
                });
            }
        });
        assert_eq!(line.into_inner(), 2 * 100 * (997 + 101));
    }
}
