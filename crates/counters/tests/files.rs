//! In a program of its own, since it takes all file descriptors away.

use coho_counters::{Counter, Error, Event, Mode};
use coho_testing::{Capability, needs};

#[test]
fn no_descriptor_left_is_said_so() {
    needs!(Capability::PerfEvents);
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads `none`; lowering one's own limits is always allowed.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) }, 0);
    let error = Counter::open(&Event::page_faults(), Mode::User).unwrap_err();
    assert_eq!(error, Error::TooManyFiles);
    assert!(error.to_string().contains("ulimit"));
}
