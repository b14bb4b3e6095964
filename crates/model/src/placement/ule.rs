//! ULE's decisions, as sys/kern/sched_ule.c makes them (around r281991), on loads alone.
//!
//! A CPU's load counts the task that runs on it and those that wait for it. Where ULE compares priorities, all tasks
//! here have the same one: a CPU can run a task at once if it is idle.

use fastrand::Rng;

use super::tree::Tree;

/// How long a task is assumed to keep its lines in the cache of a level: a tick of a millisecond per level
/// (`SCHED_AFFINITY`).
const TICK_NS: u64 = 1_000_000;
/// Interval of the statistics clock, in ns: 127 Hz.
pub(super) const STATCLOCK_NS: u64 = 1_000_000_000 / 127;
/// A CPU that switched more often than this in the last two intervals spins when idle (`sched_idlespinthresh`).
pub(super) const SPIN_THRESHOLD: u32 = 16;
/// The longest time between two balancings, in ns (`balance_interval`, half to one and a half times as much).
pub(super) const BALANCE_NS: u64 = 128 * STATCLOCK_NS;

/// A task that becomes ready.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    /// Where it ran last.
    pub(super) last: usize,
    /// The CPU that makes it ready.
    pub(super) waker: usize,
    /// Time since it last ran, in ns.
    pub(super) rested_ns: u64,
}

impl Ready {
    fn fresh(&self, level: u8) -> bool {
        self.rested_ns / TICK_NS < u64::from(level)
    }
}

/// The CPU for a task that becomes ready (`sched_pickcpu`).
pub(super) fn pick_cpu(tree: &Tree, loads: &[usize], ready: Ready, rng: &mut Rng) -> usize {
    let idle = |cpu: usize| loads[cpu] == 0;
    let leaf = tree.leaf(ready.last);
    // Where it last ran, if that is idle; if it is a thread of a core, only if all its threads are.
    if idle(ready.last) && ready.fresh(2) && (!leaf.threads || leaf.cpus.iter().all(|&cpu| idle(cpu))) {
        return ready.last;
    }
    // Then near the caches that it last used, but not among threads of its core.
    let near = tree.around(ready.last).filter(|&group| {
        let node = tree.node(group);
        !node.threads && ready.fresh(node.level)
    });
    let prefer = Some(ready.last);
    if let Some(group) = near.last().filter(|&group| tree.node(group).cpus.len() < tree.len())
        && let Some(cpu) = tree.lowest(group, loads, prefer, rng, &idle)
    {
        return cpu;
    }
    // Then anywhere idle, then anywhere.
    let anywhere = tree.lowest(0, loads, prefer, rng, &idle);
    anywhere.or_else(|| tree.lowest(0, loads, prefer, rng, &|_| true)).unwrap_or(ready.waker)
}

/// Whether a CPU without work may look for work before it halts (`TDQ_IDLESPIN`).
pub(super) fn may_spin(tree: &Tree, cpu: usize) -> bool {
    !tree.leaf(cpu).threads
}

/// The CPU from which a CPU without work takes a waiting task (`tdq_idled`); nearest groups first.
pub(super) fn steal_from(
    tree: &Tree,
    cpu: usize,
    loads: &[usize],
    waiting: impl Fn(usize) -> bool,
    rng: &mut Rng,
) -> Option<usize> {
    tree.around(cpu).find_map(|group| {
        let threshold = if tree.node(group).threads { 1 } else { steal_threshold(tree.len()) };
        let may = |other: usize| other != cpu && loads[other] >= threshold && waiting(other);
        tree.highest(group, loads, rng, &may)
    })
}

/// The smallest load to steal from (`steal_thresh`): 1 on 2 or 3 CPUs, 2 on 4 to 7, 3 on more.
fn steal_threshold(cpus: usize) -> usize {
    (cpus.max(1).ilog2() as usize).min(3)
}

/// Moves of the balancer (`sched_balance_group`): from the most loaded CPU with a waiting task to the least loaded,
/// where each CPU gives at most once. Calls `carry` for each move and keeps the loads up to date.
pub(super) fn balance(
    tree: &Tree,
    loads: &mut [usize],
    mut waiting: impl FnMut(usize) -> bool,
    rng: &mut Rng,
    mut carry: impl FnMut(usize, usize),
) {
    let mut donor = vec![true; tree.len()];
    loop {
        let gives: Vec<bool> =
            (0..tree.len()).map(|cpu| donor[cpu] && loads[cpu] > 0 && waiting(cpu)).collect();
        let Some(high) = tree.highest(0, loads, rng, &|cpu| gives[cpu]) else { return };
        donor[high] = false;
        let may = |cpu: usize| donor[cpu] && loads[cpu] < loads[high];
        let Some(low) = tree.lowest(0, loads, Some(high), rng, &may) else { return };
        donor[low] = false;
        loads[high] -= 1;
        loads[low] += 1;
        carry(high, low);
    }
}

/// How long a task runs while `waiting` others wait for its CPU, in ns (`tdq_slice`); for ever when none does.
pub(super) fn slice_ns(waiting: usize) -> Option<u64> {
    const SLICE: u64 = 12;
    match waiting {
        0 => None,
        1..6 => Some(STATCLOCK_NS * (SLICE / waiting as u64)),
        _ => Some(STATCLOCK_NS * (SLICE / 6)),
    }
}
