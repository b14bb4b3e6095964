//! How many of the program's threads are busy.

use std::time::Duration;

use crate::hosts;

/// The calling thread runs for so long before it is known. Where threads share a CPU, each has had its turn by then.
const WINDOW: Duration = Duration::from_millis(10);

/// As the calling thread sees it: the processor time of all threads but hosts for each second of its own. Where the CPUs are
/// taken by other programs, all of the program's busy threads have less, and their number stays.
#[derive(Debug)]
pub struct Load {
    since: Option<Times>,
    busy: Option<f32>,
}

#[derive(Debug, Clone, Copy)]
struct Times {
    own: Duration,
    program: Duration,
}

impl Times {
    fn now() -> Option<Self> {
        let program = of(libc::CLOCK_PROCESS_CPUTIME_ID)?.saturating_sub(hosts::processor_time());
        Some(Self { own: of(libc::CLOCK_THREAD_CPUTIME_ID)?, program })
    }
}

impl Load {
    pub const fn new() -> Self {
        Self { since: None, busy: None }
    }

    /// The number of busy threads, the calling one among them, in the time until now. `None` if that is too short as yet.
    pub fn busy(&mut self) -> Option<f32> {
        let now = Times::now()?;
        let then = *self.since.get_or_insert(now);
        let own = now.own.saturating_sub(then.own);
        if own >= WINDOW {
            let program = now.program.saturating_sub(then.program);
            self.busy = Some(program.as_secs_f32() / own.as_secs_f32());
            self.since = Some(now);
        }
        self.busy
    }
}

/// What the process has taken so far.
pub fn processor_time() -> Option<Duration> {
    of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn of(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes there alone.
    let read = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (read == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    /// Other tests may run beside this one, in threads of the same process: there are no fewer than these.
    #[test]
    fn threads_that_run_count_however_many_cpus_they_share() {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(50));
            let mut load = Load::new();
            assert_eq!(load.busy(), None);
            let begun = of(libc::CLOCK_THREAD_CPUTIME_ID).unwrap();
            while of(libc::CLOCK_THREAD_CPUTIME_ID).unwrap() - begun < 20 * WINDOW {
                std::hint::spin_loop();
            }
            let busy = load.busy().unwrap();
            over.store(true, Relaxed);
            assert!(busy > 2.5, "{busy}");
        });
    }
}
