//! Barriers of two threads, side by side in one process: this library's, the system's and other crates'.
//!
//! Passes of short bursts, every barrier in each pass, in a new order each time. Ratios are formed within a pass, to
//! the one-way latency of a line in the same pass (a strict alternation of two threads on one line, halved). `cargo
//! bench -p coho-sync --bench barriers -- [PASSES]`

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use coho_sync::{Algorithm, Barrier, Team, WaitPolicy};

const BURST: u64 = 1000;

/// A barrier of two threads, as each of them calls it.
type Wait<'a> = Box<dyn Fn(usize, u64) + Sync + 'a>;

#[repr(align(128))]
struct Line(AtomicU64);

struct Posix(UnsafeCell<libc::pthread_barrier_t>);

// SAFETY: made for being shared.
unsafe impl Sync for Posix {}

impl Posix {
    fn new() -> Self {
        // SAFETY: an all-zero barrier is what the initialisation may overwrite.
        let barrier = Self(UnsafeCell::new(unsafe { std::mem::zeroed() }));
        // SAFETY: the barrier lives until the process ends.
        unsafe { libc::pthread_barrier_init(barrier.0.get(), std::ptr::null(), 2) };
        barrier
    }
}

struct Hurdles([std::sync::Mutex<hurdles::Barrier>; 2]);

fn subjects() -> Vec<(String, Wait<'static>)> {
    let mut subjects: Vec<(String, Wait<'static>)> = Vec::new();
    let lines = [Line(AtomicU64::new(0)), Line(AtomicU64::new(0))];
    subjects.push(("one-way latency, one line".into(), latency(lines, false)));
    let lines = [Line(AtomicU64::new(0)), Line(AtomicU64::new(0))];
    subjects.push(("one-way latency, two lines".into(), latency(lines, true)));
    for algorithm in [Algorithm::Auto].into_iter().chain(Algorithm::ALL) {
        let barrier = Barrier::builder(2)
            .algorithm(algorithm)
            .policy(WaitPolicy::default())
            .build()
            .expect("two threads");
        subjects.push((format!("coho {algorithm}"), Box::new(move |rank, _| barrier.wait(rank))));
    }
    let barrier = std::sync::Barrier::new(2);
    subjects.push((
        "std::sync::Barrier".into(),
        Box::new(move |_, _| {
            barrier.wait();
        }),
    ));
    let barrier = Posix::new();
    let posix = move |_: usize, _: u64| {
        let barrier = &barrier;
        // SAFETY: initialised, for two threads.
        unsafe { libc::pthread_barrier_wait(barrier.0.get()) };
    };
    subjects.push(("pthread_barrier".into(), Box::new(posix)));
    let barrier = hurdles::Barrier::new(2);
    let hurdles = Hurdles([std::sync::Mutex::new(barrier.clone()), std::sync::Mutex::new(barrier)]);
    let wait = move |rank: usize, _: u64| {
        hurdles.0[rank].lock().expect("nobody panics").wait();
    };
    subjects.push(("hurdles (and an idle mutex)".into(), Box::new(wait)));
    subjects
}

/// One thread's step of a strict alternation, half of a round trip.
fn latency(lines: [Line; 2], two: bool) -> Wait<'static> {
    Box::new(move |rank, step| {
        // In even steps rank 0 writes, in odd ones rank 1.
        let writer = (step % 2) as usize;
        let line = &lines[if two { writer } else { 0 }].0;
        if rank == writer {
            line.store(step, Ordering::Release);
        } else {
            while line.load(Ordering::Acquire) < step {
                std::hint::spin_loop();
            }
        }
    })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let passes = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(40);
    let subjects = subjects();
    let mut steps = vec![0; subjects.len()];
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); subjects.len()];
    let mut team = Team::builder(2).policy(WaitPolicy::Active).start().expect("two CPUs");
    let _pin = team.pin_caller().expect("rank 0's CPU");
    let (mut forks, mut joins, mut both, mut sizes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..passes {
        let mut order: Vec<_> = (0..subjects.len()).collect();
        fastrand::shuffle(&mut order);
        for index in order {
            let (wait, first) = (&subjects[index].1, steps[index] + 1);
            let ns = AtomicUsize::new(0);
            team.run(|member| {
                let rank = member.rank();
                let burst = |steps: std::ops::Range<u64>| steps.for_each(|step| wait(rank, step));
                burst(first..first + 100);
                let start = Instant::now();
                burst(first + 100..first + 100 + BURST);
                if rank == 0 {
                    ns.store(start.elapsed().as_nanos() as usize, Ordering::Relaxed);
                }
            });
            steps[index] += 100 + BURST;
            times[index].push(ns.into_inner() as f64 / BURST as f64);
        }
        let timed: Vec<_> = (0..50).map(|_| team.run_timed(|_| ())).collect();
        forks.push(median(&mut timed.iter().map(|times| times.fork.as_nanos() as f64).collect::<Vec<_>>()));
        joins.push(median(&mut timed.iter().map(|times| times.join.as_nanos() as f64).collect::<Vec<_>>()));
        let start = Instant::now();
        (0..BURST).for_each(|_| team.run(|_| ()));
        both.push(start.elapsed().as_nanos() as f64 / BURST as f64);
        let start = Instant::now();
        for _ in 0..BURST {
            team.resize(1).expect("a size that it had");
            team.run(|_| ());
            team.resize(2).expect("a size that it had");
            team.run(|_| ());
        }
        sizes.push(start.elapsed().as_nanos() as f64 / BURST as f64);
    }
    let names = subjects.iter().map(|(name, _)| name.clone());
    let more = [
        ("fork, by clock", forks),
        ("join, by clock", joins),
        ("an empty run (fork + join)", both),
        ("a run of 1, then of 2", sizes),
    ];
    let all = names.zip(times.clone()).chain(more.map(|(name, times)| (name.to_owned(), times)));
    println!("{:28} {:>9} {:>9} {:>9} {:>7}", "2 threads, ns", "min", "median", "high 90 %", "ratio");
    for (name, mut each) in all {
        let mut ratios: Vec<_> = each.iter().zip(&times[0]).map(|(time, latency)| time / latency).collect();
        let ratio = median(&mut ratios);
        let median = median(&mut each);
        println!("{name:28} {:9.1} {median:9.1} {:9.1} {ratio:7.2}", each[0], each[each.len() * 9 / 10]);
    }
}
