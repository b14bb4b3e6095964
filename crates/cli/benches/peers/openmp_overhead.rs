//! What libgomp's interface adds to a team: a region and a barrier through it, in turn with the team's own.

use std::ffi::{c_int, c_uint, c_void};
use std::time::{Duration, Instant};

// Linked for its functions.
use coho_openmp as _;
use coho_sync::{Team, WaitPolicy};

use crate::turns::{median, middle_half};

unsafe extern "C-unwind" {
    fn GOMP_parallel(
        body: unsafe extern "C-unwind" fn(*mut c_void),
        data: *mut c_void,
        threads: c_uint,
        flags: c_uint,
    );
    fn GOMP_barrier();
    fn omp_get_thread_num() -> c_int;
    fn omp_pause_resource_all(kind: c_int) -> c_int;
}

const THREADS: u32 = 2;
/// Operations of a burst.
const BURST: u32 = 2000;
/// Ends all teams.
const PAUSE_HARD: c_int = 2;

unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}

/// A burst of barriers; the first member puts the time into the data.
unsafe extern "C-unwind" fn barriers(time: *mut c_void) {
    // SAFETY: called in a region; only one member writes, while the caller waits.
    unsafe {
        GOMP_barrier();
        let begun = Instant::now();
        for _ in 0..BURST {
            GOMP_barrier();
        }
        if omp_get_thread_num() == 0 {
            *time.cast::<Duration>() = begun.elapsed();
        }
    }
}

/// Nanoseconds of one of a burst.
fn each(time: Duration) -> f64 {
    time.as_nanos() as f64 / f64::from(BURST)
}

/// A region and a barrier of a team, which is gone afterwards: its thread would wait for the next run on the other's CPU.
fn own() -> Result<[f64; 2], String> {
    let builder = Team::builder(THREADS as usize).pinned(false).lenient(true).policy(WaitPolicy::default());
    let mut team = builder.start().map_err(|why| why.to_string())?;
    let mut burst = || {
        let begun = Instant::now();
        (0..BURST).for_each(|_| team.run(|_| ()));
        each(begun.elapsed())
    };
    burst();
    let region = burst();
    let barrier = std::sync::Mutex::new(Duration::ZERO);
    team.run(|member| {
        member.barrier();
        let begun = Instant::now();
        (0..BURST).for_each(|_| member.barrier());
        if member.rank() == 0 {
            *barrier.lock().unwrap() = begun.elapsed();
        }
    });
    Ok([region, each(barrier.into_inner().unwrap())])
}

/// The same through libgomp's interface.
fn through() -> [f64; 2] {
    let burst = || {
        let begun = Instant::now();
        for _ in 0..BURST {
            // SAFETY: the body takes any data.
            unsafe { GOMP_parallel(nothing, std::ptr::null_mut(), THREADS, 0) };
        }
        each(begun.elapsed())
    };
    burst();
    let region = burst();
    let mut barrier = Duration::ZERO;
    // SAFETY: the data is what the body wants; no region is open when the teams are ended.
    unsafe {
        GOMP_parallel(barriers, (&raw mut barrier).cast(), THREADS, 0);
        omp_pause_resource_all(PAUSE_HARD);
    }
    [region, each(barrier)]
}

/// Prints the table.
pub fn run(quick: bool) {
    println!("What libgomp's interface adds to a team of {THREADS}, in turn in one process");
    // The library begins when it finds a libgomp.
    // SAFETY: the name ends with a zero; libgomp begins and ends without harm.
    if unsafe { libc::dlopen(c"libgomp.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) }.is_null() {
        println!("  not available: no libgomp.so.1 can be loaded\n");
        return;
    }
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..if quick { 20 } else { 200 } {
        match own() {
            Ok(own) => times.iter_mut().zip(own).for_each(|(times, time)| times.push(time)),
            Err(why) => {
                println!("  not available: {why}\n");
                return;
            }
        }
        times[2..].iter_mut().zip(through()).for_each(|(times, time)| times.push(time));
    }
    // Where the host moves the CPUs, the team's barrier tells where they were.
    let least = times[1].iter().copied().fold(f64::MAX, f64::min);
    let (near, far): (Vec<_>, Vec<_>) = (0..times[0].len()).partition(|&round| times[1][round] < 1.6 * least);
    for (place, rounds) in [("nearest", near), ("farther", far)].iter().filter(|(_, rounds)| rounds.len() > 9)
    {
        for (what, own, through) in [("region", 0, 2), ("barrier", 1, 3)] {
            let of = |which: usize| rounds.iter().map(|&round| times[which][round]).collect::<Vec<_>>();
            let (team, gomp) = (of(own), of(through));
            let added: Vec<f64> = gomp.iter().zip(&team).map(|(gomp, team)| gomp - team).collect();
            let (low, high) = middle_half(&added);
            println!(
                "  {place:<8} {what:<8} team {:>6.1} ns  through GOMP {:>6.1} ns  added {:>5.1} ns ({low:.1}-{high:.1})",
                median(&team),
                median(&gomp),
                median(&added)
            );
        }
    }
    println!();
}
