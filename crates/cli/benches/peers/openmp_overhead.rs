//! What libgomp's interface adds to a team: a region and a barrier through it, in turn with the team's own.

use std::ffi::{c_int, c_uint, c_void};
use std::time::{Duration, Instant};

// Linked for its functions.
use coho_openmp as _;
use coho_sync::{Team, WaitPolicy};

use crate::turns::median;

unsafe extern "C-unwind" {
    fn GOMP_parallel(
        body: unsafe extern "C-unwind" fn(*mut c_void),
        data: *mut c_void,
        threads: c_uint,
        flags: c_uint,
    );
    fn GOMP_barrier();
    fn omp_get_thread_num() -> c_int;
}

const THREADS: u32 = 2;
/// Operations of a burst.
const BURST: u32 = 2000;

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

/// Prints the table.
pub fn run(quick: bool) {
    println!("What libgomp's interface adds to a team of {THREADS}, in turn in one process");
    // The library begins when it finds a libgomp.
    // SAFETY: the name ends with a zero; libgomp begins and ends without harm.
    if unsafe { libc::dlopen(c"libgomp.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) }.is_null() {
        println!("  not available: no libgomp.so.1 can be loaded\n");
        return;
    }
    let policy = WaitPolicy::default();
    let mut team = match Team::builder(THREADS as usize).pinned(false).lenient(true).policy(policy).start() {
        Ok(team) => team,
        Err(why) => {
            println!("  not available: {why}\n");
            return;
        }
    };
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..if quick { 20 } else { 200 } {
        let begun = Instant::now();
        for _ in 0..BURST {
            team.run(|_| ());
        }
        times[0].push(each(begun.elapsed()));
        let begun = Instant::now();
        for _ in 0..BURST {
            // SAFETY: the body takes any data.
            unsafe { GOMP_parallel(nothing, std::ptr::null_mut(), THREADS, 0) };
        }
        times[1].push(each(begun.elapsed()));
        let burst = std::sync::Mutex::new(Duration::ZERO);
        team.run(|member| {
            member.barrier();
            let begun = Instant::now();
            for _ in 0..BURST {
                member.barrier();
            }
            if member.rank() == 0 {
                *burst.lock().unwrap() = begun.elapsed();
            }
        });
        times[2].push(each(*burst.lock().unwrap()));
        let mut burst = Duration::ZERO;
        // SAFETY: the data is what the body wants.
        unsafe { GOMP_parallel(barriers, (&raw mut burst).cast(), THREADS, 0) };
        times[3].push(each(burst));
    }
    for (what, own, through) in [("region", 0, 1), ("barrier", 2, 3)] {
        let added: Vec<f64> =
            times[through].iter().zip(&times[own]).map(|(through, own)| through - own).collect();
        println!(
            "  {what:<10} team {:>7.1} ns  through GOMP {:>7.1} ns  added {:>6.1} ns",
            median(&times[own]),
            median(&times[through]),
            median(&added)
        );
    }
    println!();
}
