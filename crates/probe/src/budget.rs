//! What all buffers together may take of the memory that is left to this process. The kernel grants more, and kills
//! whoever touches it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Buffers up to this size are not worth looking for room.
const LITTLE: u64 = 1 << 20;
/// Buffers leave a quarter to everything else.
const PARTS: (u64, u64) = (3, 4);

/// What is shared out.
#[derive(Debug, Default)]
struct Budget {
    /// What was left when nothing was shared out.
    room: u64,
    /// What is shared out, touched or not.
    taken: u64,
}

impl Budget {
    /// Takes a share where what is left now holds it, and what was left before holds all shares: some of them may not
    /// have been touched yet.
    fn take(&mut self, bytes: u64, left: u64) -> Result<(), Error> {
        if self.taken == 0 {
            self.room = left;
        }
        let part = |room: u64| room / PARTS.1 * PARTS.0;
        if bytes > part(left) || self.taken.saturating_add(bytes) > part(self.room) {
            let left = left.min(self.room.saturating_sub(self.taken)) >> 20;
            let bytes = bytes >> 20;
            return Err(Error::other(format!(
                "no room for {bytes} MiB: {left} MiB are left to this process"
            )));
        }
        self.taken += bytes;
        Ok(())
    }
}

static BUDGET: Mutex<Budget> = Mutex::new(Budget { room: 0, taken: 0 });

fn budget() -> MutexGuard<'static, Budget> {
    BUDGET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A share, which is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share(u64);

impl Share {
    /// Takes so many bytes.
    ///
    /// # Errors
    /// If they do not fit beside what is taken.
    pub(crate) fn take(bytes: u64) -> Result<Self, Error> {
        if bytes <= LITTLE {
            return Ok(Self(0));
        }
        let mut budget = budget();
        budget.take(bytes, coho_platform::memory::room())?;
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
