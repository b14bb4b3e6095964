//! The simulator's state of CPUs, tasks and channels, and its counts.

use std::collections::VecDeque;

use coho_profile::Ns;

#[derive(Debug, Default)]
pub(super) struct Cpu {
    pub(super) waiting: VecDeque<usize>,
    pub(super) running: Option<usize>,
    /// An event will start the waiting work.
    pub(super) waking: bool,
    /// The rest of the running task's step at full speed, since when, and how fast.
    pub(super) left: Ns,
    pub(super) since: u64,
    pub(super) speed: f64,
    pub(super) turn: u64,
    pub(super) run: u64,
    pub(super) idle_since: u64,
    /// Number of the statistics clock's interval, and the switches in it and in the one before.
    pub(super) switches: (u64, [u32; 2]),
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) program: usize,
    pub(super) step: usize,
    /// Where it runs, waits or last ran.
    pub(super) cpu: usize,
    pub(super) ran_at: u64,
    /// Where its lines are.
    pub(super) lines_at: usize,
    pub(super) float: bool,
    /// What is left of a step that the end of a time slice cut off.
    pub(super) due: Ns,
    pub(super) parent: Option<usize>,
    pub(super) ended_children: u32,
    pub(super) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Running,
    AwaitsChild,
    Waits,
    Ended,
}

#[derive(Debug, Default)]
pub(super) struct Channel {
    /// The CPUs that messages lie on.
    pub(super) messages: VecDeque<usize>,
    pub(super) receivers: VecDeque<usize>,
}

/// What happened in a simulated run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    /// Pieces of work that the programs counted, after the first.
    pub work: u64,
    /// Time from the first piece of work to the last, in ns.
    pub work_ns: u64,
    /// Simulated time, in ns.
    pub duration_ns: u64,
    /// Wake-ups by another task, by how near the chosen CPU is to the waking one: the same, one that shares a core,
    /// module or L2, one that shares an L3, another.
    pub wakes: [u64; 4],
    /// How many of these found their CPU halted.
    pub halted: u64,
    /// How often a task ran on another CPU than before.
    pub moves: u64,
    /// Longest time for which a CPU had nothing to do while a task waited for a busy one, in ns.
    pub longest_unfair_ns: u64,
    /// Time that CPUs were busy, all together, in ns.
    pub busy_ns: u64,
}

impl Stats {
    /// Adds another run's counts.
    pub(super) fn add(&mut self, other: &Self) {
        self.work += other.work;
        self.work_ns += other.work_ns;
        self.duration_ns += other.duration_ns;
        self.wakes.iter_mut().zip(other.wakes).for_each(|(mine, theirs)| *mine += theirs);
        self.halted += other.halted;
        self.moves += other.moves;
        self.longest_unfair_ns = self.longest_unfair_ns.max(other.longest_unfair_ns);
        self.busy_ns += other.busy_ns;
    }
}
