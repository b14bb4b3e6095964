//! Lines that threads were seen to touch at one time. Where allocations are not seen, only these are known to be shared: what
//! one thread touches long after another may have been freed and allocated anew.

use std::collections::HashMap;

use libc::pid_t;

/// Ticks that show a line to be shared; one alone may be the moment in which it is handed over.
const LEAST: u32 = 2;
const LINE: u64 = 64;

/// The lines of memory that is part of no file.
#[derive(Debug, Default)]
pub(super) struct Together {
    lines: HashMap<u64, Line>,
}

#[derive(Debug)]
struct Line {
    /// The last tick that found it touched, and the thread that was first then.
    tick: u64,
    thread: pid_t,
    is_counted: bool,
    /// Ticks at which several threads touched it.
    ticks: u32,
}

impl Together {
    /// A thread touches an address at a tick.
    pub(super) fn touch(&mut self, address: u64, tick: u64, thread: pid_t) {
        let new = Line { tick, thread, is_counted: false, ticks: 0 };
        let line = self.lines.entry(address / LINE).or_insert(new);
        if line.tick != tick {
            *line = Line { tick, thread, is_counted: false, ticks: line.ticks };
        } else if line.thread != thread && !line.is_counted {
            line.is_counted = true;
            line.ticks += 1;
        }
    }

    /// Whether an address may be told of: it lies in such a line, or was never named here.
    pub(super) fn may_tell(&self, address: u64) -> bool {
        self.lines.get(&(address / LINE)).is_none_or(|line| line.ticks >= LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_threads_touch_one_after_the_other_are_not_told() {
        let mut together = Together::default();
        for tick in 0..100 {
            // One thread at each tick, in turns.
            together.touch(640, tick, 1 + (tick % 2) as pid_t);
            // Both at two of the ticks, each several times.
            for thread in [1, 2, 1, 2].into_iter().take(if tick < 2 { 4 } else { 1 }) {
                together.touch(1280 + 8 * thread as u64, tick, thread);
            }
            if tick == 0 {
                together.touch(1920, tick, 1);
                together.touch(1920, tick, 2);
            }
        }
        assert_eq!(
            [640, 1280, 1343, 1920, 4096].map(|at| together.may_tell(at)),
            [false, true, true, false, true]
        );
    }
}
