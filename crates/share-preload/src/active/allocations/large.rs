//! Where large blocks begin, in a table that is searched by nobody but a thread that begins to record.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::super::thread;
use super::blocks;

const PLACES: usize = 4096;
/// Places that a block may have.
const PROBES: usize = 16;

static BLOCKS: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];

fn places(address: usize) -> impl Iterator<Item = &'static AtomicUsize> {
    let first = (address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (0..PROBES).map(move |probe| &BLOCKS[(first + probe) % PLACES])
}

/// Adds one, and reports it if the process is recorded already. One that finds no place is not reported later.
pub fn add(address: usize) {
    let _ = places(address).find(|place| place.compare_exchange(0, address, Relaxed, Relaxed).is_ok());
    if thread::is_recorded() {
        thread::this().write(|writer| blocks::report_block(address, writer));
    }
}

pub fn remove(address: usize) {
    let _ = places(address).find(|place| place.compare_exchange(address, 0, Relaxed, Relaxed).is_ok());
}

/// Reports all, as a process begins to be recorded.
pub fn report_all() {
    thread::this().write(|writer| {
        let alive = BLOCKS.iter().map(|place| place.load(Relaxed)).filter(|&address| address != 0);
        alive.for_each(|address| blocks::report_block(address, writer));
    });
}
