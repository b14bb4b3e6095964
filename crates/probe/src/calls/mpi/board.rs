//! Orders to the peer, beside MPI: a message is in flight only until the rank that receives it calls MPI again.

use std::fs::OpenOptions;
use std::hint::spin_loop;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::Error;

/// Bytes of the file that both ranks map.
pub(super) const BYTES: usize = 4096;
/// How often a waiting rank looks at a word before it does something else.
const LOOKS: u32 = 1000;

/// A word, and what would be fetched with it.
#[derive(Debug)]
#[repr(C, align(128))]
struct Line(AtomicU64);

#[derive(Debug)]
#[repr(C)]
struct Lines {
    /// The newest order.
    given: Line,
    /// The newest for which the peer is ready.
    ready: Line,
    /// The newest that is carried out.
    finished: Line,
}

/// What the peer is to do with the messages of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    End,
    /// Be ready, and then receive.
    Take,
    /// Send, and then be ready (Shimosawa, Hori & Ishikawa: a receive finds its message there).
    Give,
    /// As `Give`, and then a barrier of both, which fetches what was sent.
    Deliver,
}

/// An order's word: its number, what to do, and with how many messages.
fn word(number: u64, order: Order, messages: usize) -> u64 {
    number << 32 | (order as u64) << 16 | messages as u64 & 0xffff
}

/// A page that both ranks map.
#[derive(Debug)]
pub(super) struct Board(&'static Lines);

impl Board {
    /// Maps a file of zeros.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::system(path.display(), error);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() < BYTES as u64 {
            return Err(Error::work(format!("{} is too short", path.display())));
        }
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of a file that is long enough.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, shared, file.as_raw_fd(), 0) };
        if page == libc::MAP_FAILED {
            return Err(failed(io::Error::last_os_error()));
        }
        // SAFETY: longer than the type, aligned to a page and never unmapped; integers of any value.
        Ok(Self(unsafe { &*page.cast::<Lines>() }))
    }

    /// Gives an order, and waits until the peer is ready. The one before has been finished.
    pub(super) fn give(&self, order: Order, messages: usize) {
        let number = (self.0.given.0.load(Relaxed) >> 32) + 1;
        self.0.given.0.store(word(number & u64::from(u32::MAX), order, messages), Release);
        self.wait(&self.0.ready, || ());
    }

    /// Waits until the newest order is carried out, with something else to do now and then.
    pub(super) fn finish(&self, meanwhile: impl FnMut()) {
        self.wait(&self.0.finished, meanwhile);
    }

    fn wait(&self, line: &Line, mut meanwhile: impl FnMut()) {
        let given = self.0.given.0.load(Relaxed);
        turns(|| line.0.load(Acquire) == given, &mut meanwhile);
    }

    /// The peer's next order, once there is one.
    pub(super) fn take(&self, mut meanwhile: impl FnMut()) -> (Order, usize) {
        let finished = self.0.finished.0.load(Relaxed);
        turns(|| self.0.given.0.load(Acquire) != finished, &mut meanwhile);
        let given = self.0.given.0.load(Relaxed);
        let order = [Order::End, Order::Take, Order::Give, Order::Deliver][(given >> 16 & 3) as usize];
        (order, (given & 0xffff) as usize)
    }

    /// Says that the peer is ready for the order that it has taken.
    pub(super) fn ready(&self) {
        self.0.ready.0.store(self.0.given.0.load(Relaxed), Release);
    }

    /// Says that the order is carried out.
    pub(super) fn finished(&self) {
        self.0.finished.0.store(self.0.given.0.load(Relaxed), Release);
    }
}

/// Looks without sleeping, which would cool the caches; does something else once in a thousand looks.
fn turns(mut there: impl FnMut() -> bool, meanwhile: &mut impl FnMut()) {
    loop {
        for _ in 0..LOOKS {
            if there() {
                return;
            }
            spin_loop();
        }
        meanwhile();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn orders_are_carried_out_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        std::fs::write(&path, [0; 100]).unwrap();
        assert!(Board::open(&path).unwrap_err().to_string().contains("too short"));
        std::fs::write(&path, [0; BYTES]).unwrap();
        let (measured, peer) = (Board::open(&path).unwrap(), Board::open(&path).unwrap());
        let orders =
            [(Order::Take, 64), (Order::Give, 1), (Order::Give, 1), (Order::Deliver, 3), (Order::End, 0)];
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for expected in orders {
                    assert_eq!(peer.take(std::thread::yield_now), expected);
                    peer.ready();
                    made.fetch_add(1, Relaxed);
                    peer.finished();
                }
            });
            for (number, (order, messages)) in orders.into_iter().enumerate() {
                measured.give(order, messages);
                measured.finish(std::thread::yield_now);
                assert_eq!(made.load(Relaxed), number + 1, "{order:?}");
            }
        });
    }
}
