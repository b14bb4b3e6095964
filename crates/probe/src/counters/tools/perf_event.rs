//! The kernel's own interface: a read, and a stop and start.

use std::hint::black_box;
use std::os::fd::AsRawFd;

use coho_counters::{Counter, Event, Mode};

use super::{Open, Tool, repeat, repeat_on};

/// `_IO('$', 0)` and `_IO('$', 1)` of linux/perf_event.h.
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, operation: fn(&Counter)| Tool {
        name,
        open: Box::new(move || {
            let (event, counter) = counter()?;
            Ok(Open { run: repeat(move || operation(&counter)), event: event.name })
        }),
        step: Ok(repeat_on(|| Ok(counter()?.1), operation)),
    };
    vec![tool("perf_event read", read), tool("perf_event start and stop", start_and_stop)]
}

/// Cycles, or page faults if the CPU's counters are not available.
fn counter() -> Result<(Event, Counter), String> {
    let open = |event: Event| Counter::open(&event, Mode::User).map(|counter| (event, counter));
    open(Event::cycles()).or_else(|_| open(Event::page_faults())).map_err(|error| error.to_string())
}

fn read(counter: &Counter) {
    let mut values = [0u64; 4];
    // SAFETY: the kernel writes at most the size given. By number, since the C library's function is a cancellation
    // point.
    black_box(unsafe {
        libc::syscall(libc::SYS_read, counter.as_raw_fd(), values.as_mut_ptr(), size_of_val(&values))
    });
}

fn start_and_stop(counter: &Counter) {
    // SAFETY: ioctls without memory arguments.
    unsafe {
        black_box(libc::ioctl(counter.as_raw_fd(), ENABLE as _, 0));
        black_box(libc::ioctl(counter.as_raw_fd(), DISABLE as _, 0));
    }
}
