//! Pipe Throughput: 512 bytes written to a pipe and read again by the same process.

use std::time::Duration;

use super::{Failure, Report, Stretch, ends};

pub(in crate::workload) fn pipe(time: Duration) -> Result<Report, Failure> {
    let [read, write] = ends()?;
    let mut buffer = [0u8; 512];
    let stretch = Stretch::begin(time)?;
    let mut count = 0;
    while !stretch.is_over() {
        // SAFETY: the buffer is of the size that is named.
        let (written, taken) = unsafe {
            (
                libc::write(write, buffer.as_ptr().cast(), buffer.len()),
                libc::read(read, buffer.as_mut_ptr().cast(), buffer.len()),
            )
        };
        if (written, taken) != (512, 512) && !stretch.is_over() {
            return Err(Failure::new("pipe"));
        }
        count += 1;
    }
    Ok(stretch.report(count, 1.0))
}
