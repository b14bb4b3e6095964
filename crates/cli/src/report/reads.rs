//! Latency of reads by buffer size: a line for each state and owner (Molka et al., PACT 2009).

use std::collections::BTreeMap;

use super::figures;
use super::scale;
use super::subject::Subject;

/// One line of the chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The lines' state before the read.
    pub state: String,
    /// Who prepared them, relative to the reader: `own`, `on-die`, `1-hop`, ….
    pub relation: String,
    /// Size in bytes, time in ns (median over readers and owners), number of readers and owners.
    pub points: Vec<(u64, f64, usize)>,
}

impl Line {
    /// `modified, on-die`.
    pub fn name(&self) -> String {
        format!("{}, {}", self.state, self.relation)
    }
}

/// The lines of a profile, nearest owners first; empty if no reads were measured.
pub fn of(subject: &Subject) -> Vec<Line> {
    let Some(coherence) = subject.coherence() else { return Vec::new() };
    let mut grouped: BTreeMap<(String, String), BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for read in coherence.reads.iter().filter(|read| read.bytes > 0 && scale::is_time(read.ns.median)) {
        let key = (figures::relation(subject, read), figures::state_name(read));
        grouped.entry(key).or_default().entry(read.bytes).or_default().push(read.ns.median);
    }
    let line = |((relation, state), sizes): ((String, String), BTreeMap<u64, Vec<f64>>)| {
        let point = |(bytes, times): (u64, Vec<f64>)| {
            let n = times.len();
            Some((bytes, figures::median(times.into_iter())?, n))
        };
        Line { state, relation, points: sizes.into_iter().filter_map(point).collect() }
    };
    let mut lines: Vec<_> = grouped.into_iter().map(line).collect();
    lines.sort_by_key(|line| (line.relation != figures::OWN, super::classes::rank(&line.relation).0));
    lines
}
