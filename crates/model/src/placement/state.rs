//! What the simulator keeps of CPUs, tasks and channels, and what it counts.

use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Cpu {
    pub(super) waiting: VecDeque<usize>,
    pub(super) running: Option<usize>,
    /// An event will begin what waits.
    pub(super) waking: bool,
    /// Of what the running task does, in ns at full speed, since when and how fast.
    pub(super) left: f64,
    pub(super) since: u64,
    pub(super) speed: f64,
    pub(super) turn: u64,
    pub(super) run: u64,
    pub(super) idle_since: u64,
    /// Switches in the statistics clock's interval of this number, and in the one before.
    pub(super) switches: (u64, [u32; 2]),
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) program: usize,
    pub(super) step: usize,
    /// Where it runs, waits or ran.
    pub(super) cpu: usize,
    pub(super) ran_at: u64,
    /// Where its lines are.
    pub(super) lines_at: usize,
    pub(super) float: bool,
    /// What is left of a step that a slice's end cut off, in ns.
    pub(super) due: f64,
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
    /// Pieces of work that the programs counted, behind the first.
    pub work: u64,
    /// Time from the first piece of work to the last, in ns.
    pub work_ns: u64,
    /// Simulated time, in ns.
    pub duration_ns: u64,
    /// Tasks made ready by another, by how near the CPU they were put on is to the one that did it: the same, one that
    /// shares a core, module or L2, one that shares an L3, another.
    pub wakes: [u64; 4],
    /// Of these, how many found their CPU halted.
    pub halted: u64,
    /// Times that a task ran on another CPU than before.
    pub moves: u64,
    /// Time for which a CPU had nothing to do while a task waited for a busy one, longest spell, in ns.
    pub longest_unfair_ns: u64,
    /// Time that CPUs were busy, all together, in ns.
    pub busy_ns: u64,
}

impl Stats {
    /// Adds another run's.
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
