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
///
/// It neither allocates nor frees: its first use of the C library's heap would give it a heap of its own, which takes
/// four system calls. So what it runs belongs to whoever joins it.
#[derive(Debug)]
pub(super) struct Thread {
    id: libc::pthread_t,
    main: *mut Main,
}

// SAFETY: the thread calls what the pointer leads to, which may be called on any thread; the box is freed once the
// thread has ended.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

type Main = Box<dyn Fn() + Send + Sync>;

impl Thread {
    /// Starts a thread that the kernel knows by this name, cut to 15 bytes, on these CPUs or on those of the caller.
    pub(super) fn start(
        name: &str,
        stack_bytes: Option<usize>,
        cpus: Option<&[u32]>,
        main: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let name = CString::new(&name[..name.len().min(15)])?;
        let main: Main = Box::new(move || {
            // SAFETY: the name ends with a zero. A thread without one works, too.
            unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
            main();
        });
        let main = Box::into_raw(Box::new(main));
        // SAFETY: the box is freed only after the thread has ended.
        let started = unsafe { create(stack_bytes.unwrap_or(STACK_BYTES), cpus, main.cast()) };
        if started.is_err() {
            // SAFETY: no thread has got it.
            drop(unsafe { Box::from_raw(main) });
        }
        started.map(|id| Self { id, main })
    }

    /// Waits until it has ended.
    pub(super) fn join(self) {
        // SAFETY: the thread has not been joined before. The box was made by `start`, and nobody else uses it any more.
        unsafe {
            libc::pthread_join(self.id, ptr::null_mut());
            drop(Box::from_raw(self.main));
        }
    }
}

extern "C" fn run(main: *mut c_void) -> *mut c_void {
    // SAFETY: whoever started the thread made it from such a box, and keeps it until the thread has ended.
    unsafe { (*main.cast::<Main>())() };
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

/// Has a thread with these attributes begin on these CPUs.
#[cfg(target_env = "gnu")]
fn begin_on(attributes: &mut MaybeUninit<libc::pthread_attr_t>, cpus: &[u32]) -> libc::c_int {
    const BITS: usize = u64::BITS as usize;
    let mut mask = vec![0_u64; cpus.iter().max().map_or(1, |&most| most as usize / BITS + 1)];
    cpus.iter().for_each(|&cpu| mask[cpu as usize / BITS] |= 1 << (cpu as usize % BITS));
    // SAFETY: the attributes are initialised, and the mask has this size, as the kernel lays masks out.
    unsafe {
        libc::pthread_attr_setaffinity_np(attributes.as_mut_ptr(), 8 * mask.len(), mask.as_ptr().cast())
    }
}

#[cfg(not(target_env = "gnu"))]
fn begin_on(_: &mut MaybeUninit<libc::pthread_attr_t>, _: &[u32]) -> libc::c_int {
    0
}

/// # Safety
/// `main` leads to what [`run`] calls, as long as the thread lives.
unsafe fn create(stack_bytes: usize, cpus: Option<&[u32]>, main: *mut c_void) -> io::Result<libc::pthread_t> {
    let checked = |error| if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) };
    let mut attributes = MaybeUninit::uninit();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the attributes are initialised by the first call, used, and destroyed by the last.
    unsafe {
        checked(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
        let begins = cpus.map_or(0, |cpus| begin_on(&mut attributes, cpus));
        let started = checked(begins)
            .and_then(|()| {
                checked(libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), possible(stack_bytes)))
            })
            .and_then(|()| {
                checked(libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, main))
            });
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        started.map(|()| thread.assume_init())
    }
}
