//! The figures of a pair while they are being gathered.

use std::time::{Duration, Instant};

use coho_profile::{Coherence, Estimate, Home, Pair, PairMethod};

use super::line_spread;
use super::run::{Sample, level};
use super::visit::{Kind, Outcome};
use crate::statistics;

/// One method and home of one pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) method: PairMethod,
    pub(crate) home: Home,
    time: Figure,
    changes: Option<Figure>,
    /// Rounds over all lines.
    lines: Vec<Vec<Sample>>,
    preempted: u64,
    /// When its first visit began, and its last one ended.
    visited: Option<(Instant, Instant)>,
    /// A stable figure of an earlier run, which is then not measured.
    kept: Option<Box<Pair>>,
}

/// Samples by pass.
#[derive(Debug, Clone, Default, PartialEq)]
struct Figure {
    passes: Vec<Vec<Sample>>,
    rounds: u64,
}

impl Figure {
    fn add(&mut self, outcome: &Outcome) {
        if !outcome.samples.is_empty() {
            self.passes.push(outcome.samples.clone());
        }
        self.rounds = outcome.rounds;
    }

    fn estimate(&self) -> Option<Estimate> {
        statistics::estimate(&self.leveled())
    }

    /// Its samples, by pass: each has lines of its own.
    fn leveled(&self) -> Vec<Vec<f64>> {
        self.passes.iter().map(|pass| level(pass)).collect()
    }
}

impl Cell {
    pub(crate) fn new(method: PairMethod, home: Home, kept: Option<Pair>) -> Self {
        let changes = (method == PairMethod::FreeRunning).then(Figure::default);
        let (time, lines, kept) = (Figure::default(), Vec::new(), kept.map(Box::new));
        Self { method, home, time, changes, lines, preempted: 0, visited: None, kept }
    }

    /// The measurements that a visit makes for it, each with its guess of a batch's round trips.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        let time = (Kind::Time(self.method), self.time.rounds);
        let changes = self.changes.as_ref().map(|changes| (Kind::OwnershipChanges, changes.rounds));
        std::iter::once(time).chain(changes)
    }

    /// Adds the outcome of a visit that began at `begun`.
    pub(crate) fn add(&mut self, kind: Kind, outcome: &Outcome, begun: Instant) {
        match (kind, &mut self.changes) {
            (Kind::OwnershipChanges, Some(changes)) => changes.add(outcome),
            (Kind::EachLine(_), _) => self.lines.push(outcome.samples.clone()),
            _ => {
                self.time.add(outcome);
                self.preempted += outcome.preempted;
                if !outcome.samples.is_empty() {
                    let first = self.visited.map_or(begun, |(first, _)| first);
                    self.visited = Some((first, Instant::now()));
                }
            }
        }
    }

    /// Whether its lines may be compared one by one: only `turn` needs a single one.
    pub(crate) fn has_lines(&self) -> bool {
        self.method == PairMethod::Turn && !self.is_kept()
    }

    /// Rounds over all lines so far.
    pub(crate) fn line_rounds(&self) -> usize {
        self.lines.len()
    }

    /// In how many passes it was measured, and the time from the first to the last; `None` for figures from another
    /// run.
    pub(crate) fn window(&self) -> Option<(u64, Duration)> {
        let (first, last) = self.visited?;
        Some((self.time.passes.len() as u64, last - first))
    }

    /// Whether it was taken over from an earlier run.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    pub(crate) fn estimate(&self) -> Option<Estimate> {
        match &self.kept {
            Some(pair) => Some(pair.ns.clone()),
            None => self.time.estimate(),
        }
    }

    /// All its samples of time.
    pub(crate) fn into_samples(self) -> Vec<f64> {
        self.time.leveled().concat()
    }

    /// Whether its figure is stable and as tight as asked for.
    pub(crate) fn is_good(&self, half_width: f64) -> bool {
        self.is_kept()
            || self
                .estimate()
                .is_some_and(|ns| ns.stable == Some(true) && ns.relative_half_width() <= half_width)
    }

    /// The pair as it stands in the profile; `None` if nothing was measured.
    pub(crate) fn pair(&self, a: u32, b: u32, claimed: &str) -> Option<Pair> {
        if let Some(pair) = &self.kept {
            return Some(Pair::clone(pair));
        }
        Some(Pair {
            a,
            b,
            method: self.method,
            home: self.home,
            ns: self.estimate()?,
            ownership_changes_per_op: self.changes.as_ref().and_then(Figure::estimate),
            preempted_batches: self.preempted,
            claimed: Some(claimed.to_owned()),
            lines: line_spread::spread(&self.lines),
        })
    }
}

/// A stable figure of an earlier run for this cell.
pub(crate) fn kept(
    earlier: Option<&Coherence>,
    a: u32,
    b: u32,
    method: PairMethod,
    home: Home,
) -> Option<Pair> {
    let same = |pair: &&Pair| {
        (pair.a, pair.b, pair.method, pair.home) == (a, b, method, home) && pair.ns.stable == Some(true)
    };
    earlier?.pairs.iter().find(same).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_what_is_stable() {
        let mut ns = Estimate::exact(40.0);
        let mut pair = Cell::new(PairMethod::Turn, Home::A, None);
        pair.add(
            Kind::Time(PairMethod::Turn),
            &Outcome { samples: vec![Sample { line: 0, value: 40.0 }; 9], preempted: 2, rounds: 5 },
            Instant::now(),
        );
        let measured = pair.pair(0, 1, "L3").unwrap();
        assert_eq!((measured.ns.median, measured.preempted_batches), (40.0, 2));
        let mut earlier = Coherence { pairs: vec![measured.clone()], ..Coherence::default() };
        assert_eq!(kept(Some(&earlier), 0, 1, PairMethod::Turn, Home::A), Some(measured));
        assert_eq!(kept(Some(&earlier), 0, 1, PairMethod::Turn, Home::B), None);
        ns.stable = Some(false);
        earlier.pairs[0].ns = ns;
        assert_eq!(kept(Some(&earlier), 0, 1, PairMethod::Turn, Home::A), None);
    }
}
