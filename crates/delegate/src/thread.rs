//! A host's thread, made by the C library. Rust's would look a function up by its name first, which takes away what
//! `dlerror` has to tell the program.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use libc::pthread_t;

/// As Rust's threads have.
const STACK_BYTES: usize = 2 << 20;

/// A thread that is joined once.
#[derive(Debug)]
pub struct Thread(pthread_t);

type Work = Box<dyn FnOnce() + Send>;

impl Thread {
    /// Starts a thread that does this.
    pub fn start(work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let work: *mut Work = Box::into_raw(Box::new(Box::new(work)));
        let (mut thread, mut attributes) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the attributes are initialised by the first call, and the thread by the third if it succeeds; the
        // new thread owns what it is given.
        unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK_BYTES);
            let error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, work.cast());
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            if error == 0 {
                return Ok(Self(thread.assume_init()));
            }
            drop(Box::from_raw(work));
            Err(io::Error::from_raw_os_error(error))
        }
    }

    /// Waits until it has ended.
    pub fn join(self) {
        // SAFETY: a thread that nobody has joined or detached.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
    }
}

extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start` has made it for this thread alone; the name ends with a zero.
    let work = unsafe {
        libc::pthread_setname_np(libc::pthread_self(), c"coho host".as_ptr());
        Box::from_raw(work.cast::<Work>())
    };
    work();
    ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn threads_do_their_work() {
        let (told, heard) = mpsc::channel();
        Thread::start(move || told.send(7).unwrap()).unwrap().join();
        assert_eq!(heard.recv(), Ok(7));
    }
}
