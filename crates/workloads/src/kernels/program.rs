//! What a program is to those who time it.

use super::crew::Crew;
use crate::Error;

/// A problem's size and what it takes to solve it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Loop length, unknowns or cells.
    pub n: u64,
    /// Floating-point operations of one run.
    pub operations: u64,
}

/// A program that crews run.
pub trait Program: Sync {
    /// A problem set up for a crew.
    type Problem;

    /// Parallel regions of a run.
    const REGIONS: u64;

    /// Barriers of a run beside the regions' own fork and join.
    const BARRIERS: u64;

    /// Whether its inner loops are compiled for the widest vectors of the CPU, or for those that all such CPUs have.
    const WIDE: bool;

    /// Whether a run may begin where the previous one ended; otherwise each is timed by itself.
    const REPEATABLE: bool;

    /// The sizes to run, smallest first.
    fn sizes(&self) -> &[Size];

    /// Sets up a problem of a size; each thread first touches the memory that it will use.
    fn set_up(&self, size: usize, crew: &mut impl Crew) -> Result<Self::Problem, Error>;

    /// Resets the problem to its initial state.
    fn reset(&self, problem: &mut Self::Problem);

    /// Solves the problem: what is timed.
    fn run(&self, problem: &mut Self::Problem, crew: &mut impl Crew);

    /// Relative deviation of the conserved or known quantity after a run.
    ///
    /// # Errors
    /// If the result is not the one that every crew must reach.
    fn check(&self, problem: &Self::Problem) -> Result<f64, Error>;
}
