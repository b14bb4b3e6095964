//! Times that depend on where the line lives.
//!
//! If one memory node is home to the line of all pairs, a pair's transfer goes from one CPU to the home, to the
//! other CPU and back: its time grows with the way around that triangle. CPUs at home then look like one near group,
//! all others look alone, each as far from its neighbours as from the rest. No machine is built so: where the figures
//! gather one group and leave the others of its kind as they were, it is the line's home that shows.

use super::linkage::Partition;
use super::times::Times;
use crate::stats::median;

/// What a coarser partition does with a finer one.
pub(super) enum Step<'a> {
    /// Several groups gather, or all do.
    Level,
    /// One group gathers and leaves others of the same kind alone, but not as a home would.
    Lopsided,
    /// One group gathers, and the others are as far from each other as from it: the group at the line's home.
    Home(&'a [usize]),
}

/// Judges the step from a finer partition to a coarser one.
pub(super) fn judge<'a>(times: &Times, finer: &Partition, coarser: &'a Partition) -> Step<'a> {
    let n = times.len();
    let known: std::collections::HashSet<&Vec<usize>> = finer.iter().collect();
    let mut gathered = coarser.iter().filter(|group| !known.contains(group));
    let (Some(home), None) = (gathered.next(), gathered.next()) else { return Step::Level };
    let alone: Partition = coarser.iter().filter(|group| *group != home).cloned().collect();
    let mut members: Vec<usize> = alone.iter().map(Vec::len).collect();
    let kind = if members.is_empty() { return Step::Level } else { typical(&mut members) };
    let mut pieces: Vec<usize> =
        finer.iter().filter(|group| home.contains(&group[0])).map(Vec::len).collect();
    // Two threads of one core beside single CPUs, clusters of another kind of core, or a few stragglers are no home.
    let alike = typical(&mut pieces) == kind;
    if alone.len() < 2 || !alike || home.len() < 4 || 5 * home.len() > 3 * n {
        return Step::Level;
    }
    let mut among: Vec<f64> = alone
        .iter()
        .enumerate()
        .flat_map(|(at, g)| alone[at + 1..].iter().flat_map(|h| times.across(g, h)))
        .collect();
    let mut to_home: Vec<f64> = alone.iter().flat_map(|g| times.across(g, home)).collect();
    let mut at_home: Vec<f64> = times.inside(home).collect();
    if among.is_empty() || to_home.is_empty() || at_home.is_empty() {
        return Step::Lopsided;
    }
    let way = median(&mut to_home);
    if median(&mut among) < 0.95 * way || way < 1.2 * median(&mut at_home) {
        Step::Lopsided
    } else {
        Step::Home(home)
    }
}

fn typical(sizes: &mut [usize]) -> usize {
    sizes.sort_unstable();
    sizes[sizes.len() / 2]
}
