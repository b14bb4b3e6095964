//! Changes idle states and governors for a while, and puts them back: at the end, on a signal, after a crash.
//!
//! The old contents are recorded on disk before anything is changed. Whatever ends the process after that, [`restore`]
//! puts every file back as it was, byte by byte.

mod effect;
mod held;
mod journal;
mod plan;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use super::files::Root;

pub use effect::Effect;
pub use held::{Held, restore};
pub use plan::{Plan, Wish};

/// A process that holds this file open limits the latency of all CPUs to the 32-bit number of microseconds that it
/// wrote.
pub(super) const DMA_LATENCY: &str = "dev/cpu_dma_latency";

/// The present limit on the latency of all CPUs, set by any process, in microseconds.
pub(super) fn dma_latency_us(root: &Root) -> Result<u64, String> {
    let path = root.path(DMA_LATENCY);
    let failed = |error| format!("{}: {error}", path.display());
    let mut word = [0; 4];
    let mut file = device(root, false)?;
    file.read_exact(&mut word).map_err(failed)?;
    u64::try_from(i32::from_ne_bytes(word)).map_err(|_| format!("{}: a negative latency", path.display()))
}

/// Limits the latency for as long as the file is open; the kernel lifts the limit however the process ends.
fn hold_dma_latency(root: &Root, us: u32) -> Result<File, String> {
    let word = i32::try_from(us).map_err(|_| format!("{us} us is longer than the kernel can express"))?;
    let mut file = device(root, true)?;
    let written = file.write_all(&word.to_ne_bytes());
    written.map_err(|error| format!("{}: {error}", root.path(DMA_LATENCY).display()))?;
    Ok(file)
}

/// Opens the device, but not a plain file of its name, in which written bytes would stay.
fn device(root: &Root, write: bool) -> Result<File, String> {
    let path = root.path(DMA_LATENCY);
    let file = OpenOptions::new().read(true).write(write).custom_flags(libc::O_NOFOLLOW).open(&path);
    let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
    let is_device = file.metadata().is_ok_and(|found| found.file_type().is_char_device());
    if is_device { Ok(file) } else { Err(format!("{} is not a device", path.display())) }
}
