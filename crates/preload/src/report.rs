//! Messages to the user that do not pass through the program's own streams.

use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use libc::stat;

use crate::Errno;

/// The device and the inode of standard error when the library was loaded; zeros if it was closed.
static STANDARD_ERROR: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static IS_REMEMBERED: AtomicBool = AtomicBool::new(false);

/// Run when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = remember;

extern "C" fn remember() {
    let _errno = Errno::kept();
    if !IS_REMEMBERED.swap(true, Relaxed)
        && let Some(status) = standard_error()
    {
        STANDARD_ERROR[0].store(status.st_dev, Relaxed);
        STANDARD_ERROR[1].store(status.st_ino, Relaxed);
    }
}

fn standard_error() -> Option<stat> {
    // SAFETY: zeroed values are valid, and the call writes there alone.
    unsafe {
        let mut status: stat = std::mem::zeroed();
        (libc::fstat(libc::STDERR_FILENO, &raw mut status) == 0).then_some(status)
    }
}

/// Whether descriptor 2 is there for messages: it is what it was, a terminal, or a log. A program that has closed it
/// may have opened a file of data as 2.
fn takes_messages() -> bool {
    // The first line may come while the library is being loaded.
    remember();
    let Some(status) = standard_error() else { return false };
    let is_same = [status.st_dev, status.st_ino] == [0, 1].map(|place| STANDARD_ERROR[place].load(Relaxed));
    is_same
        || match status.st_mode & libc::S_IFMT {
            libc::S_IFCHR => true,
            libc::S_IFREG => {
                // SAFETY: it only asks.
                let flags = unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_GETFL) };
                flags & (libc::O_ACCMODE | libc::O_APPEND) == libc::O_WRONLY | libc::O_APPEND
            }
            _ => false,
        }
}

/// Writes a line to standard error at once, after `coho` and the library's name, unless the program has put something
/// else in its place. Control characters are escaped.
pub fn line(library: &str, text: impl Display) {
    let _errno = Errno::kept();
    if !takes_messages() {
        return;
    }
    let text: String = text.to_string().chars().flat_map(shown).collect();
    let line = format!("coho {library}: {text}\n");
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the buffer has that many bytes.
        match unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) } {
            written @ 1.. => rest = &rest[written as usize..],
            _ => return,
        }
    }
}

fn shown(character: char) -> impl Iterator<Item = char> {
    let bidirectional = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let plain = (!character.is_control() && !bidirectional).then_some(character);
    let escaped = plain.is_none().then(|| character.escape_default());
    plain.into_iter().chain(escaped.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_shown() {
        let text: String = "a\u{1b}[1mb\u{202e}c\n".chars().flat_map(shown).collect();
        assert_eq!(text, "a\\u{1b}[1mb\\u{202e}c\\n");
    }
}
