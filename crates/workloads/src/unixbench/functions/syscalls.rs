//! System Call Overhead: `dup`, `close`, `getpid`, `getuid` and `umask`, five entries into the kernel counted as one.

use std::time::Duration;

use super::{Failure, Report, Stretch, ends, raw};

pub(in crate::unixbench) fn syscalls(time: Duration) -> Result<Report, Failure> {
    let [descriptor, _] = ends()?;
    let stretch = Stretch::begin(time)?;
    let mut count = 0;
    while !stretch.is_over() {
        // SAFETY: no pointers. The raw call keeps a C library from remembering its answer.
        unsafe {
            raw::close(libc::dup(descriptor));
            libc::syscall(libc::SYS_getpid);
            libc::getuid();
            libc::umask(0o022);
        }
        count += 1;
    }
    Ok(stretch.report(count, 1.0))
}
