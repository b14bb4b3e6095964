//! Whether memory of the program can be read. The kernel answers a bad address with EFAULT, and so must whoever reads in its
//! place.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use coho_delegate::Request;

use crate::thread::{KEPT, this};

const PAGE: usize = 4096;

/// A new one forgets all pages.
static AGE: AtomicUsize = AtomicUsize::new(0);
/// Where the program has mapped files: who truncates one takes its pages away.
static FILES: [AtomicUsize; 2] = [AtomicUsize::new(usize::MAX), AtomicUsize::new(0)];

/// Memory may have been unmapped.
pub fn forget_all() {
    AGE.fetch_add(1, Relaxed);
}

/// A file has been mapped here.
pub fn is_of_file(memory: Range<usize>) {
    FILES[0].fetch_min(memory.start, Relaxed);
    FILES[1].fetch_max(memory.end, Relaxed);
    forget_all();
}

/// Whether an address can be read; remembered for its page, unless that may be a file's.
pub fn is_readable(address: usize) -> bool {
    let page = address / PAGE;
    let age = AGE.load(Relaxed);
    let thread = this();
    if thread.seen.replace(age) != age {
        thread.pages.iter().for_each(|page| page.set(0));
    }
    let kept = &thread.pages[page % KEPT];
    if page == 0 || kept.get() == page {
        return page != 0;
    }
    let can_read = can_read(page * PAGE);
    if can_read && !(FILES[0].load(Relaxed)..FILES[1].load(Relaxed)).contains(&address) {
        kept.set(page);
    }
    can_read
}

/// Asks for a change of the signal mask that there is none of: the kernel reads the set first.
fn can_read(address: usize) -> bool {
    const NO_CHANGE: usize = 99;
    let arguments = [NO_CHANGE, address, 0, size_of::<u64>(), 0, 0];
    // SAFETY: it changes nothing.
    let answer = unsafe { Request::system(libc::SYS_rt_sigprocmask, arguments).execute() };
    answer.result() == Err(libc::EINVAL)
}

/// Whether a string begins so; `None` if it cannot be read so far.
pub fn starts_with(address: usize, prefix: &[u8]) -> Option<bool> {
    let mut page = usize::MAX;
    for (index, &byte) in prefix.iter().enumerate() {
        let at = address.checked_add(index)?;
        if at / PAGE != page {
            if !is_readable(at) {
                return None;
            }
            page = at / PAGE;
        }
        // SAFETY: its page can be read.
        if unsafe { *(at as *const u8) } != byte {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_at_bad_addresses() {
        let path = c"/proc/thread-self";
        let at = path.as_ptr() as usize;
        assert_eq!(starts_with(at, b"/proc/"), Some(true));
        assert_eq!(starts_with(at, b"/prod"), Some(false));
        assert_eq!(starts_with(at, b"/proc/thread-self/more"), Some(false));
        assert_eq!(starts_with(0, b"/"), None);
        assert_eq!(starts_with(usize::MAX, b"/proc"), None);
        // SAFETY: a new mapping of two pages, of which one is taken away.
        unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages = libc::mmap(std::ptr::null_mut(), 2 * PAGE, access, anonymous, -1, 0) as usize;
            assert_eq!(libc::munmap((pages + PAGE) as *mut libc::c_void, PAGE), 0);
            let last = (pages + PAGE - 2) as *mut u8;
            last.copy_from(b"/p".as_ptr(), 2);
            assert_eq!(starts_with(last as usize, b"/p"), Some(true));
            assert_eq!(starts_with(last as usize, b"/proc"), None);
            assert_eq!(starts_with(last as usize, b"/dev"), Some(false));
        }
    }
}
