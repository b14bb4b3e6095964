//! Opening an event for the calling thread, and reading it by read(2).

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use perf_event_open_sys as sys;
use sys::bindings::{
    PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_GROUP, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING,
    PERF_IOC_FLAG_GROUP, PERF_TYPE_BREAKPOINT, perf_event_attr,
};

use crate::{Error, Event, Mode, rdpmc};

/// How long the event's time may stand still before it counts as never scheduled.
const PATIENCE: Duration = Duration::from_millis(20);
/// Words before the group's values in the kernel's read format: their number and the two times.
pub(super) const HEAD: usize = 3;
/// The read format that includes how long an event was enabled and how long it counted.
pub(super) const TIMES: u64 = (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING) as u64;

/// Opens an event, stopped, as the leader of a group or as a member of `leader`'s.
///
/// The leader is pinned: it and its group are on the counters whenever the thread runs, or in error; the kernel does
/// not multiplex their counters, which would make their figures extrapolations.
pub(super) fn open(event: &Event, mode: Mode, leader: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Error> {
    let mut attributes = attributes(event, mode);
    if leader.is_none() {
        attributes.set_disabled(1);
        attributes.set_pinned(1);
    }
    let group = leader.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: `attributes` is initialised and valid for writes.
    let fd = unsafe { sys::perf_event_open(&mut attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC.into()) };
    if fd < 0 {
        return Err(Error::of_open(event));
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn attributes(event: &Event, mode: Mode) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_: event.kind,
        size: size_of::<perf_event_attr>() as u32,
        config: event.config,
        read_format: u64::from(PERF_FORMAT_GROUP) | TIMES,
        ..Default::default()
    };
    let needed = if event.needs_hardware() { rdpmc::CONFIG1 } else { 0 };
    attributes.__bindgen_anon_3.config1 = event.config1 | needed;
    if event.kind == PERF_TYPE_BREAKPOINT {
        attributes.config = 0;
        attributes.bp_type = event.config as u32;
        attributes.__bindgen_anon_4.bp_len = size_of::<libc::c_long>() as u64;
    }
    attributes.set_exclude_user((mode == Mode::Kernel).into());
    attributes.set_exclude_kernel((mode == Mode::User).into());
    attributes.set_exclude_hv(1);
    attributes
}

/// Lets a group count, and makes sure that it does: the kernel opens more events than it has counters for.
pub(super) fn enable(leader: &OwnedFd, events: usize) -> Result<(), Error> {
    // SAFETY: an ioctl without memory arguments.
    if unsafe { sys::ioctls::ENABLE(leader.as_raw_fd(), PERF_IOC_FLAG_GROUP) } < 0 {
        return Err(Error::last("PERF_EVENT_IOC_ENABLE"));
    }
    let mut values = vec![0; HEAD + events];
    let start = Instant::now();
    loop {
        let Times { enabled_ns, running_ns } = read(leader, &mut values)?;
        if running_ns > 0 {
            return Ok(());
        }
        if enabled_ns > 0 || start.elapsed() > PATIENCE {
            return Err(Error::NotScheduled { events });
        }
    }
}

/// Stops a group.
pub(super) fn disable(leader: &OwnedFd) -> Result<(), Error> {
    // SAFETY: an ioctl without memory arguments.
    match unsafe { sys::ioctls::DISABLE(leader.as_raw_fd(), PERF_IOC_FLAG_GROUP) } {
        0 => Ok(()),
        _ => Err(Error::last("PERF_EVENT_IOC_DISABLE")),
    }
}

/// Sets a group's counts to 0; its times go on.
pub(super) fn reset(leader: &OwnedFd) -> Result<(), Error> {
    // SAFETY: an ioctl without memory arguments.
    match unsafe { sys::ioctls::RESET(leader.as_raw_fd(), PERF_IOC_FLAG_GROUP) } {
        0 => Ok(()),
        _ => Err(Error::last("PERF_EVENT_IOC_RESET")),
    }
}

/// For how long a group was enabled and for how long it counted.
pub(super) struct Times {
    pub(super) enabled_ns: u64,
    pub(super) running_ns: u64,
}

impl Times {
    /// Refuses a count that covers only part of the time.
    pub(super) fn whole(self) -> Result<(), Error> {
        let Self { enabled_ns, running_ns } = self;
        if running_ns < enabled_ns { Err(Error::Scaled { enabled_ns, running_ns }) } else { Ok(()) }
    }
}

/// One read(2) of a group: `values` become the number of events, the two times and the counts.
pub(super) fn read(leader: &OwnedFd, values: &mut [u64]) -> Result<Times, Error> {
    let bytes = size_of_val(values);
    // SAFETY: the kernel writes at most `bytes` bytes to `values`, for which every pattern is a value.
    let got = unsafe { libc::read(leader.as_raw_fd(), values.as_mut_ptr().cast(), bytes) };
    match usize::try_from(got) {
        Err(_) => Err(Error::last("read of a perf event")),
        // End of file: a pinned event that found no counter is in error.
        Ok(0) => Err(Error::NotScheduled { events: values.len() - HEAD }),
        Ok(got) if got == bytes => Ok(Times { enabled_ns: values[1], running_ns: values[2] }),
        Ok(_) => Err(Error::Invalid("the kernel's read of a perf event was short")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_time_is_refused() {
        assert_eq!(Times { enabled_ns: 7, running_ns: 7 }.whole(), Ok(()));
        let error = Times { enabled_ns: 10, running_ns: 7 }.whole().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the event counted for 7 ns of 10 ns; a figure scaled up from a part is refused"
        );
    }
}
