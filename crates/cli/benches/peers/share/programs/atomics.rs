//! An atomic counter for each thread in one vector, as per-thread statistics often are: `PROGRAM REPEATS`. With
//! `--cfg apart`, each has a line of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
#[cfg_attr(apart, repr(align(64)))]
struct Counter {
    hits: AtomicU64,
}

fn main() {
    let repeats: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("repeats");
    let counters: Arc<Vec<Counter>> = Arc::new((0..2).map(|_| Counter::default()).collect());
    let threads: Vec<_> = (0..2)
        .map(|rank| {
            let counters = Arc::clone(&counters);
            std::thread::spawn(move || {
                let mut sum = rank as u64;
                for step in 0..repeats {
                    counters[rank].hits.fetch_add(1, Relaxed);
                    for _ in 0..8 {
                        sum = std::hint::black_box(sum ^ step);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
