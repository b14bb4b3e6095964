//! Words of threads, which share lines.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

struct Stats {
    hits: AtomicU64,
    misses: AtomicU32,
}

#[unsafe(no_mangle)]
static STATS: Stats = Stats { hits: AtomicU64::new(0), misses: AtomicU32::new(0) };
#[unsafe(no_mangle)]
static EACH: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

fn main() {
    STATS.hits.store(1, Relaxed);
    STATS.misses.store(1, Relaxed);
    EACH[1].store(1, Relaxed);
}
