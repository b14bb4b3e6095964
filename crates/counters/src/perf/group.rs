//! Events that count together.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use super::map::Map;
use super::open;
use super::page::Page;
use crate::{Error, Event, Lost, Mode};

/// Events of the calling thread that count together or not at all.
///
/// ```
/// use coho_counters::{Event, Group, Mode};
/// let events = [Event::page_faults(), Event::context_switches()];
/// match Group::open(&events, Mode::User) {
///     Ok(group) => println!("{:?}", group.read_by_kernel()?),
///     Err(error) => println!("not available: {error}"),
/// }
/// # Ok::<(), coho_counters::Error>(())
/// ```
#[derive(Debug)]
pub struct Group {
    maps: Vec<Map>,
    /// The leader first.
    fds: Vec<OwnedFd>,
}

impl Group {
    /// Opens events for the calling thread; they count at once.
    ///
    /// # Errors
    /// [`Error::NotScheduled`] if the machine has too few counters for all, otherwise as
    /// [`Counter::open`](crate::Counter::open).
    pub fn open(events: &[Event], mode: Mode) -> Result<Self, Error> {
        let group = Self::open_stopped(events, mode)?;
        group.enable()?;
        Ok(group)
    }

    /// Opens events that do not count until [`enable`](Self::enable).
    ///
    /// # Errors
    /// As [`open`](Self::open); if there are too few counters, only `enable` may fail.
    pub fn open_stopped(events: &[Event], mode: Mode) -> Result<Self, Error> {
        let (leader, siblings) = events.split_first().ok_or(Error::Invalid("a group needs an event"))?;
        let mut fds = vec![open::open(leader, mode, None)?];
        for sibling in siblings {
            match open::open(sibling, mode, Some(fds[0].as_fd())) {
                Ok(fd) => fds.push(fd),
                // Opening the leader has succeeded, so the size of the group is the reason: x86 checks whether it could
                // ever fit.
                Err(Error::System { errno: libc::EINVAL, .. } | Error::NotScheduled { .. }) => {
                    return Err(Error::NotScheduled { events: events.len() });
                }
                Err(error) => return Err(error),
            }
        }
        let maps = fds.iter().map(|fd| Map::of(fd.as_fd())).collect::<Result<_, _>>()?;
        Ok(Self { maps, fds })
    }

    /// How many events the group has.
    #[allow(clippy::len_without_is_empty)] // a group is never empty
    pub fn len(&self) -> usize {
        self.fds.len()
    }

    /// The first event's page.
    pub(crate) fn leader(&self) -> &Page {
        &self.maps[0].page
    }

    /// The counts in the order of the events, read in user mode one after another: no kernel entry.
    ///
    /// # Errors
    /// [`Lost`] if user mode may not or cannot read one of them; `counts` is then partly written.
    ///
    /// # Panics
    /// If there are more `counts` than events.
    #[inline(always)]
    pub fn read(&self, counts: &mut [u64]) -> Result<(), Lost> {
        let maps = &self.maps[..counts.len()];
        for (count, map) in counts.iter_mut().zip(maps) {
            *count = map.page.read()?;
        }
        Ok(())
    }

    /// The counts in the order of the events, all by one read(2).
    ///
    /// # Errors
    /// [`Error::Scaled`] if the group did not count all the time that it was enabled, [`Error::NotScheduled`] if it
    /// lost its counters, or the operating system's error.
    pub fn read_by_kernel(&self) -> Result<Vec<u64>, Error> {
        let mut values = vec![0; open::HEAD + self.len()];
        open::read(&self.fds[0], &mut values)?.whole()?;
        values.drain(..open::HEAD);
        Ok(values)
    }

    /// Lets the events count, by ioctl(2), and makes sure that they do.
    ///
    /// # Errors
    /// [`Error::NotScheduled`] if too few counters are free, or the operating system's error.
    pub fn enable(&self) -> Result<(), Error> {
        open::enable(&self.fds[0], self.len())
    }

    /// Stops the events, by ioctl(2); their counts stay.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn disable(&self) -> Result<(), Error> {
        open::disable(&self.fds[0])
    }

    /// Sets the counts to 0, by ioctl(2).
    ///
    /// # Errors
    /// The operating system's error.
    pub fn reset(&self) -> Result<(), Error> {
        open::reset(&self.fds[0])
    }
}

impl AsRawFd for Group {
    /// The leader's.
    fn as_raw_fd(&self) -> RawFd {
        self.fds[0].as_raw_fd()
    }
}
