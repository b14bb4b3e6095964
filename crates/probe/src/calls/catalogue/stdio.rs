//! Functions of the C library that write a number as text (Shimosawa, Hori & Ishikawa, Table 6).

use std::hint::black_box;
use std::io;

use super::super::scratch::Scratch;
use super::super::subject::{Act, MOST, On, plain};
use super::table::Wanted;

/// What is written: six digits after the point.
const NUMBER: f64 = std::f64::consts::PI;
/// Room for the text that `%f` makes of any number: 309 digits, a sign, a point and 6 more.
const TEXT: usize = 320;

pub(super) fn sprintf(_: &Wanted<'_>) -> io::Result<Act> {
    let body = plain(|| {
        let mut text = [0 as libc::c_char; TEXT];
        // SAFETY: the text has room for any number, and the format names what is handed over.
        unsafe { libc::sprintf(black_box(text.as_mut_ptr()), c"%f".as_ptr(), black_box(NUMBER)) as isize }
    });
    Ok(Act { body, most: MOST })
}

/// A stream without a buffer, like the standard error stream.
struct Stream(*mut libc::FILE);

// SAFETY: a stream belongs to no thread; this one has one user.
unsafe impl Send for Stream {}

impl Stream {
    fn open(scratch: &Scratch) -> io::Result<Self> {
        let path = super::files::path(scratch)?;
        // SAFETY: both strings end with a zero.
        let stream = unsafe { libc::fopen(path.as_ptr(), c"r+e".as_ptr()) };
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        let stream = Self(stream);
        // SAFETY: the stream is open and nothing has been done with it; without a buffer there is none to own.
        if unsafe { libc::setvbuf(stream.0, std::ptr::null_mut(), libc::_IONBF, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(stream)
    }

    /// Lets each batch overwrite the previous one.
    fn rewind(&mut self, _calls: usize) -> io::Result<()> {
        // SAFETY: the stream is open.
        match unsafe { libc::fseek(self.0, 0, libc::SEEK_SET) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and nobody uses it any more.
        unsafe { libc::fclose(self.0) };
    }
}

/// fprintf as to a standard error stream that is redirected to a file in memory: each call writes at once. The
/// process's own standard error is left alone.
pub(super) fn fprintf(wanted: &Wanted<'_>) -> io::Result<Act> {
    let stream = On::new(Stream::open(wanted.scratch)?).ready(Stream::rewind);
    // SAFETY: the stream is open, and the format names what is handed over.
    let body = stream
        .body(|stream, _| unsafe { libc::fprintf(stream.0, c"%f".as_ptr(), black_box(NUMBER)) as isize });
    Ok(Act { body, most: MOST })
}
