//! Lines of a log that another thread writes.
//!
//! To post a line is to store into a cache line: the logging thread does not enter the kernel.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;

use coho_delegate::{Host, Request};

/// Lines that may be on their way, and the bytes beside each.
const LINES: usize = 16;
const LINE_BYTES: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = File::create("lines.log")?;
    let host = Host::builder().start()?;
    let mut caller = host.caller_with(LINES, LINE_BYTES);
    for number in 0..100 {
        // Memory that belongs to the request until it is done. If all lines are on their way, this waits for the oldest.
        let mut slot = caller.slot();
        let (at, room) = (slot.as_ptr(), slot.len());
        writeln!(slot, "line {number}")?;
        let length = room - slot.len();
        let write =
            Request::system(libc::SYS_write, [log.as_raw_fd() as usize, at as usize, length, 0, 0, 0]);
        // SAFETY: the slot and the file outlive the request, which `drain` below waits for.
        unsafe { caller.post(write) };
    }
    caller.drain();
    println!("{} lines", std::fs::read_to_string("lines.log")?.lines().count());
    Ok(())
}
