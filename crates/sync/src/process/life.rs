//! Whether a rank's thread still lives, as the kernel says: it marks the robust locks of a thread that ends, however it ends.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::Error;

/// A lock that a rank's thread holds as long as it takes part. Looking at it takes no system call.
#[repr(C)]
pub(super) struct Life(UnsafeCell<MaybeUninit<libc::pthread_mutex_t>>);

// SAFETY: the lock is used through the system's functions alone, which are made for several threads and processes.
unsafe impl Sync for Life {}

impl Life {
    /// Begins the calling thread's life, in memory that no other thread looks at yet.
    pub(super) fn begin(&self) -> Result<(), Error> {
        let done = |what: &'static str, error: i32| match error {
            0 => Ok(()),
            _ => Err(Error::System { what, why: std::io::Error::from_raw_os_error(error).to_string() }),
        };
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are made before they are used; the lock is written by its only user.
        unsafe {
            done("the attributes of a lock", libc::pthread_mutexattr_init(attributes.as_mut_ptr()))?;
            let attributes = attributes.as_mut_ptr();
            let shared = libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED);
            done("a lock between processes", shared)?;
            let robust = libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST);
            done("a lock that tells of its owner's death", robust)?;
            let made = libc::pthread_mutex_init(self.lock(), attributes);
            libc::pthread_mutexattr_destroy(attributes);
            done("a lock between processes", made)?;
            done("a lock between processes", libc::pthread_mutex_lock(self.lock()))
        }
    }

    /// Ends it, by the thread that has begun it. A thread that is another's copy, made by `fork`, changes nothing.
    pub(super) fn end(&self) {
        // SAFETY: it was made; the system refuses a thread that does not hold it.
        unsafe { libc::pthread_mutex_unlock(self.lock()) };
    }

    /// Whether the thread that has begun it is gone without having ended it.
    pub(super) fn is_lost(&self) -> bool {
        // SAFETY: it was made. A lock that is got is given back at once; one whose owner has died then stays unusable, which
        // says the same to whoever looks next.
        unsafe {
            let got = libc::pthread_mutex_trylock(self.lock());
            if got == 0 || got == libc::EOWNERDEAD {
                libc::pthread_mutex_unlock(self.lock());
            }
            got == libc::EOWNERDEAD || got == libc::ENOTRECOVERABLE
        }
    }

    fn lock(&self) -> *mut libc::pthread_mutex_t {
        self.0.get().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_without_a_word_is_lost_and_one_that_says_so_is_not() {
        let lives = [(); 2].map(|()| Life(UnsafeCell::new(MaybeUninit::zeroed())));
        let [told, lost] = &lives;
        std::thread::scope(|scope| {
            let ends = scope.spawn(|| {
                told.begin().unwrap();
                lost.begin().unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(|| assert!(!told.is_lost() && !lost.is_lost()));
                });
                told.end();
            });
            ends.join().unwrap();
        });
        assert!(!told.is_lost());
        assert!(lost.is_lost() && lost.is_lost(), "also when asked again");
    }
}
