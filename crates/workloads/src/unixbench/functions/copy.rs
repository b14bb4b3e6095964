//! File Copy: a file read and another written by blocks, both from the start again at the end of the first.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::{Failure, Report, Stretch, raw, tried};

/// What is copied, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::unixbench) struct Copying {
    /// Size of a block, in bytes.
    pub(in crate::unixbench) block_bytes: usize,
    /// Size of the file, in units of 1024 bytes.
    pub(in crate::unixbench) file_kib: usize,
}

/// UnixBench counts in units of this size.
const COUNTED: u64 = 256;

/// Copies in the working folder.
pub(in crate::unixbench) fn copy(time: Duration, copying: Copying) -> Result<Report, Failure> {
    let own = std::process::id();
    let names = [format!("copy-{own}-from"), format!("copy-{own}-to")];
    let result = copy_between(time, copying, &names);
    for name in &names {
        // The file may never have been created, and the folder is removed in any case.
        let _ = fs::remove_file(name);
    }
    result
}

fn copy_between(time: Duration, copying: Copying, names: &[String; 2]) -> Result<Report, Failure> {
    let open = |name: &str| File::options().read(true).write(true).create(true).truncate(true).open(name);
    let mut from = tried("open", open(&names[0]))?;
    let mut to = tried("open", open(&names[1]))?;
    let mut block: Vec<u8> = (0..copying.block_bytes).map(|at| at as u8).collect();
    // The file is written to its full size and read through once, as before UnixBench's copying.
    for _ in 0..copying.file_kib * 1024 / copying.block_bytes {
        tried("write", from.write_all(&block))?;
    }
    tried("seek", from.rewind())?;
    while tried("read", from.read(&mut block))? > 0 {}
    tried("seek", from.rewind())?;

    let stretch = Stretch::begin(time)?;
    let mut counted = 0u64;
    while !stretch.is_over() {
        match raw::read(from.as_raw_fd(), &mut block) {
            Ok(0) => {
                tried("seek", from.rewind())?;
                tried("seek", to.rewind())?;
            }
            Ok(read) => {
                match raw::write(to.as_raw_fd(), &block[..read]) {
                    Ok(written) if written == read => counted += read as u64 / COUNTED,
                    Ok(_) => {
                        return Err(Failure { doing: "write", why: std::io::ErrorKind::WriteZero.into() });
                    }
                    Err(_) if stretch.is_over() => break,
                    Err(why) => return Err(Failure { doing: "write", why }),
                };
            }
            Err(_) if stretch.is_over() => break,
            Err(why) => return Err(Failure { doing: "read", why }),
        }
    }
    let report = stretch.report(counted, 0.0);
    let kib = counted as f64 * COUNTED as f64 / 1024.0;
    Ok(Report { count: kib / report.seconds.unwrap_or(1.0), ..report })
}
