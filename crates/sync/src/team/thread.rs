//! A team's threads, created through the C library.
//!
//! The standard library's threads register destructors when they begin, which takes the dynamic loader's lock. A team
//! that a library starts in a constructor, during `dlopen`, would wait for ever. These threads take only the team's
//! lock.

use std::ffi::{CString, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// The standard library's usual stack size.
const STACK_BYTES: usize = 2 << 20;

/// A thread that must be joined.
#[derive(Debug)]
pub(super) struct Thread(libc::pthread_t);

type Main = Box<dyn FnOnce() + Send>;

impl Thread {
    /// Starts a thread that the kernel knows by this name, cut to 15 bytes.
    pub(super) fn start(
        name: &str,
        stack_bytes: Option<usize>,
        main: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let name = CString::new(&name[..name.len().min(15)])?;
        let main: Main = Box::new(move || {
            // SAFETY: the name ends with a zero. A thread without one works, too.
            unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
            main();
        });
        let main = Box::into_raw(Box::new(main));
        // SAFETY: the new thread gets the box to itself.
        let started = unsafe { create(stack_bytes.unwrap_or(STACK_BYTES), main.cast()) };
        if started.is_err() {
            // SAFETY: no thread has got it.
            drop(unsafe { Box::from_raw(main) });
        }
        started.map(Self)
    }

    /// Waits until it has ended.
    pub(super) fn join(self) {
        // SAFETY: the thread has not been joined before.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
    }
}

extern "C" fn run(main: *mut c_void) -> *mut c_void {
    // SAFETY: whoever started the thread made it from such a box, and left it to the thread.
    let main = unsafe { Box::from_raw(main.cast::<Main>()) };
    main();
    ptr::null_mut()
}

/// A stack size that the C library accepts: whole pages, and at least its own minimum.
fn possible(stack_bytes: usize) -> usize {
    // SAFETY: the calls take no pointers.
    let [least, page] =
        [libc::_SC_THREAD_STACK_MIN, libc::_SC_PAGESIZE].map(|what| unsafe { libc::sysconf(what) });
    let least = usize::try_from(least).unwrap_or(0).max(libc::PTHREAD_STACK_MIN);
    let page = usize::try_from(page).unwrap_or(4096);
    stack_bytes.max(least).checked_next_multiple_of(page).unwrap_or(stack_bytes)
}

/// # Safety
/// `main` is a box that [`run`] takes.
unsafe fn create(stack_bytes: usize, main: *mut c_void) -> io::Result<libc::pthread_t> {
    let checked = |error| if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) };
    let mut attributes = MaybeUninit::uninit();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the attributes are initialised by the first call, used, and destroyed by the last.
    unsafe {
        checked(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
        let started =
            checked(libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), possible(stack_bytes)))
                .and_then(|()| {
                    checked(libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, main))
                });
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        started.map(|()| thread.assume_init())
    }
}
