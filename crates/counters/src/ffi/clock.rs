//! The clock.

use crate::clock::Clock;

/// The time now, in ticks. Earlier loads have completed before it is taken, later ones begin after.
#[unsafe(no_mangle)]
pub extern "C" fn coho_clock_now() -> u64 {
    Clock::get().now()
}

/// A difference of two times in ns.
#[unsafe(no_mangle)]
pub extern "C" fn coho_clock_ns(ticks: u64) -> f64 {
    Clock::get().ns(ticks)
}

/// The smallest step between two times that differ, in ns.
#[unsafe(no_mangle)]
pub extern "C" fn coho_clock_step_ns() -> f64 {
    Clock::get().step_ns()
}
