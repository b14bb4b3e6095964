//! Through memory that both processes share: the sender copies in and raises a flag, the receiver copies out.

use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

use super::{Lost, Stopwatch, Way};
use crate::Error;

/// How long to wait for a process: it may have to share its CPU.
const PATIENCE: Duration = Duration::from_secs(2);

/// A value in memory that this process will share with those that it forks.
pub(super) struct Both<T> {
    value: NonNull<T>,
}

// SAFETY: it gives shared access alone, and `T` may be shared.
unsafe impl<T: Sync> Send for Both<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Both<T> {}

impl<T: Default> Both<T> {
    /// Maps one.
    ///
    /// # Errors
    /// If there is no room.
    pub(super) fn new() -> Result<Self, Error> {
        let both = Self { value: map(size_of::<T>())?.cast() };
        // SAFETY: new memory of a page's alignment and enough bytes.
        unsafe { both.value.write(T::default()) };
        Ok(both)
    }
}

impl<T> Deref for Both<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it was written when it was mapped, and stays mapped.
        unsafe { self.value.as_ref() }
    }
}

impl<T> Drop for Both<T> {
    fn drop(&mut self) {
        // SAFETY: this value's own, which ends here.
        unsafe { unmap(self.value.cast(), size_of::<T>()) };
    }
}

/// Shared memory of its own.
fn map(bytes: usize) -> Result<NonNull<u8>, Error> {
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let start = unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0)
    };
    if start == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        return Err(Error::memory(format!("no room for {bytes} bytes of shared memory: {error}")));
    }
    Ok(NonNull::new(start.cast()).expect("mmap does not map page 0 unasked"))
}

/// Gives shared memory back.
///
/// # Safety
/// It was mapped by [`map`], all of it, and nothing refers to it any more.
unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

/// The number of the last message in a room, on a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Flag(pub(super) AtomicU64);

/// One room for each direction.
struct Rooms {
    flags: Both<[Flag; 2]>,
    start: NonNull<u8>,
    each: usize,
}

// SAFETY: the rooms are plain memory; flags say which side may use one.
unsafe impl Send for Rooms {}
// SAFETY: as above.
unsafe impl Sync for Rooms {}

impl Rooms {
    fn at(&self, side: usize) -> *mut u8 {
        // SAFETY: two rooms of this size are mapped.
        unsafe { self.start.add(side * self.each) }.as_ptr()
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        // SAFETY: this value's own, which ends here.
        unsafe { unmap(self.start, 2 * self.each) };
    }
}

/// One end: it writes to the room of its side and reads from the other.
struct SharedMemory {
    rooms: Arc<Rooms>,
    side: usize,
    sent: u64,
    received: u64,
}

/// Both ends of a way for messages of up to this many bytes.
pub(super) fn ways(largest: usize) -> Result<[Box<dyn Way>; 2], Error> {
    let rooms = Arc::new(Rooms { flags: Both::new()?, start: map(2 * largest)?, each: largest });
    let end = |side| SharedMemory { rooms: rooms.clone(), side, sent: 0, received: 0 };
    Ok([Box::new(end(0)), Box::new(end(1))])
}

impl Way for SharedMemory {
    fn send(&mut self, message: &[u8], watch: &mut dyn Stopwatch) -> Result<(), Lost> {
        assert!(message.len() <= self.rooms.each);
        let room = self.rooms.at(self.side);
        watch.start();
        // SAFETY: the room is large enough; the other side has left it, as it answered the message before.
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), room, message.len()) };
        // Stores that are still on their way are not waited for here, as the flag follows them.
        watch.stop();
        self.sent += 1;
        self.rooms.flags[self.side].0.store(self.sent, Release);
        Ok(())
    }

    fn receive(&mut self, message: &mut [u8], watch: &mut dyn Stopwatch) -> Result<(), Lost> {
        assert!(message.len() <= self.rooms.each);
        let other = 1 - self.side;
        self.received += 1;
        wait(|| self.rooms.flags[other].0.load(Acquire) == self.received)?;
        watch.start();
        // SAFETY: the room is large enough, and by its flag the other side has written it.
        unsafe { std::ptr::copy_nonoverlapping(self.rooms.at(other), message.as_mut_ptr(), message.len()) };
        watch.stop();
        Ok(())
    }
}

/// Looks until a condition holds, without a pause between looks, which would lengthen each message.
pub(super) fn wait(is_so: impl Fn() -> bool) -> Result<(), Lost> {
    const LOOKS: u32 = 4096;
    let start = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if is_so() {
                return Ok(());
            }
        }
        if start.elapsed() > PATIENCE {
            return Err(Lost::Silent);
        }
    }
}
