//! Out of the sender's buffer (rendezvous): a flag announces the message, the kernel copies it once, on the receiver's
//! side (process_vm_readv), and a flag tells the sender that its buffer is free.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::shared::{Both, Flag, wait};
use super::{Lost, Stopwatch, Way};
use crate::Error;

/// Used as the number of a message from a side that may not read.
const REFUSED: u64 = u64::MAX;

/// What one side tells the other.
#[derive(Debug, Default)]
struct Side {
    /// Number of the last message that waits in its buffer.
    announced: Flag,
    /// Where that is.
    address: AtomicU64,
    /// Number of the last message that it has copied.
    taken: Flag,
}

struct ProcessVm {
    sides: Arc<Both<[Side; 2]>>,
    side: usize,
    other: libc::pid_t,
    sent: u64,
    received: u64,
}

/// Both ends; each learns the other's process by [`Way::meet`].
///
/// # Errors
/// If there is no room for the flags.
pub(super) fn ways() -> Result<[Box<dyn Way>; 2], Error> {
    let sides: Arc<Both<[Side; 2]>> = Arc::new(Both::new()?);
    let end = |side| ProcessVm { sides: sides.clone(), side, other: 0, sent: 0, received: 0 };
    Ok([Box::new(end(0)), Box::new(end(1))])
}

impl Way for ProcessVm {
    fn send(&mut self, message: &[u8], watch: &mut dyn Stopwatch) -> Result<(), Lost> {
        let (own, other) = (&self.sides[self.side], &self.sides[1 - self.side]);
        self.sent += 1;
        watch.start();
        own.address.store(message.as_ptr() as u64, Relaxed);
        own.announced.0.store(self.sent, Release);
        watch.stop();
        // Otherwise the buffer would be written while it is read.
        wait(|| other.taken.0.load(Acquire) == self.sent)
    }

    fn receive(&mut self, message: &mut [u8], watch: &mut dyn Stopwatch) -> Result<(), Lost> {
        let (own, other) = (&self.sides[self.side], &self.sides[1 - self.side]);
        self.received += 1;
        wait(|| [self.received, REFUSED].contains(&other.announced.0.load(Acquire)))?;
        if other.announced.0.load(Acquire) == REFUSED {
            return Err(Lost::Refused("process_vm_readv failed in the other process".into()));
        }
        watch.start();
        let address = other.address.load(Relaxed);
        let done = read(self.other, address, message);
        watch.stop();
        if let Err(error) = done {
            // The sender waits, and would wait for an answer.
            own.announced.0.store(REFUSED, Release);
            own.taken.0.store(self.received, Release);
            return Err(Lost::Refused(format!("process_vm_readv: {error}")));
        }
        own.taken.0.store(self.received, Release);
        Ok(())
    }

    fn meet(&mut self, other: libc::pid_t) {
        self.other = other;
        // SAFETY: plain numbers. If Yama lets only ancestors look into a process, this allows the other one to; without
        // Yama the call fails, and is not needed.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, other as libc::c_ulong, 0, 0, 0) };
    }
}

/// Copies out of another process.
fn read(process: libc::pid_t, address: u64, to: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < to.len() {
        let rest = &mut to[done..];
        let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
        let remote =
            libc::iovec { iov_base: (address as usize + done) as *mut libc::c_void, iov_len: rest.len() };
        // SAFETY: the local bytes are this process's own and may be written to; the kernel checks the others.
        let moved = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
        match moved {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            moved if moved < 0 => return Err(io::Error::last_os_error()),
            moved => done += moved as usize,
        }
    }
    Ok(())
}
