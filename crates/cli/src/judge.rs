//! What the model finds in measured coherence, put beside the figures: classes, levels, verdict, contradictions.

use coho_model::{Matrix, audit, classify};
use coho_profile::{Coherence, Home, PairMethod, Verdict};
use coho_topology::Topology;

/// The figures that classes are found in, best first: strict alternation tells the distance alone.
const METHODS: [PairMethod; 4] =
    [PairMethod::Turn, PairMethod::Flags, PairMethod::FreeRunning, PairMethod::Unknown];
const HOMES: [Home; 4] = [Home::A, Home::B, Home::Third, Home::Unknown];

/// Fills `classes`, `levels`, `verdict` and `contradictions` from the pairs. `clock_ghz` turns ns into cycles.
pub fn judge(coherence: &mut Coherence, topology: &Topology, clock_ghz: Option<f64>) {
    coherence.contradictions = audit(topology, coherence);
    let choices = METHODS.iter().flat_map(|&method| HOMES.iter().map(move |&home| (method, home)));
    let Some(matrix) =
        choices.into_iter().find_map(|(m, home)| Matrix::from_pairs(&coherence.pairs, m, home))
    else {
        return;
    };
    let mut found = classify(&matrix);
    found.name_by(topology);
    coherence.classes = found.classes;
    for class in &mut coherence.classes {
        class.cycles = clock_ghz.map(|ghz| class.ns.median * ghz);
    }
    coherence.levels = found.levels;
    coherence.verdict = Some(if coherence.stable { found.verdict } else { Verdict::Unstable });
    coherence.notes.extend(found.notes);
}
