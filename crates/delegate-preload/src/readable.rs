//! Whether memory of the program can be read. The kernel answers a bad address with EFAULT, and so must whoever reads in its
//! place.

use std::cell::Cell;

use coho_delegate::Request;

const PAGE: usize = 4096;
const KEPT: usize = 16;

thread_local! {
    /// Pages that could be read, each in the place of its number modulo the length.
    static PAGES: [Cell<usize>; KEPT] = const { [const { Cell::new(0) }; KEPT] };
}

/// Whether an address can be read; remembered for its page.
pub fn is_readable(address: usize) -> bool {
    let page = address / PAGE;
    page != 0
        && PAGES.with(|pages| {
            let kept = &pages[page % KEPT];
            if kept.get() != page && can_read(page * PAGE) {
                kept.set(page);
            }
            kept.get() == page
        })
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
