//! How the ranks find each other in memory that begins as zeros.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::thread::sleep;
use std::time::{Duration, Instant};

use coho_platform::{cgroup, pin};

use super::memory::{ABSENT, CPUS, GONE, HERE, Memory};
use crate::Error;
use crate::sync::can_fence_everybody;
use crate::wait::{Crowding, Reach};

/// The longest time between two looks.
const LOOK: Duration = Duration::from_millis(1);

/// Takes a rank's place and waits until all others have taken theirs; returns what keeps them from running at once.
pub(super) fn join(memory: Memory, rank: usize, ranks: usize, limit: Duration) -> Result<Crowding, Error> {
    let end = Instant::now().checked_add(limit);
    if rank == 0 && memory.is_made().is_none() {
        memory.make();
    }
    if !until(end, || memory.is_made().is_some()) {
        return Err(Error::Absent { ranks: vec![0] });
    }
    if memory.is_made() == Some(false) {
        return Err(Error::Argument("another version of coho-sync has made the barrier".into()));
    }
    let (common, place) = (memory.common(), memory.place(rank));
    let fenced = can_fence_everybody(Reach::Processes);
    if !fenced {
        common.unfenced.fetch_add(1, Relaxed);
    }
    for cpu in pin::of_process()?.iter() {
        let cpu = cpu as usize % CPUS;
        common.cpus[cpu / 64].fetch_or(1 << (cpu % 64), Relaxed);
    }
    if place.presence.load(Relaxed) != ABSENT {
        return Err(Error::Argument(format!("rank {rank} has joined before")));
    }
    place.life.begin()?;
    place.presence.store(HERE, Release);
    common.joined.fetch_add(1, AcqRel);
    if !until(end, || common.joined.load(Acquire) as usize == ranks) {
        let absent = |&other: &usize| memory.place(other).presence.load(Acquire) == ABSENT;
        let absent = (0..ranks).filter(absent).collect();
        leave(memory, rank);
        return Err(Error::Absent { ranks: absent });
    }
    // All have come, so all see the same.
    let cpus: u32 = common.cpus.iter().map(|word| word.load(Relaxed).count_ones()).sum();
    let crowding = Crowding::of(ranks, cpus as usize, cgroup::cpu_quota());
    if common.unfenced.load(Relaxed) == 0 && crowding != Crowding::Threads {
        common.bell.rely_on_the_kernel();
    }
    Ok(crowding)
}

/// Gives a rank's place up, which tells those that wait for it.
pub(super) fn leave(memory: Memory, rank: usize) {
    let place = memory.place(rank);
    place.presence.store(GONE, Release);
    place.life.end();
}

/// Whether something happens before the end. Ranks may start far apart, so it sleeps between looks.
fn until(end: Option<Instant>, happens: impl Fn() -> bool) -> bool {
    let mut pause = Duration::from_micros(20);
    while !happens() {
        if end.is_some_and(|end| Instant::now() >= end) {
            return false;
        }
        sleep(pause);
        pause = (2 * pause).min(LOOK);
    }
    true
}
