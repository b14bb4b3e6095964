//! For the library that counts the accesses of programs built with -fsanitize=thread, which is loaded beside this one.

use coho_preload::Errno;
use coho_recording::Record;

use super::allocations;
use super::thread::{self, this};

/// Records what lies at an address that the calling thread is about to be seen at: the block that it is in, and, once,
/// the thread's stack.
#[unsafe(no_mangle)]
pub extern "C" fn coho_share_report(address: u64) {
    let this = this();
    let Some(slot) = this.slot().filter(|_| thread::is_recorded()) else { return };
    let _errno = Errno::kept();
    let (start, end) = slot.stack.get();
    this.write(|writer| {
        if !slot.is_introduced.replace(true) {
            writer.write(Record::Stack { start, end });
        }
        if !(start..end).contains(&address) {
            allocations::report(address, writer);
        }
    });
}
