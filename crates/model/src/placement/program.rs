//! Programs as the simulator runs them: who wakes whom, and how long they run between.

/// A step of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Op {
    /// Computes for so long, in ns on a core of its own.
    Run(f64),
    /// The same with floating point throughout.
    Float(f64),
    /// Computes for so long on average, exponentially distributed, in ns.
    RunAbout(f64),
    /// Puts a message into a channel, and wakes who waits for one.
    Send(usize),
    /// Takes a message out of a channel, or waits for one.
    Receive(usize),
    /// Makes a child that runs a program, by its number.
    Fork(usize),
    /// Waits for a child to end, unless one has ended already.
    AwaitChild,
    /// Sleeps for so long on average, in ns.
    Sleep(f64),
    /// Counts a piece of work done.
    Count,
    /// Goes on with another step, by its number.
    Jump(usize),
    /// Ends.
    Exit,
}

/// A program.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Program {
    /// Its steps; it ends behind the last.
    pub(super) ops: Vec<Op>,
    /// Lines that it must fetch again from where it ran last when it runs elsewhere.
    pub(super) lines: f64,
    /// The only CPU that it may run on.
    pub(super) held: Option<usize>,
}

/// The programs of a workload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Programs {
    /// The programs.
    pub(super) programs: Vec<Program>,
    /// Messages in each channel when it begins.
    pub(super) channels: Vec<u32>,
    /// Programs that are begun on any CPU; others are forked.
    pub(super) begun: Vec<usize>,
}
