//! Classes of CPU pairs and levels of groups, derived from the times alone.

mod cuts;
mod home;
mod linkage;
mod naming;
mod tick;
mod times;

use coho_profile::Estimate;
use coho_topology::CpuSet;
use serde::Serialize;

use crate::Matrix;
use crate::stats::estimate;
use cuts::Cut;
pub use cuts::LEAST_RATIO;
use home::Step;
use linkage::{Dendrogram, Partition};
use times::Times;

/// A group of pairs with like times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    /// `class 1`, …, nearest first, or the claimed level that it coincides with (`core`, `L3`, `package`, `1 hop`, …).
    pub name: String,
    /// Time of the class's pairs, in ns.
    pub ns: Estimate,
    /// The same in cycles of the CPU's clock, where that is known.
    pub cycles: Option<f64>,
    /// How many pairs belong to it.
    pub pairs: u64,
}

/// A partition of the CPUs into groups that are near within and far across.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// The groups, each a list of CPU numbers, ordered by first CPU.
    pub groups: Vec<Vec<u32>>,
    /// The largest time within a group, in ns, odd figures left out; always below [`Level::min_across_ns`].
    pub max_inside_ns: f64,
    /// The smallest time between groups, in ns, odd figures left out.
    pub min_across_ns: f64,
}

/// What a matrix of times shows as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Levels were found.
    Hops,
    /// No level was found.
    Flat,
    /// The times depend on where the line lives: levels beyond those listed cannot be told apart from it.
    HomeBiased,
    /// Some figures did not keep to one value during the run, so what they show may not last.
    Unstable,
}

/// What a matrix of times shows about the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// The CPUs of the matrix.
    pub cpus: Vec<u32>,
    /// The partitions of the CPUs into groups that are near within and far across, finest first.
    pub levels: Vec<Level>,
    /// Groups of pairs with like times, nearest first: `class 1`, `class 2`, …; without cycles, which are not
    /// known here.
    pub classes: Vec<Class>,
    /// [`Verdict::Hops`], [`Verdict::Flat`] or [`Verdict::HomeBiased`].
    pub verdict: Verdict,
    /// How many pairs have no time.
    pub missing: usize,
    /// What else the figures show, and what makes them doubtful.
    pub notes: Vec<String>,
}

/// Finds the levels of a matrix without knowing how many there are.
///
/// Average linkage of the logarithms of the times gathers the CPUs. A cut of the dendrogram is a level if its parts
/// do not overlap, except for a few odd figures, and its gap is wider than scatter or a coarse clock can make it.
/// Uncertain levels are not listed. Times that depend on where the line lives, as in most published matrices of
/// two-socket EPYC machines, are distinguished from hops: see [`Verdict::HomeBiased`].
///
/// ```
/// let matrix = coho_model::Matrix::parse("\n25\n90,92\n91,93,26\n")?;
/// let found = coho_model::classify(&matrix);
/// assert_eq!(found.levels[0].groups, [[0, 1], [2, 3]]);
/// assert_eq!(found.classes[1].ns.median, 91.5);
/// # Ok::<(), coho_model::Error>(())
/// ```
pub fn classify(matrix: &Matrix) -> Classification {
    let times = Times::new(matrix);
    let dendrogram = Dendrogram::new(&times);
    let cuts = cuts::supported(&times, &dendrogram);
    let mut levels: Vec<Cut> = Vec::new();
    let mut home: Option<Vec<usize>> = None;
    for cut in cuts::distinct(&times, &cuts.found) {
        match judge(&times, &levels, &cut.groups) {
            Step::Level => {
                levels.push(cut);
                // Where a coarser level is supported all the same, it is not caused by the home.
                home = None;
            }
            Step::Lopsided => {}
            Step::Home(group) => home = larger(home, group),
        }
    }
    // Variants of the coarsest level may show the home as well.
    let coarsest = levels.last().map_or(matrix.len(), |level| level.groups.len());
    for cut in cuts.found.iter().filter(|cut| cut.groups.len() < coarsest) {
        if let Step::Home(group) = judge(&times, &levels, &cut.groups) {
            home = larger(home, group);
        }
    }
    let notes = notes(matrix, &times, &levels, home.as_deref(), cuts.quantised);
    let verdict = match (&home, levels.is_empty()) {
        (Some(_), _) => Verdict::HomeBiased,
        (None, true) => Verdict::Flat,
        (None, false) => Verdict::Hops,
    };
    Classification {
        cpus: matrix.cpus().to_vec(),
        classes: classes(&times, &levels, home.as_deref()),
        levels: levels.iter().map(|cut| level(matrix, cut)).collect(),
        verdict,
        missing: times.missing,
        notes,
    }
}

/// Compares a partition with the coarsest of the given cuts that is finer.
fn judge(times: &Times, found: &[Cut], groups: &Partition) -> Step {
    let alone: Partition = (0..times.len()).map(|cpu| vec![cpu]).collect();
    let finer = found.iter().rev().map(|cut| &cut.groups).find(|finer| finer.len() > groups.len());
    home::judge(times, finer.unwrap_or(&alone), groups)
}

/// The CPUs at home of the larger partition: nearer ones stand out within it.
fn larger(known: Option<Vec<usize>>, home: Vec<usize>) -> Option<Vec<usize>> {
    known.filter(|known| known.len() >= home.len()).or(Some(home))
}

/// The group that each CPU is in.
fn group_of(n: usize, groups: &[Vec<usize>]) -> Vec<usize> {
    let mut group_index = vec![0; n];
    for (index, group) in groups.iter().enumerate() {
        group.iter().for_each(|&cpu| group_index[cpu] = index);
    }
    group_index
}

fn level(matrix: &Matrix, cut: &Cut) -> Level {
    let group_index = group_of(matrix.len(), &cut.groups);
    let (mut max_inside_ns, mut min_across_ns) = (0.0f64, f64::INFINITY);
    for (a, b, ns) in matrix.pairs() {
        if group_index[a] == group_index[b] && ns < cut.bound_ns {
            max_inside_ns = max_inside_ns.max(ns);
        } else if group_index[a] != group_index[b] && ns > cut.bound_ns {
            min_across_ns = min_across_ns.min(ns);
        }
    }
    let mut groups: Vec<Vec<u32>> = cut.groups.iter().map(|group| numbers(matrix, group)).collect();
    groups.sort();
    Level { groups, max_inside_ns, min_across_ns }
}

fn numbers(matrix: &Matrix, group: &[usize]) -> Vec<u32> {
    let mut cpus: Vec<u32> = group.iter().map(|&cpu| matrix.cpus()[cpu]).collect();
    cpus.sort_unstable();
    cpus
}

/// A class for the pairs within each level's groups that are not within a finer level's, and one for the rest. Where
/// the line's home shows, the rest splits into pairs with both CPUs at home, and the others.
fn classes(times: &Times, levels: &[Cut], home: Option<&[usize]>) -> Vec<Class> {
    let n = times.len();
    let group_index: Vec<Vec<usize>> = levels.iter().map(|cut| group_of(n, &cut.groups)).collect();
    let mut at_home = vec![false; n];
    home.into_iter().flatten().for_each(|&cpu| at_home[cpu] = true);
    let mut class_times: Vec<Vec<f64>> = vec![Vec::new(); levels.len() + 2];
    for (a, b, ns) in times.pairs().filter(|&(.., ns)| times.is_measured(ns)) {
        let rest = levels.len() + usize::from(home.is_some() && !(at_home[a] && at_home[b]));
        class_times
            [group_index.iter().position(|group_index| group_index[a] == group_index[b]).unwrap_or(rest)]
        .push(ns);
    }
    let estimates = class_times.into_iter().filter_map(estimate);
    let class = |(index, ns): (usize, Estimate)| {
        let pairs = ns.n;
        Class { name: format!("class {}", index + 1), ns, cycles: None, pairs }
    };
    estimates.enumerate().map(class).collect()
}

fn notes(
    matrix: &Matrix,
    times: &Times,
    levels: &[Cut],
    home: Option<&[usize]>,
    quantised: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(home) = home {
        let cpus: CpuSet = numbers(matrix, home).into_iter().collect();
        notes.push(format!(
            "CPUs {cpus} look near to each other and all others alone: the line of all pairs seems to live at these \
             CPUs' NUMA node, so times beyond the levels listed show the distance to it, not the hops between CPUs"
        ));
    }
    if quantised {
        notes.push(
            "times are multiples of a coarse clock's step, so differences of one step were ignored".into(),
        );
    }
    let pairs = matrix.len() * matrix.len().saturating_sub(1) / 2;
    if times.zeros > 0 && times.zeros + times.missing == pairs {
        notes.push("every time is 0, below the clock's step, so nothing can be told from them".into());
    } else if times.zeros > 0 {
        notes.push(format!(
            "the time of {} of {pairs} pairs is 0, below the clock's step: they are nearer than any other, but not \
             known how near",
            times.zeros
        ));
    }
    for (index, cut) in levels.iter().enumerate() {
        let numbered = |cpus: &[usize]| cpus.iter().map(|&cpu| matrix.cpus()[cpu]).collect::<CpuSet>();
        let lone = numbered(&cut.groups.iter().filter(|g| g.len() == 1).map(|g| g[0]).collect::<Vec<_>>());
        let untold = numbered(&cuts::untold(times, &cut.groups));
        let lone = lone.difference(&untold);
        if !lone.is_empty() {
            let have = if lone.len() == 1 { format!("CPU {lone} has") } else { format!("CPUs {lone} have") };
            notes.push(format!("level {}: {have} no near partner", index + 1));
        }
        if !untold.is_empty() {
            notes.push(format!(
                "level {}: whether CPUs {untold} have a near partner is not known: some of their pairs have \
                 no time",
                index + 1
            ));
        }
        let odd = odd_pairs(times, cut);
        if let Some(&(a, b, ns)) = odd.first() {
            let (a, b) = (matrix.cpus()[a], matrix.cpus()[b]);
            let others = if odd.len() > 1 { format!(" and {} others", odd.len() - 1) } else { String::new() };
            notes.push(format!(
                "level {}: {a} and {b} ({ns:.1} ns){others} lie on the other side of the gap and were left out as odd",
                index + 1
            ));
        }
    }
    notes
}

/// The pairs whose times lie on the wrong side of a level's gap.
fn odd_pairs(times: &Times, cut: &Cut) -> Vec<(usize, usize, f64)> {
    let group_index = group_of(times.len(), &cut.groups);
    times.pairs().filter(|&(a, b, ns)| (group_index[a] == group_index[b]) != (ns < cut.bound_ns)).collect()
}
