//! What the model finds in measured figures, put beside them: classes, levels, verdict and contradictions of
//! coherence; what calls and messages cost.

use coho_model::{Matrix, audit, classify, delegation, unixbench};
use coho_profile::{Coherence, Profile, Score, Verdict, Workloads};
use coho_topology::Topology;
use serde_json::Value;

/// Fills `classes`, `levels`, `verdict` and `contradictions` from the pairs. `clock_ghz` turns ns into cycles.
pub fn judge(coherence: &mut Coherence, topology: &Topology, clock_ghz: Option<f64>) {
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
    coherence.verdict = Some(if coherence.stable == Some(false) { Verdict::Unstable } else { found.verdict });
    found.notes.retain(|note| !coherence.notes.contains(note));
    coherence.notes.extend(found.notes);
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
