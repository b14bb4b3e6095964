//! One event of the calling thread.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use super::map::Map;
use super::open;
use super::page::Page;
use crate::{Error, Event, Lost, Mode};

/// One event, counted for the thread that opened it. It is set up by system calls and read in user mode.
///
/// It cannot be sent to another thread, which would read its own CPU's counter instead.
///
/// ```
/// use coho_counters::{Counter, Error, Event, Mode};
/// match Counter::open(&Event::cycles(), Mode::User) {
///     Ok(cycles) => println!("{} cycles so far", cycles.read()?),
///     Err(Error::NoCounters | Error::NotPermitted { .. }) => println!("not available"),
///     Err(error) => println!("{error}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Counter {
    map: Map,
    fd: OwnedFd,
}

impl Counter {
    /// Opens an event for the calling thread; it counts at once and whenever the thread runs.
    ///
    /// # Errors
    /// [`Error`], saying what is missing and what to do about it.
    pub fn open(event: &Event, mode: Mode) -> Result<Self, Error> {
        let counter = Self::open_stopped(event, mode)?;
        counter.enable()?;
        Ok(counter)
    }

    /// Opens an event that does not count until [`enable`](Self::enable).
    ///
    /// # Errors
    /// As [`open`](Self::open), but for [`Error::NotScheduled`], which only counting shows.
    pub fn open_stopped(event: &Event, mode: Mode) -> Result<Self, Error> {
        let fd = open::open(event, mode, None)?;
        Ok(Self { map: Map::of(fd.as_fd())?, fd })
    }

    /// The count, read in user mode through the kernel's mmap page: no kernel entry; on x86-64 it takes 20
    /// instructions.
    ///
    /// # Errors
    /// [`Lost`]: user mode may not or cannot read the event now. It never falls back on the kernel.
    #[inline(always)]
    pub fn read(&self) -> Result<u64, Lost> {
        self.map.page.read()
    }

    /// The count, by read(2).
    ///
    /// # Errors
    /// [`Error::Scaled`] if the event did not count all the time that it was enabled, [`Error::NotScheduled`] if it
    /// lost its counter, or the operating system's error.
    pub fn read_by_kernel(&self) -> Result<u64, Error> {
        let mut values = [0; open::HEAD + 1];
        open::read(&self.fd, &mut values)?.whole()?;
        Ok(values[open::HEAD])
    }

    /// Lets the event count, by ioctl(2), and makes sure that it does.
    ///
    /// # Errors
    /// [`Error::NotScheduled`] if no counter is free, or the operating system's error.
    pub fn enable(&self) -> Result<(), Error> {
        open::enable(&self.fd, 1)
    }

    /// Stops the event, by ioctl(2); its count stays.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn disable(&self) -> Result<(), Error> {
        open::disable(&self.fd)
    }

    /// Sets the count to 0, by ioctl(2).
    ///
    /// # Errors
    /// The operating system's error.
    pub fn reset(&self) -> Result<(), Error> {
        open::reset(&self.fd)
    }

    /// The page that user mode reads; valid while the counter lives.
    #[inline(always)]
    pub fn page(&self) -> &Page {
        &self.map.page
    }
}

impl AsRawFd for Counter {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}
