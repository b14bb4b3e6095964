//! Merges what several runs saw of the lines of one object.

use std::collections::{BTreeMap, BTreeSet};

use super::{Evidence, InFile, Line, Object, Touched};

/// A line, or several alike of one object, as all runs saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged<L> {
    /// What its objects are called.
    pub label: L,
    /// All objects that lie in such lines.
    pub objects: BTreeSet<Object>,
    /// Those of the line whose parts are told.
    pub shown: Vec<Object>,
    /// How many allocations a line holds parts of at most; more than one can be separated.
    pub allocations: usize,
    /// How many lines of the object a run has at most.
    pub lines: u64,
    /// How many threads touch one at most.
    pub threads: u64,
    /// What they do to it: counts of all lines and runs, parts of the line that was touched most often.
    pub evidence: Evidence,
    /// The instructions that touch it.
    pub code: BTreeMap<InFile, Touched>,
    /// CPU time in seconds at places near, as in [`Line::near`].
    pub near: BTreeMap<InFile, f64>,
}

/// One that is growing.
struct Group<L> {
    merged: Merged<L>,
    /// How many lines each run had.
    of_runs: BTreeMap<usize, u64>,
    /// The touches of the line whose parts are told.
    most: u64,
}

/// Brings together the lines of one name that instructions have in common. Those that fewer than half of the runs saw are
/// left out: what costs a program time is there in every run.
pub fn merged<L: Ord + Clone>(runs: &[Vec<(L, Line)>]) -> Vec<Merged<L>> {
    let mut groups: Vec<Group<L>> = Vec::new();
    for (run, lines) in runs.iter().enumerate() {
        for (label, line) in lines {
            let is_alike = |group: &Group<L>| {
                group.merged.label == *label
                    && line.code.keys().any(|code| group.merged.code.contains_key(code))
            };
            let mut mine = Group::new(label.clone(), line, run);
            while let Some(at) = groups.iter().position(is_alike) {
                let mut other = groups.swap_remove(at);
                // The one with few objects is added to the other: an array may have a line for each of thousands.
                if mine.merged.objects.len() < other.merged.objects.len() {
                    std::mem::swap(&mut mine, &mut other);
                }
                mine.join(other);
            }
            groups.push(mine);
        }
    }
    groups.retain(|group| 2 * group.of_runs.len() >= runs.len());
    let mut lines: Vec<Merged<L>> = groups.into_iter().map(Group::done).collect();
    lines.sort_by(|a, b| b.evidence.changes.cmp(&a.evidence.changes).then_with(|| a.label.cmp(&b.label)));
    lines
}

impl<L> Group<L> {
    fn new(label: L, line: &Line, run: usize) -> Self {
        let most = line.code.values().map(|touched| touched.times).sum();
        let merged = Merged {
            label,
            objects: line.objects.iter().cloned().collect(),
            shown: line.objects.clone(),
            allocations: line.allocations,
            lines: 1,
            threads: line.evidence.threads.len() as u64,
            evidence: line.evidence.clone(),
            code: line.code.clone(),
            near: line.near.clone(),
        };
        Self { merged, of_runs: [(run, 1)].into(), most }
    }

    fn join(&mut self, other: Self) {
        let (mine, theirs) = (&mut self.merged, other.merged);
        mine.objects.extend(theirs.objects);
        mine.allocations = mine.allocations.max(theirs.allocations);
        mine.threads = mine.threads.max(theirs.threads);
        mine.evidence.changes += theirs.evidence.changes;
        mine.evidence.shared += theirs.evidence.shared;
        mine.evidence.apart += theirs.evidence.apart;
        if other.most > self.most {
            self.most = other.most;
            mine.shown = theirs.shown;
            mine.evidence.parts = theirs.evidence.parts;
            mine.evidence.threads = theirs.evidence.threads;
        }
        for (code, touched) in theirs.code {
            let entry = mine.code.entry(code).or_default();
            *entry = Touched { times: entry.times + touched.times, length: touched.length };
        }
        for (place, seconds) in theirs.near {
            *mine.near.entry(place).or_default() += seconds;
        }
        for (run, lines) in other.of_runs {
            *self.of_runs.entry(run).or_default() += lines;
        }
    }

    fn done(mut self) -> Merged<L> {
        self.merged.lines = self.of_runs.values().copied().max().unwrap_or(1);
        self.merged
    }
}
