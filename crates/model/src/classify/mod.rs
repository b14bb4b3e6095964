//! Classes of CPU pairs and levels of groups, found in the times alone.

mod cuts;
mod home;
mod linkage;
mod naming;
mod tick;
mod times;

use coho_profile::{Class, Coherence, Estimate, Home, Level, Method, Pair, PairMethod, Verdict};
use coho_topology::CpuSet;

use crate::Matrix;
use crate::stats::estimate;
use home::Step;
use linkage::{Dendrogram, Partition};
use times::Times;

/// What a matrix of times says of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// The CPUs of the matrix.
    pub cpus: Vec<u32>,
    /// The partitions of the CPUs into groups that are near within and far across, finest first.
    pub levels: Vec<Level>,
    /// Groups of pairs with like times, nearest first: `class 1`, `class 2`, …; cycles are not known here.
    pub classes: Vec<Class>,
    /// [`Verdict::Hops`], [`Verdict::Flat`] or [`Verdict::HomeBiased`].
    pub verdict: Verdict,
    /// What else the figures show, and what makes them doubtful.
    pub notes: Vec<String>,
}

/// Finds the levels of a matrix without being told how many there are.
///
/// CPUs are gathered by average linkage of the logarithms of their times; a cut of the dendrogram is a level if the
/// times across it exceed those within it by more than noise, odd figures and a coarse clock can make. Times that
/// depend on where the line lives, as in most published matrices of two-socket EPYC machines, are told from hops: see
/// [`Verdict::HomeBiased`].
///
/// ```
/// let matrix = coho_model::Matrix::parse_csv("\n25\n90,92\n91,93,26\n")?;
/// let found = coho_model::classify(&matrix);
/// assert_eq!(found.levels[0].groups, [[0, 1], [2, 3]]);
/// assert_eq!(found.classes[1].ns.median, 91.0);
/// # Ok::<(), coho_model::Error>(())
/// ```
pub fn classify(matrix: &Matrix) -> Classification {
    let times = Times::new(matrix);
    let dendrogram = Dendrogram::new(&times);
    let cuts = cuts::supported(&times, &dendrogram);
    let mut partitions: Vec<Partition> = Vec::new();
    let mut home: Option<Vec<usize>> = None;
    for cut in cuts::distinct(&cuts.found) {
        match judge(&times, &partitions, &cut.groups) {
            Step::Level => {
                partitions.push(cut.groups);
                // Where a coarser level stands all the same, the home is not what makes it.
                home = None;
            }
            Step::Lopsided => {}
            Step::Home(group) => {
                home.get_or_insert_with(|| group.to_vec());
            }
        }
    }
    // Variants of the coarsest level may show the home as well.
    let coarsest = partitions.last().map_or(matrix.len(), Vec::len);
    for cut in cuts.found.iter().filter(|cut| cut.groups.len() < coarsest) {
        if home.is_none()
            && let Step::Home(group) = judge(&times, &partitions, &cut.groups)
        {
            home = Some(group.to_vec());
        }
    }
    let notes = notes(matrix, &times, &partitions, home.as_deref(), cuts.quantised);
    let verdict = match (&home, partitions.is_empty()) {
        (Some(_), _) => Verdict::HomeBiased,
        (None, true) => Verdict::Flat,
        (None, false) => Verdict::Hops,
    };
    Classification {
        cpus: matrix.cpus().to_vec(),
        classes: classes(&times, &partitions, home.as_deref()),
        levels: partitions.iter().map(|groups| level(matrix, groups)).collect(),
        verdict,
        notes,
    }
}

/// Judges a partition against the coarsest of those found that is finer.
fn judge<'a>(times: &Times, found: &[Partition], groups: &'a Partition) -> Step<'a> {
    let alone: Partition = (0..times.len()).map(|cpu| vec![cpu]).collect();
    let finer = found.iter().rev().find(|finer| finer.len() > groups.len()).unwrap_or(&alone);
    home::judge(times, finer, groups)
}

/// The group that each CPU is in.
fn group_of(n: usize, groups: &Partition) -> Vec<usize> {
    let mut of = vec![0; n];
    for (index, group) in groups.iter().enumerate() {
        group.iter().for_each(|&cpu| of[cpu] = index);
    }
    of
}

fn level(matrix: &Matrix, groups: &Partition) -> Level {
    let of = group_of(matrix.len(), groups);
    let (mut max_inside_ns, mut min_across_ns) = (0.0f64, f64::INFINITY);
    for (a, b, ns) in matrix.pairs() {
        if of[a] == of[b] {
            max_inside_ns = max_inside_ns.max(ns);
        } else {
            min_across_ns = min_across_ns.min(ns);
        }
    }
    let mut groups: Vec<Vec<u32>> = groups.iter().map(|group| numbers(matrix, group)).collect();
    groups.sort();
    Level { groups, max_inside_ns, min_across_ns }
}

fn numbers(matrix: &Matrix, group: &[usize]) -> Vec<u32> {
    let mut cpus: Vec<u32> = group.iter().map(|&cpu| matrix.cpus()[cpu]).collect();
    cpus.sort_unstable();
    cpus
}

/// A class for the pairs within each level's groups that are not within a finer one's, one for the rest. Where the
/// line's home shows, the rest are those with both CPUs at home, and the others.
fn classes(times: &Times, partitions: &[Partition], home: Option<&[usize]>) -> Vec<Class> {
    let n = times.len();
    let of: Vec<Vec<usize>> = partitions.iter().map(|groups| group_of(n, groups)).collect();
    let mut at_home = vec![false; n];
    home.into_iter().flatten().for_each(|&cpu| at_home[cpu] = true);
    let mut class_times: Vec<Vec<f64>> = vec![Vec::new(); partitions.len() + 2];
    for (a, b, ns) in times.pairs() {
        let rest = partitions.len() + usize::from(home.is_some() && !(at_home[a] && at_home[b]));
        class_times[of.iter().position(|of| of[a] == of[b]).unwrap_or(rest)].push(ns);
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
    partitions: &[Partition],
    home: Option<&[usize]>,
    quantised: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(home) = home {
        let cpus: CpuSet = numbers(matrix, home).into_iter().collect();
        notes.push(format!(
            "CPUs {cpus} look near to each other and all others alone: the line of all pairs seems to live at these \
             CPUs' memory node, so that times beyond the levels listed tell the way to it, not the hops between CPUs"
        ));
    }
    if quantised {
        notes.push(
            "times stand at multiples of a coarse clock's step: differences of one step were not believed"
                .into(),
        );
    }
    let pairs = matrix.len() * matrix.len().saturating_sub(1) / 2;
    if times.zeros > 0 && times.zeros + times.missing == pairs {
        notes.push("every time is 0: below the clock's step, nothing can be told from them".into());
    } else if times.zeros > 0 {
        notes.push(format!(
            "{} times are 0: below the clock's step, taken as the smallest other time",
            times.zeros
        ));
    }
    if times.missing > 0 {
        notes.push(format!("{} of {pairs} pairs have no time", times.missing));
    }
    for (index, groups) in partitions.iter().enumerate() {
        let lone: CpuSet = groups.iter().filter(|g| g.len() == 1).map(|g| matrix.cpus()[g[0]]).collect();
        if !lone.is_empty() {
            notes.push(format!("level {}: CPUs {lone} have no near partner", index + 1));
        }
        let level = level(matrix, groups);
        if level.max_inside_ns >= level.min_across_ns {
            notes.push(format!("level {}: a few odd times lie on the wrong side of the gap", index + 1));
        }
    }
    notes
}

/// A matrix of unknown origin as a profile's section: its pairs, and what [`classify`] finds in them.
pub fn coherence_from_matrix(matrix: &Matrix) -> Coherence {
    let found = classify(matrix);
    let cpu = |index: usize| matrix.cpus()[index];
    let pair = |(a, b, ns): (usize, usize, f64)| Pair {
        a: cpu(a).min(cpu(b)),
        b: cpu(a).max(cpu(b)),
        method: PairMethod::Unknown,
        home: Home::Unknown,
        ns: Estimate::exact(ns),
        ownership_changes_per_op: None,
        preempted_batches: 0,
        claimed: None,
    };
    Coherence {
        method: Method {
            description: "read from a matrix of times between CPUs".into(),
            ..Method::default()
        },
        cpus: matrix.cpus().to_vec(),
        pairs: matrix.pairs().map(pair).collect(),
        classes: found.classes,
        levels: found.levels,
        verdict: Some(found.verdict),
        stable: true,
        notes: found.notes,
        ..Coherence::default()
    }
}
