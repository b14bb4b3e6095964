//! A vector of atomics, each of which one thread increments through what it shares with the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn main() {
    let counters: Arc<Vec<AtomicU64>> = Arc::new((0..2).map(|_| AtomicU64::new(0)).collect());
    println!("{:p}", counters.as_ptr());
    let threads = [0, 1].map(|at| {
        let counters = counters.clone();
        std::thread::spawn(move || {
            for _ in 0..20_000_000 {
                counters[at].fetch_add(1, Relaxed);
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
}
