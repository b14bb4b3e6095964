//! Pipe-based Context Switching: two processes pass a number back and forth through two pipes; a round trip counts as
//! one.

use std::io;
use std::time::Duration;

use coho_platform::CpuSet;
use coho_platform::pin;

use super::{Failure, Report, Stretch, ends, raw};

const BYTES: usize = size_of::<u64>();

/// `partner` says where the second process runs: with the first unless it is told otherwise.
pub(in crate::unixbench) fn context(time: Duration, partner: Option<&CpuSet>) -> Result<Report, Failure> {
    let [there_read, there_write] = ends()?;
    let [back_read, back_write] = ends()?;
    // SAFETY: this process has one thread; the new one makes system calls alone.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(Failure::new("fork"));
    }
    if child == 0 {
        // SAFETY: no pointers. It closes the other's ends, so that it notices when the other is gone.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::close(there_write);
            libc::close(back_read);
        }
        let placed = partner.map_or(Ok(()), pin::confine);
        while placed.is_ok() && receive(there_read).is_ok_and(|number| send(back_write, number).is_ok()) {}
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(i32::from(placed.is_err())) };
    }
    // SAFETY: no pointers.
    unsafe {
        libc::close(there_read);
        libc::close(back_write);
    }
    let result = round_trips(time, there_write, back_read);
    // SAFETY: no pointers but for none.
    unsafe {
        libc::close(there_write);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    result
}

fn round_trips(time: Duration, there: i32, back: i32) -> Result<Report, Failure> {
    let stretch = Stretch::begin(time)?;
    let mut count = 0;
    while !stretch.is_over() {
        match send(there, count).and_then(|()| receive(back)) {
            Ok(number) if number == count => count += 1,
            _ if stretch.is_over() => break,
            Ok(_) => return Err(Failure { doing: "read", why: io::ErrorKind::InvalidData.into() }),
            Err(why) => return Err(Failure { doing: "the second process", why }),
        }
    }
    Ok(stretch.report(count, 1.0))
}

fn send(descriptor: i32, number: u64) -> io::Result<()> {
    match raw::write(descriptor, &number.to_ne_bytes())? {
        BYTES => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

fn receive(descriptor: i32) -> io::Result<u64> {
    let mut number = [0; BYTES];
    match raw::read(descriptor, &mut number)? {
        BYTES => Ok(u64::from_ne_bytes(number)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
