//! How long CPUs take to wake: by a timer, by a futex and by a pipe.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use coho_profile::Wakeup;

use crate::clock::Clock;
use crate::frame::Frame;
use crate::workers::{Done, Job, Workers};
use crate::{Error, statistics};

/// What the sleeper waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Timer,
    /// Woken by a thread on this CPU.
    Futex(u32),
    Pipe(u32),
}

/// One way of waking one CPU, and its figures, pass by pass.
struct Cell {
    by: By,
    cpu: u32,
    sleep: Duration,
    passes: Vec<Vec<f64>>,
}

/// How much to measure.
pub(super) struct Effort {
    pub sleeps: Vec<Duration>,
    pub passes: usize,
    pub samples: usize,
}

/// Wakes each of the CPUs by a timer, and each but the first by the first one; interleaved, in random order.
///
/// # Errors
/// If a CPU is lost.
pub(super) fn measure(frame: &mut Frame<'_>, cpus: &[u32], effort: &Effort) -> Result<Vec<Wakeup>, Error> {
    let mut cells = Vec::new();
    for &sleep in &effort.sleeps {
        let cell = |by, cpu| Cell { by, cpu, sleep, passes: Vec::new() };
        cells.extend(cpus.iter().map(|&cpu| cell(By::Timer, cpu)));
        if let [first, others @ ..] = cpus {
            cells.extend(
                others.iter().flat_map(|&cpu| [cell(By::Futex(*first), cpu), cell(By::Pipe(*first), cpu)]),
            );
        }
    }
    frame.visit_all("wake-ups", effort.passes, &mut cells, |frame, cell, _| {
        let pass = cell.run(&frame.workers, effort.samples)?;
        cell.passes.push(frame.value(pass));
        Ok::<_, Error>(())
    })?;
    let wakeup = |cell: Cell| {
        let (by, from) = match cell.by {
            By::Timer => ("timer", None),
            By::Futex(from) => ("futex", Some(from)),
            By::Pipe(from) => ("pipe", Some(from)),
        };
        Wakeup {
            by: by.into(),
            cpu: cell.cpu,
            from,
            slept_us: cell.sleep.as_micros() as u64,
            ns: statistics::estimate(&cell.passes),
            under: None,
        }
    };
    Ok(cells.into_iter().map(wakeup).collect())
}

impl Cell {
    /// One pass: times in ns from the moment to wake until the thread ran.
    fn run(&self, workers: &Workers, samples: usize) -> Result<Done<Vec<f64>>, Error> {
        let (cpu, sleep) = (self.cpu, self.sleep);
        let woken = match self.by {
            By::Timer => workers.run(vec![(cpu, Box::new(move || by_timer(sleep, samples)) as Job<'_, _>)]),
            By::Futex(from) => {
                let word = Word::default();
                pair(workers, (from, cpu), sleep, samples, |_| word.wake(), |_| word.wait())
            }
            By::Pipe(from) => {
                let (reader, writer) = io::pipe().map_err(|error| Error::system("pipe", error))?;
                let wake = |_| (&writer as &PipeWriter).write_all(&[1]).is_ok();
                let wait = |_| (&reader as &PipeReader).read_exact(&mut [0]).is_ok();
                pair(workers, (from, cpu), sleep, samples, wake, wait)
            }
        };
        // The sleeper's is the last.
        woken.into_iter().next_back().expect("one job or two have been run")
    }
}

fn by_timer(sleep: Duration, samples: usize) -> Vec<f64> {
    // SAFETY: no pointers. Without this the kernel lets timers of ordinary threads be 50 us late.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    (0..samples)
        .map(|_| {
            let due = monotonic_ns() + sleep.as_nanos() as i64;
            let time = libc::timespec { tv_sec: due / 1_000_000_000, tv_nsec: due % 1_000_000_000 };
            loop {
                // SAFETY: `time` is initialised; what is left is not asked for.
                let left = unsafe {
                    libc::clock_nanosleep(
                        libc::CLOCK_MONOTONIC,
                        libc::TIMER_ABSTIME,
                        &time,
                        std::ptr::null_mut(),
                    )
                };
                if left != libc::EINTR {
                    return (monotonic_ns() - due) as f64;
                }
            }
        })
        .collect()
}

fn monotonic_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// One thread wakes the other, which has slept for a while; returns the times from the first one's call until the other
/// runs. Both CPUs' clocks are assumed to agree.
fn pair(
    workers: &Workers,
    (from, cpu): (u32, u32),
    sleep: Duration,
    samples: usize,
    wake: impl Fn(u32) -> bool + Sync,
    wait: impl Fn(u32) -> bool + Sync,
) -> Vec<Result<Done<Vec<f64>>, Error>> {
    let called = AtomicU64::new(0);
    let (called, wake, wait) = (&called, &wake, &wait);
    let clock = Clock::get();
    let waker = move || {
        for round in 0..samples as u32 {
            std::thread::sleep(sleep);
            called.store(clock.now(), SeqCst);
            if !wake(round) {
                break;
            }
        }
        Vec::new()
    };
    let sleeper = move || {
        let mut times = Vec::with_capacity(samples);
        for round in 0..samples as u32 {
            if !wait(round) {
                break;
            }
            let now = clock.now();
            times.push(clock.ns(now.saturating_sub(called.load(SeqCst))));
        }
        times
    };
    workers.run(vec![(from, Box::new(waker) as Job<'_, _>), (cpu, Box::new(sleeper))])
}

/// A count of wake-ups that a thread sleeps on.
#[derive(Default)]
struct Word {
    woken: AtomicU32,
    seen: AtomicU32,
}

impl Word {
    fn wake(&self) -> bool {
        self.woken.fetch_add(1, SeqCst);
        // SAFETY: the word outlives the call.
        unsafe {
            libc::syscall(libc::SYS_futex, &self.woken, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1)
        };
        true
    }

    fn wait(&self) -> bool {
        let seen = self.seen.load(SeqCst);
        while self.woken.load(SeqCst) == seen {
            // SAFETY: the word outlives the call; without a time it waits for as long as it takes.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    &self.woken,
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    seen,
                    std::ptr::null::<libc::timespec>(),
                )
            };
        }
        self.seen.store(seen + 1, SeqCst);
        true
    }
}
