//! Programs as the simulator runs them: who wakes whom, and how long they run in between.

use coho_profile::Ns;

/// A step of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Op {
    /// Computes for this long on a core of its own.
    Run(Ns),
    /// The same, with floating point throughout.
    Float(Ns),
    /// Computes for a random time, exponentially distributed with this mean.
    RunAbout(Ns),
    /// Puts a message into a channel, and wakes a task that waits for one.
    Send(usize),
    /// Takes a message out of a channel, or waits for one.
    Receive(usize),
    /// Creates a child that runs a program, by number.
    Fork(usize),
    /// Waits for a child to end, unless one has ended already.
    AwaitChild,
    /// Sleeps for this long on average.
    Sleep(Ns),
    /// Counts a piece of work done.
    Count,
    /// Continues with another step, by number.
    Jump(usize),
    /// Ends.
    Exit,
}

/// A program.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Program {
    /// Its steps; it ends after the last.
    pub(super) ops: Vec<Op>,
    /// Lines that it must fetch again from where it last ran when it runs elsewhere.
    pub(super) lines: f64,
    /// The only CPU that it may run on.
    pub(super) held: Option<usize>,
}

/// The programs of a workload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Programs {
    /// The programs.
    pub(super) programs: Vec<Program>,
    /// Initial number of messages in each channel.
    pub(super) channels: Vec<u32>,
    /// Programs that are started on any CPU; the others are forked.
    pub(super) begun: Vec<usize>,
}
