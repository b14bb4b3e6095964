//! Why a counter could not be opened or read.

use std::fmt;
use std::io;

use crate::perf::machine;

/// Why user mode cannot read a counter at this moment. No other value was read instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lost {
    /// The kernel does not let user mode read this event: software events, breakpoints, and hardware events if RDPMC
    /// (on AArch64, access to the counters' registers) is switched off.
    NotPermitted,
    /// The event is not on a hardware counter now: stopped, in error, or on a core of another kind.
    NotCounting,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted => {
                f.write_str("user mode may not read this event; ")?;
                f.write_str(crate::rdpmc::HOW_TO_PERMIT)?;
                f.write_str("; otherwise read it by the kernel")
            }
            Self::NotCounting => f.write_str(
                "the event is not on a hardware counter now: it is stopped, another user took the counters, \
                 or the thread runs on a core of another kind",
            ),
        }
    }
}

impl std::error::Error for Lost {}

/// Why a counter could not be opened, enabled or read by the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The kernel refuses because rights are missing (EACCES, EPERM).
    NotPermitted {
        /// The event's name.
        event: String,
        /// The value of /proc/sys/kernel/perf_event_paranoid, if it can be read.
        paranoid: Option<i32>,
    },
    /// There are no hardware counters here at all: a virtual machine without a PMU.
    NoCounters,
    /// This machine does not have this event, or not in this mode.
    NoSuchEvent {
        /// The event's name.
        event: String,
    },
    /// The process or the system has no file descriptor left (EMFILE, ENFILE).
    TooManyFiles,
    /// The kernel opened the events but never lets them count: there are fewer free counters than events.
    NotScheduled {
        /// How many events were to count at once.
        events: usize,
    },
    /// The events counted for only part of the time, so the kernel's figure would be an extrapolation.
    Scaled {
        /// Time for which the events were enabled, in ns.
        enabled_ns: u64,
        /// Time for which they really counted, in ns.
        running_ns: u64,
    },
    /// User mode cannot read the counter.
    Lost(Lost),
    /// An argument makes no sense.
    Invalid(&'static str),
    /// Any other refusal of the operating system.
    System {
        /// The call that failed.
        call: &'static str,
        /// Its errno.
        errno: i32,
    },
}

impl Error {
    /// The error of the system call that has just failed.
    pub(crate) fn last(call: &'static str) -> Self {
        Self::System { call, errno: io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }

    /// The error for a failed `perf_event_open` of an event.
    pub(crate) fn of_open(event: &crate::Event) -> Self {
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        let name = event.name.clone();
        match errno {
            libc::EACCES | libc::EPERM => {
                Self::NotPermitted { event: name, paranoid: machine::perf_event_paranoid() }
            }
            libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV => {
                if event.needs_hardware() && !machine::has_counters() {
                    Self::NoCounters
                } else {
                    Self::NoSuchEvent { event: name }
                }
            }
            libc::EMFILE | libc::ENFILE => Self::TooManyFiles,
            // All of the CPU's breakpoints are in use.
            libc::ENOSPC => Self::NotScheduled { events: 1 },
            errno => Self::System { call: "perf_event_open", errno },
        }
    }
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { event, paranoid } => {
                write!(f, "{event} may not be counted: perf_event_paranoid is ")?;
                match paranoid {
                    Some(level) => write!(f, "{level}")?,
                    None => f.write_str("not readable")?,
                }
                f.write_str(match paranoid {
                    Some(..2) => "; a container's seccomp filter may forbid perf_event_open",
                    Some(2) => {
                        "; count user mode only, or run with CAP_PERFMON, or `sysctl kernel.perf_event_paranoid=1`"
                    }
                    _ => "; run with CAP_PERFMON, or `sysctl kernel.perf_event_paranoid=2` (1 for the kernel's part)",
                })
            }
            Self::NoCounters => f.write_str(
                "this machine has no performance counters; a virtual machine gets them from its host (vPMU)",
            ),
            Self::NoSuchEvent { event } => {
                write!(f, "this machine does not count {event}, or not in this mode")
            }
            Self::TooManyFiles => {
                f.write_str("no file descriptor is left; close some or raise the limit (ulimit -n)")
            }
            Self::NotScheduled { events: 1 } => f.write_str(
                "the kernel opened the event but does not count it: no counter is free (the NMI watchdog or \
                 another user of perf holds them)",
            ),
            Self::NotScheduled { events } => write!(
                f,
                "the kernel opened {events} events but does not count them at once: fewer counters are free; \
                 split them into passes"
            ),
            Self::Scaled { enabled_ns, running_ns } => write!(
                f,
                "the event counted for {running_ns} ns of {enabled_ns} ns; a figure scaled up from a part is \
                 refused"
            ),
            Self::Lost(lost) => lost.fmt(f),
            Self::Invalid(why) => f.write_str(why),
            Self::System { call, errno } => write!(f, "{call}: {}", io::Error::from_raw_os_error(*errno)),
        }
    }
}

impl std::error::Error for Error {}
