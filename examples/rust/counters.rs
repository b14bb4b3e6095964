//! What one getpid costs: instructions and cycles of user mode and of the kernel, read in user mode.

use coho_counters::{Counter, Delta, Error, Event, Mode, clock::Clock};

fn getpid() {
    // SAFETY: no arguments; the raw call, since a library may remember the number.
    unsafe { libc::syscall(libc::SYS_getpid) };
}

fn count(event: &Event, mode: Mode) -> Result<Delta, Error> {
    let counter = Counter::open(event, mode)?;
    let bias = counter.calibrate()?;
    let span = counter.start()?;
    getpid();
    Ok(span.stop()?.less(bias))
}

fn main() {
    let clock = Clock::get();
    let start = clock.now();
    getpid();
    let ns = clock.ns(clock.now() - start);
    println!("{:22}{ns:.0} ns (the clock's step is {:.1} ns)", "time, cold", clock.step_ns());
    for event in [Event::instructions(), Event::cycles()] {
        for (part, mode) in [("user", Mode::User), ("kernel", Mode::Kernel)] {
            let name = format!("{part} {}", event.name);
            match count(&event, mode) {
                Ok(delta) => println!("{name:22}{delta}"),
                Err(why) => println!("{name:22}not available: {why}"),
            }
        }
    }
}
