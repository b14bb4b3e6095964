//! Pipe Throughput: 512 bytes written to a pipe and read again by the same process.

use std::io;
use std::time::Duration;

use super::{Failure, Report, Stretch, ends, raw};

pub(in crate::unixbench) fn pipe(time: Duration) -> Result<Report, Failure> {
    let [read, write] = ends()?;
    let mut buffer = [0u8; 512];
    let stretch = Stretch::begin(time)?;
    let mut count = 0;
    while !stretch.is_over() {
        let moved = raw::write(write, &buffer).and_then(|_| raw::read(read, &mut buffer));
        match moved {
            Ok(512) => {}
            _ if stretch.is_over() => break,
            Ok(_) => return Err(Failure { doing: "pipe", why: io::ErrorKind::UnexpectedEof.into() }),
            Err(why) => return Err(Failure { doing: "pipe", why }),
        }
        count += 1;
    }
    Ok(stretch.report(count, 1.0))
}
