//! Events of the program that the caller is going to start.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys as sys;
use sys::bindings::PERF_FLAG_FD_CLOEXEC;

use super::open::{self, Times};
use crate::{Error, Event, Mode};

/// One event, counted for the program that the calling thread starts next, and for its threads and children.
///
/// It begins with the program's first instruction and does not count the caller. Processes that have ended are added
/// up, and those that still run count as far as they have come. Each program needs an event of its own: if the kernel
/// switches from the caller straight to the new process, it may hand it the caller's event instead of a copy, and a
/// second program would then count nothing.
///
/// ```
/// use std::process::Command;
/// use coho_counters::{Descendants, Event, Mode};
/// match Descendants::open(&Event::page_faults(), Mode::User) {
///     Ok(faults) => {
///         Command::new("true").status().expect("it runs");
///         println!("{} page faults", faults.read()?);
///     }
///     Err(error) => println!("not available: {error}"),
/// }
/// # Ok::<(), coho_counters::Error>(())
/// ```
#[derive(Debug)]
pub struct Descendants(OwnedFd);

impl Descendants {
    /// Opens an event for the next program.
    ///
    /// # Errors
    /// As [`Counter::open_stopped`](crate::Counter::open_stopped).
    pub fn open(event: &Event, mode: Mode) -> Result<Self, Error> {
        let mut attributes = open::attributes(event, mode);
        // Not all kernels inherit groups, and an event that waits for an exec must not be pinned.
        attributes.read_format = open::TIMES;
        attributes.set_disabled(1);
        attributes.set_inherit(1);
        attributes.set_enable_on_exec(1);
        // SAFETY: `attributes` is initialised and valid for writes.
        let fd = unsafe { sys::perf_event_open(&mut attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC.into()) };
        if fd < 0 {
            return Err(Error::of_open(event));
        }
        // SAFETY: the kernel has just given us this descriptor.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The count so far of the program and of all that it started.
    ///
    /// # Errors
    /// [`Error::Scaled`] if the event did not count all the time that it was enabled, or the operating system's error.
    pub fn read(&self) -> Result<u64, Error> {
        let mut values = [0u64; 3];
        let bytes = size_of_val(&values);
        // SAFETY: the kernel writes at most `bytes` bytes to `values`, for which every pattern is a value.
        let got = unsafe { libc::read(self.0.as_raw_fd(), values.as_mut_ptr().cast(), bytes) };
        if got < 0 {
            return Err(Error::last("read of a perf event"));
        }
        if got as usize != bytes {
            return Err(Error::Invalid("the kernel's read of a perf event was short"));
        }
        Times { enabled_ns: values[1], running_ns: values[2] }.whole()?;
        Ok(values[0])
    }
}
