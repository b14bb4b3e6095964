//! Waiting for a write to a line without looking at it all the time, if the processor can.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{can_doze, doze};
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
pub(crate) use other::{can_doze, doze};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{can_doze, doze};

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_doze_ends_by_itself_and_by_a_write() {
        #[cfg(target_arch = "x86_64")]
        coho_testing::needs!(coho_testing::Capability::UserWait);
        assert!(can_doze());
        let flag = AtomicU8::new(0);
        let done = || flag.load(Ordering::Acquire) != 0;
        let start = Instant::now();
        doze(&flag, &done);
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Ordering::Release));
            while !done() {
                doze(&flag, &done);
            }
        });
    }
}
