//! A thread for each CPU, each with work of its own, so that every CPU counts.
//!
//!     coho run --try compact,spread -- target/release/examples/compute 20000
//!     coho run --live compact,spread,none --rate '([0-9]+) pieces/s' -- target/release/examples/compute

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const OFTEN: Duration = Duration::from_millis(50);

fn main() {
    pieces(std::env::args().nth(1).and_then(|pieces| pieces.parse().ok()));
}

/// Does this many pieces of work; if `None`, goes on for ever and prints how many it does a second.
pub fn pieces(most: Option<u64>) {
    let done = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while done.fetch_add(1, Relaxed) < most.unwrap_or(u64::MAX) {
                    black_box(piece());
                }
            });
        }
        let mut before = (Instant::now(), 0);
        while most.is_none() {
            thread::sleep(OFTEN);
            let now = (Instant::now(), done.load(Relaxed));
            let seconds = (now.0 - before.0).as_secs_f64();
            println!("{:.0} pieces/s", (now.1 - before.1) as f64 / seconds);
            before = now;
        }
    });
}

/// Some microseconds of multiplications, each of which waits for the one before.
fn piece() -> u64 {
    (0..20_000_u64).fold(1, |product, step| black_box(product).wrapping_mul(step | 1))
}
