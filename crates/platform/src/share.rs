//! How much of the memory left to this process all buffers together may take. The kernel would grant more, and kill the
//! process that touches it.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Buffers up to this size are allowed without checking.
const LITTLE: u64 = 1 << 20;
/// Buffers leave a quarter for everything else.
const PARTS: (u64, u64) = (3, 4);

/// More memory was asked for than is left to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoShare {
    /// Bytes asked for.
    pub bytes: u64,
    /// Bytes that are left.
    pub left: u64,
}

impl fmt::Display for NoShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, left) = (self.bytes >> 20, self.left >> 20);
        write!(f, "no room for {bytes} MiB: {left} MiB are left to this process")
    }
}

impl std::error::Error for NoShare {}

/// The memory shared out to buffers.
#[derive(Debug, Default)]
struct Budget {
    /// What was left before anything was shared out.
    room: u64,
    /// What is shared out, touched or not.
    taken: u64,
}

impl Budget {
    /// Takes a share if it fits into what is left now, and if all shares fit into what was left before, as some of them
    /// may not have been touched yet.
    fn take(&mut self, bytes: u64, left: u64) -> Result<(), NoShare> {
        if self.taken == 0 {
            self.room = left;
        }
        let part = |room: u64| room / PARTS.1 * PARTS.0;
        if bytes > part(left) || self.taken.saturating_add(bytes) > part(self.room) {
            return Err(NoShare { bytes, left: left.min(self.room.saturating_sub(self.taken)) });
        }
        self.taken += bytes;
        Ok(())
    }
}

static BUDGET: Mutex<Budget> = Mutex::new(Budget { room: 0, taken: 0 });

fn budget() -> MutexGuard<'static, Budget> {
    BUDGET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A share of the memory that is left to this process; dropping it gives the share back.
#[derive(Debug)]
pub struct Share(u64);

impl Share {
    /// Takes this many bytes.
    ///
    /// # Errors
    /// If they do not fit beside what is already taken.
    pub fn take(bytes: u64) -> Result<Self, NoShare> {
        if bytes <= LITTLE {
            return Ok(Self(0));
        }
        let mut budget = budget();
        budget.take(bytes, crate::memory::room())?;
        Ok(Self(bytes))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        budget().taken -= self.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_together() {
        let mut budget = Budget::default();
        // Nothing of the shares has been touched, so that as much is left as before.
        assert!(budget.take(32, 64).is_ok());
        assert!(budget.take(16, 64).is_ok());
        assert!(budget.take(1, 64).is_err());
        // Touched: less is left, and a part is given back.
        budget.taken -= 32;
        assert!(budget.take(30, 36).is_err(), "more than three quarters of what is left");
        assert!(budget.take(24, 48).is_ok());
        budget.taken = 0;
        assert!(budget.take(24, 32).is_ok() && budget.take(1, 32).is_err(), "room is looked for anew");
        assert!(Budget::default().take(u64::MAX, u64::MAX).is_err());
    }
}
