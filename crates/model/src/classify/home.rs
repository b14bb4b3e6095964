//! Times that depend on where the line lives.
//!
//! If one NUMA node is home to the line of all pairs, a pair's transfer goes from one CPU to the home, to the other
//! CPU and back: its time grows with the length of that triangle. The CPUs at home then look like one near group, and
//! all others look alone, each as far from its neighbours as from the rest. No machine is built that way. So where
//! the figures gather some groups but leave others of their kind as far from each other as from those, they show the
//! line's home.

use super::linkage::Partition;
use super::times::Times;
use crate::stats::middle;

/// How many times as far the CPUs that are not at a small home are from each other, at least.
const FARTHER: f64 = 1.2;

/// What a coarser partition does to a finer one.
pub(super) enum Step {
    /// All groups of a kind gather.
    Level,
    /// Some groups gather while others of the same kind stay alone, but not as a home would cause.
    Lopsided,
    /// The others are as far from each other as from the CPUs that gather: those at the line's home.
    Home(Vec<usize>),
}

/// Judges the step from a finer partition to a coarser one.
pub(super) fn judge(times: &Times, finer: &Partition, coarser: &Partition) -> Step {
    let n = times.len();
    let known: std::collections::HashSet<&Vec<usize>> = finer.iter().collect();
    let gathered: Vec<&Vec<usize>> = coarser.iter().filter(|group| !known.contains(group)).collect();
    let alone: Vec<&Vec<usize>> = coarser.iter().filter(|group| known.contains(group)).collect();
    let mut home: Vec<usize> = gathered.iter().flat_map(|group| group.iter().copied()).collect();
    home.sort_unstable();
    let pieces = finer.iter().filter(|group| home.binary_search(&group[0]).is_ok()).map(Vec::len);
    if alone.len() < 2 || home.is_empty() {
        return Step::Level;
    }
    // Two threads of one core beside single CPUs, clusters of another kind of core, or a few stragglers are not a
    // home.
    let alike = typical(pieces) == typical(alone.iter().map(|group| group.len()));
    if !alike {
        return Step::Level;
    }
    let single = typical(finer.iter().map(Vec::len)) == 1;
    let pairs = alone.iter().enumerate().flat_map(|(at, g)| alone[at + 1..].iter().map(move |h| (g, h)));
    let mut among: Vec<f64> = pairs.flat_map(|(g, h)| times.across(g, h)).collect();
    let mut to_home: Vec<f64> = alone.iter().flat_map(|g| times.across(g, &home)).collect();
    let mut at_home: Vec<f64> = times.inside(&home).collect();
    let least_among = among.iter().copied().fold(f64::INFINITY, f64::min);
    let most_to_home = to_home.iter().copied().fold(0.0, f64::max);
    // Few CPUs are a home only if all others are farther from each other than from it.
    let is_small = home.len() < 8 && !(alone.len() > 2 && least_among >= FARTHER * most_to_home);
    // Single CPUs may well gather in one place and not in another: the pairs of threads of one kind of core.
    if single && (gathered.len() > 1 || is_small || 5 * home.len() > 3 * n) {
        return Step::Level;
    }
    if home.len() < 4 || 5 * home.len() > 3 * n {
        return Step::Lopsided;
    }
    if among.is_empty() || to_home.is_empty() || at_home.is_empty() {
        return Step::Lopsided;
    }
    let way = middle(&mut to_home);
    if middle(&mut among) < 0.95 * way || way < 1.2 * middle(&mut at_home) {
        Step::Lopsided
    } else {
        Step::Home(home)
    }
}

fn typical(sizes: impl Iterator<Item = usize>) -> usize {
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.sort_unstable();
    sizes[sizes.len() / 2]
}
