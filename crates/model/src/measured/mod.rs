//! The topology as measured: a machine's claims, corrected where classes of times contradict them.
//!
//! Times between CPUs tell which CPUs are near to each other, and nothing of what they share. A level that coincides
//! with a claim confirms it. One that no claim has takes the place of the claim that it contradicts, or stands as what
//! CPUs of that nearness usually share; the reason says which. Where the figures are flat, unstable or incomplete nothing
//! is corrected.

mod place;
mod suggest;

use coho_profile::{Coherence, Level as Found, Verdict};
use coho_topology::{CpuSet, Fact, Level, Source, Topology};

pub use suggest::{Suggestion, Tool, suggest};

use crate::{Matrix, check_known, classify};

/// The fewest CPUs among which a group can stand out.
const LEAST_CPUS: usize = 4;
/// Nine of ten pairs must have a figure.
const LEAST_SHARE: (usize, usize) = (9, 10);

/// A claimed topology with what times between its CPUs make of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The topology as measured; the claim itself where nothing is corrected. Its notes say which.
    pub topology: Topology,
    /// What was corrected, finest level first.
    pub corrections: Vec<Correction>,
    /// Claims that the figures bear out, or that they say nothing about.
    pub notes: Vec<String>,
}

/// A level that replaces a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// What the CPUs of a group are taken to share.
    pub level: Level,
    /// The claim: `0-15`; `not claimed`.
    pub claimed: String,
    /// The groups of CPUs: `0-7 | 8-15`.
    pub measured: String,
    /// The figures, and why they stand for this level.
    pub why: String,
}

/// Corrects a claimed topology by the classes that [`classify`] finds in times between all its CPUs.
///
/// # Errors
/// If the figures are of CPUs that the topology does not know.
pub fn measured(claimed: &Topology, coherence: &Coherence) -> Result<Measured, crate::Error> {
    let mut cpus: Vec<u32> = coherence.times().flat_map(|(a, b, ..)| [a, b]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    check_known(&cpus, claimed)?;
    let levels = match certain_levels(claimed, coherence, &cpus) {
        Ok(levels) => levels,
        Err(why) => return Ok(unchanged(claimed, vec![format!("nothing to correct: {why}")])),
    };
    let (mut topology, corrections, mut notes) = place::all(claimed, &levels);
    if corrections.is_empty() {
        notes.insert(0, "nothing to correct: the claims are as the figures have it".to_owned());
        return Ok(unchanged(claimed, notes));
    }
    for correction in &corrections {
        topology.facts.retain(|fact| fact.level != correction.level);
        topology.facts.push(Fact {
            level: correction.level,
            source: Source::Measured,
            by: correction.why.clone(),
        });
        topology.notes.push(format!(
            "{} as measured: {} (claimed: {})",
            correction.level, correction.measured, correction.claimed
        ));
    }
    topology.notes.extend(notes.iter().cloned());
    topology.finish();
    Ok(Measured { topology, corrections, notes })
}

fn unchanged(claimed: &Topology, notes: Vec<String>) -> Measured {
    let mut topology = claimed.clone();
    topology.notes.push("as claimed, not corrected by measurement".to_owned());
    topology.notes.extend(notes.iter().cloned());
    Measured { topology, corrections: Vec::new(), notes }
}

/// The levels that the figures show, if they may be believed; else why not.
fn certain_levels(claimed: &Topology, coherence: &Coherence, cpus: &[u32]) -> Result<Vec<Found>, String> {
    if coherence.stable == Some(false) || coherence.verdict == Some(Verdict::Unstable) {
        return Err(
            "the figures jumped while they were measured, and no fixed topology is true of them".into()
        );
    }
    let all = claimed.cpus();
    let measured: CpuSet = cpus.iter().copied().collect();
    if measured != all {
        let missing = all.difference(&measured);
        return Err(format!("there are no times of CPUs {missing}"));
    }
    let n = cpus.len();
    if n < LEAST_CPUS {
        return Err(format!("among {n} CPUs no group can stand out; it takes {LEAST_CPUS}"));
    }
    let matrix = Matrix::of(coherence).ok_or("there are no times between CPUs")?;
    let (figures, pairs) = (matrix.pairs().count(), n * (n - 1) / 2);
    if figures * LEAST_SHARE.1 < pairs * LEAST_SHARE.0 {
        return Err(format!("{figures} of {pairs} pairs have a time, which may leave a level out"));
    }
    let found = classify(&matrix);
    match found.verdict {
        Verdict::Flat => {
            Err("the figures are flat: no group of CPUs stands out, which neither bears out nor \
                              contradicts a claim"
                .into())
        }
        Verdict::HomeBiased if found.levels.is_empty() => {
            Err("the times tell the way to the line's home, not the hops between CPUs".into())
        }
        _ => Ok(found.levels),
    }
}

/// `0-3 | 4-7`.
fn listed<'a>(sets: impl IntoIterator<Item = &'a CpuSet>) -> String {
    let sets: Vec<String> = sets.into_iter().map(CpuSet::to_string).collect();
    sets.join(" | ")
}
