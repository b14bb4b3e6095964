//! Intel's data streaming accelerator (DSA) through a work queue that the administrator gave to user programs.
//!
//! Names as in the DSA architecture specification and Linux `linux/idxd.h`.

mod descriptor;
mod queue;

use std::path::Path;
use std::ptr::NonNull;
use std::time::Duration;

use self::descriptor::{CompletionRecord, Descriptor};
use self::queue::{Kind, Queue};
use super::super::Region;
use super::super::device::{Device, Mapping};
use super::Way;
use crate::clock::Clock;
use crate::flush::fence;

pub(super) const NAME: &str = "Intel DSA";

/// Bytes of the page through which descriptors are handed over.
const PORTAL: usize = 4096;
/// An engine that has not answered within this time has failed; the largest block takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Copies within the host's memory, in blocks of at most this many bytes.
pub(super) fn ways(bytes: usize) -> Result<Vec<Way>, String> {
    let queue = queue::find(Path::new("/sys/bus/dsa/devices"))?;
    queue.kind.needs_of_cpu()?;
    let portal = Device::open(&Path::new("/dev/dsa").join(&queue.name), 0)?.map(0, PORTAL)?;
    let memory = || Region::write_back(bytes).map_err(|error| error.to_string());
    let (source, destination) = (memory()?, memory()?);
    source.touch();
    destination.touch();
    let start = source.start();
    let mut engine = Engine { portal, queue, record: Box::default(), source, destination };
    let copy = Box::new(move |bytes| engine.copy(bytes));
    Ok(vec![Way { engine: NAME, direction: "host-to-host", source: Some(start), copy }])
}

/// A queue and what it copies. The portal comes first: closing it makes the kernel end all copies under way, so that
/// the engine no longer writes when the memory is freed.
struct Engine {
    portal: Mapping,
    queue: Queue,
    record: Box<CompletionRecord>,
    source: Region,
    destination: Region,
}

impl Engine {
    /// A copy, in as many pieces as the queue needs; its time in ns.
    fn copy(&mut self, bytes: usize) -> Result<f64, String> {
        assert!(bytes <= self.source.bytes().min(self.destination.bytes()), "a copy stays within the memory");
        let clock = Clock::get();
        let start = clock.now();
        for from in (0..bytes).step_by(self.queue.most_bytes) {
            self.piece(from, self.queue.most_bytes.min(bytes - from), &clock)?;
        }
        Ok(clock.ns(clock.now() - start))
    }

    fn piece(&mut self, from: usize, bytes: usize, clock: &Clock) -> Result<(), String> {
        self.record.clear();
        // SAFETY: within both regions.
        let at = |region: &Region| unsafe { region.start().add(from) };
        let (source, destination) = (at(&self.source), at(&self.destination));
        let descriptor = Descriptor::memmove(source, destination, bytes as u32, &self.record);
        // What the engine reads must have been written.
        fence();
        let (start, patience) = (clock.now(), clock.ticks(PATIENCE));
        let late = || clock.now() - start > patience;
        // SAFETY: the queue's own portal, and memory that lives as long as this copy; a queue is opened only where the CPU
        // has the instruction.
        while !unsafe { submit(self.queue.kind, self.portal.start(), &descriptor) } {
            if late() {
                return Err(format!("the queue {} takes no descriptors", self.queue.name));
            }
        }
        loop {
            match self.record.status() {
                CompletionRecord::PENDING if late() => return Err("the engine does not answer".into()),
                CompletionRecord::PENDING => std::hint::spin_loop(),
                CompletionRecord::SUCCESS => return Ok(()),
                status => return Err(format!("the engine answered with status {status:#04x}")),
            }
        }
    }
}

/// Hands a descriptor over; false if a shared queue was full.
///
/// # Safety
/// The portal is a mapped one of this kind, the descriptor one that the engine may follow, and the CPU has the instruction.
unsafe fn submit(kind: Kind, portal: NonNull<u8>, descriptor: &Descriptor) -> bool {
    let (portal, descriptor) = (portal.as_ptr(), std::ptr::from_ref(descriptor));
    match kind {
        Kind::Dedicated => {
            // SAFETY: 64 bytes from an aligned address to the portal, which is mapped; the CPU has the instruction.
            unsafe {
                std::arch::asm!(
                    "movdir64b {portal}, [{descriptor}]",
                    portal = in(reg) portal,
                    descriptor = in(reg) descriptor,
                    options(nostack, preserves_flags)
                );
            }
            true
        }
        Kind::Shared => {
            let full: u8;
            // SAFETY: as above.
            unsafe {
                std::arch::asm!(
                    "enqcmd {portal}, [{descriptor}]",
                    "setz {full}",
                    portal = in(reg) portal,
                    descriptor = in(reg) descriptor,
                    full = out(reg_byte) full,
                    options(nostack)
                );
            }
            full == 0
        }
    }
}
