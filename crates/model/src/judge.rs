//! What the model finds in measured figures, put beside them: classes, levels, verdict and contradictions of
//! coherence; what calls and messages cost.

use coho_profile::{Coherence, Profile, Score, Timeline, Verdict, Workloads};
use coho_topology::Topology;
use serde_json::Value;

use crate::{Matrix, audit, classify, delegation, unixbench};

/// Fills `classes`, `levels`, `verdict` and `contradictions` from the pairs. `clock_ghz` turns ns into cycles.
pub fn coherence(coherence: &mut Coherence, topology: &Topology, clock_ghz: Option<f64>) {
    let clock_ghz = self::clock_ghz(coherence, clock_ghz);
    let measured = coherence.times().next().is_some();
    coherence.contradictions = measured.then(|| audit(topology, coherence));
    let Some(matrix) = Matrix::of(coherence) else { return };
    let how = Matrix::best_method(&coherence.pairs);
    let mut found = classify(&matrix);
    found.name_by(topology);
    coherence.classes = found.classes;
    if let [class] = &mut coherence.classes[..]
        && class.pairs == 1
        && let Some(only) = coherence.pairs.iter().find(|pair| Some((pair.method, pair.home)) == how)
    {
        // A class of one pair is known as well as the pair is.
        class.ns = only.ns.clone();
    }
    for class in &mut coherence.classes {
        class.cycles = clock_ghz.map(|ghz| class.ns.median * ghz);
    }
    coherence.levels = found.levels;
    coherence.verdict = Some(verdict(coherence, found.verdict));
    found.notes.retain(|note| !coherence.notes.contains(note));
    coherence.notes.extend(found.notes);
}

/// The verdict on figures in which this was found.
fn verdict(coherence: &Coherence, found: Verdict) -> Verdict {
    if coherence.stable == Some(false) { Verdict::Unstable } else { found }
}

/// What a note says of a pair that jumped while it was watched.
const CHANGED: &str = "changed while they were watched";

/// Puts a timeline beside the pairs, in place of an earlier one, and judges anew whether the figures keep to their values.
pub fn watched(coherence: &mut Coherence, timeline: Timeline) {
    coherence.notes.retain(|note| !note.ends_with(CHANGED));
    if timeline.kept_to_one_value() == Some(false) {
        let (a, b) = (timeline.a, timeline.b);
        coherence.notes.push(format!("the time between CPUs {a} and {b} {CHANGED}"));
    }
    coherence.timeline = Some(timeline);
    coherence.stable = coherence.keeps_to_its_values();
    if let Some(matrix) = Matrix::of(coherence) {
        coherence.verdict = Some(verdict(coherence, classify(&matrix).verdict));
    }
}

/// What cycles are counted by: the clock while the section was measured, if that is known, else the host's.
pub fn clock_ghz(coherence: &Coherence, host: Option<f64>) -> Option<f64> {
    coherence.method.parameters.get("clock_ghz").and_then(Value::as_f64).or(host)
}

/// Fills the judgements of a profile's calls, by its own coherence.
pub fn calls(profile: &mut Profile) {
    if let Some(calls) = &mut profile.calls {
        delegation::judge(calls, profile.coherence.as_ref());
    }
}

/// Fills the tests' indices, and the score of each placement and number of copies.
pub fn workloads(workloads: &mut Workloads) {
    let mut indices: Vec<(String, u32, Vec<f64>)> = Vec::new();
    for row in &mut workloads.results {
        let Some(test) = unixbench::by_name(&row.test) else { continue };
        row.index = row.value.as_ref().map(|value| test.index(value.median));
        let Some(index) = row.index else { continue };
        match indices.iter_mut().find(|(of, copies, _)| (of, *copies) == (&row.placement, row.copies)) {
            Some((.., indices)) => indices.push(index),
            None => indices.push((row.placement.clone(), row.copies, vec![index])),
        }
    }
    workloads.scores = indices
        .into_iter()
        // The index of one test stands in its row.
        .filter(|(.., indices)| indices.len() > 1)
        .filter_map(|(placement, copies, indices)| {
            let tests = indices.len() as u32;
            Some(Score { placement, copies, index: unixbench::score(indices)?, tests })
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use coho_profile::{PairMethod, TimelineSample};

    use super::*;

    fn timeline(jumped: bool) -> Timeline {
        let sample = |i: u32| TimelineSample { at_s: f64::from(i) * 0.05, ns: 26.0 };
        Timeline {
            a: 0,
            b: 1,
            method: PairMethod::Turn,
            samples: (0..100).map(sample).collect(),
            change_points_s: if jumped { vec![2.0] } else { Vec::new() },
            modes: Vec::new(),
        }
    }

    #[test]
    fn a_pair_that_jumps_while_it_is_watched_changes_the_verdict() {
        let matrix = Matrix::parse_csv("\n25\n90,92\n91,93,26\n").unwrap();
        let mut coherence = crate::coherence_from_matrix(&matrix);
        coherence.pairs.iter_mut().for_each(|pair| {
            (pair.method, pair.ns.stable, pair.ns.n) = (PairMethod::Turn, Some(true), 40);
        });
        let mut watch = |jumped| {
            watched(&mut coherence, timeline(jumped));
            let notes = coherence.notes.iter().filter(|note| note.contains("CPUs 0 and 1 changed")).count();
            (coherence.stable, coherence.verdict, notes)
        };
        for _ in 0..2 {
            assert_eq!(watch(true), (Some(false), Some(Verdict::Unstable), 1));
        }
        assert_eq!(watch(false), (Some(true), Some(Verdict::Hops), 0), "by this timeline alone");
    }

    #[test]
    fn one_pair_that_was_watched_says_nothing_of_pairs_that_were_not_repeated() {
        let matrix = Matrix::parse_csv("\n25\n90,92\n91,93,26\n").unwrap();
        let mut coherence = crate::coherence_from_matrix(&matrix);
        watched(&mut coherence, timeline(false));
        assert_eq!((coherence.stable, coherence.verdict), (None, Some(Verdict::Hops)));
    }
}
