//! Where a scheduler puts programs on a machine, and what that costs them (Kimoto): a simulator of FreeBSD's ULE.
//!
//! ULE decides by a tree of CPU groups, the kernel's idea of the machine; what a decision costs depends on the actual
//! machine. The simulator therefore takes both: a [`Tree`] that ULE believes in, and a [`Machine`] that determines
//! how long lines take from CPU to CPU. Run on one machine under several trees, it shows what a kernel's view of the
//! machine does to a program. As flags and shape of a tree can be changed one at a time, it also shows which part of
//! the view does it.
//!
//! The rules are those of sys/kern/sched_ule.c around r281991 (2015): where a woken or new task runs, when an idle
//! CPU spins, halts and steals, and the balancer that runs every second or so. Programs are described by their
//! structure: who wakes whom, how long they run in between, how many lines they hand over. Every cost is an
//! assumption that can be inspected ([`Costs`]) and replaced. Each seed draws all of them from their ranges, so that
//! a prediction's interval covers their uncertainty.
//!
//! [`check()`] compares the simulator with a machine's own figures: programs restricted to one CPU and to two.
//!
//! Not modelled: priorities (all tasks of a workload have the same), interrupts, the capacity of caches, contention
//! for locks and memory, clocks that depend on load, and whatever a disk does.

mod check;
mod costs;
mod engine;
mod machine;
mod outcome;
mod predict;
mod program;
mod report;
mod state;
mod step;
mod tree;
mod ule;
mod verdict;
mod view;
mod workload;

#[cfg(test)]
mod tests;

pub use check::{Check, Checked, Unchecked, check};
pub use costs::{Assumed, Costs};
pub use machine::Machine;
pub use outcome::{Outcome, RUNS, Ratio, SEED};
pub use predict::{Prediction, Range, Sign, predict};
pub use state::Stats;
pub use tree::Tree;
pub use verdict::{Contrast, Finding, Verdict};
pub use view::{View, freebsd_order};
pub use workload::Workload;
