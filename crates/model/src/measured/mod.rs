//! The topology as measured: a machine's claims, corrected where classes of times contradict them.
//!
//! Times between CPUs show which CPUs are near to each other, but not what they share. A level that coincides with a
//! claim confirms it. A level that no claim has replaces the claim that it contradicts, or stands for what CPUs so
//! near usually share; the reason says which. Where the figures are flat, unstable or incomplete, or other surveys
//! differ, nothing is corrected. Claims that stay although the figures do not show them, or contradict them, are
//! named.

mod effect;
mod place;
mod suggest;

use coho_profile::Coherence;
use coho_topology::{CpuSet, Fact, Level, Source, Topology};

pub use suggest::{Suggestion, Tool, suggest};

use crate::audit::audit_by;
use crate::stability::condition;
use crate::words::differing;
use crate::{Classification, Matrix, Verdict, check_known, classify};
use place::{Placed, Wrong};

/// The fewest CPUs among which a group can stand out.
const LEAST_CPUS: usize = 4;
/// Nine of ten pairs must have a figure, unless a sample was chosen to stand for all.
const LEAST_SHARE: (usize, usize) = (9, 10);

/// The most contradictions that are named.
const MOST_NAMED: usize = 4;

/// A claimed topology with what times between its CPUs show about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The topology as measured; the claim itself where nothing is corrected. Its notes say which.
    pub topology: Topology,
    /// What was corrected, finest level first.
    pub corrections: Vec<Correction>,
    /// Claims that the figures confirm, or that there is nothing to correct; then the reservations.
    pub notes: Vec<String>,
    /// Why nothing could be corrected, which claims stay although the figures do not show them or contradict
    /// them, and the condition under which the figures hold.
    pub reservations: Vec<String>,
    /// Whether all pairs were timed and confirm each claim that times could contradict.
    pub is_borne_out: bool,
}

/// A level that replaces a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// What the CPUs of a group are assumed to share.
    pub level: Level,
    /// The claim: `0-15`; `not claimed`.
    pub claimed: String,
    /// The groups of CPUs: `0-7 | 8-15`.
    pub measured: String,
    /// The figures, and why they mean this level.
    pub why: String,
}

/// Corrects a claimed topology by the classes that [`classify`] finds in times between all its CPUs.
///
/// # Errors
/// If there are figures of CPUs that the topology does not have.
pub fn measured(claimed: &Topology, coherence: &Coherence) -> Result<Measured, crate::Error> {
    let mut cpus: Vec<u32> = coherence.times().flat_map(|(a, b, ..)| [a, b]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    check_known(&cpus, claimed)?;
    let classification = Matrix::of(coherence).map(|matrix| classify(&matrix));
    let classification = classification.as_ref();
    let placed = match place_levels(claimed, coherence, classification) {
        Ok(placed) if placed.levels == 0 => {
            let mut reservations = vec![format!("nothing corrected: {FLAT}")];
            reservations.extend(placed.placed.reservations);
            reservations.extend(contradicted(claimed, coherence, classification));
            // No groups, as claimed.
            let is_borne_out = reservations.len() == 1;
            return Ok(Measured { is_borne_out, ..unchanged(claimed, Vec::new(), reservations) });
        }
        Ok(placed) => placed.placed,
        Err(why) => {
            let mut reservations = vec![format!("nothing corrected: {why}")];
            reservations.extend(contradicted(claimed, coherence, classification));
            return Ok(unchanged(claimed, Vec::new(), reservations));
        }
    };
    let Placed { mut topology, corrections, mut notes, mut reservations, .. } = placed;
    reservations.extend(contradicted(&topology, coherence, classification));
    let is_borne_out = reservations.is_empty();
    reservations.extend(condition(coherence).map(|condition| format!("condition: {condition}")));
    if corrections.is_empty() {
        let what = match is_borne_out {
            true => "nothing to correct: the claims agree with the figures",
            false => "nothing corrected: the figures do not show what should replace the claims",
        };
        notes.insert(0, what.to_owned());
        return Ok(Measured { is_borne_out, ..unchanged(claimed, notes, reservations) });
    }
    notes.extend(reservations.iter().cloned());
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
    Ok(Measured { topology, corrections, notes, reservations, is_borne_out: false })
}

/// What the first note of a topology that was not corrected begins with.
pub const AS_CLAIMED: &str = "as claimed: ";

fn unchanged(claimed: &Topology, mut notes: Vec<String>, reservations: Vec<String>) -> Measured {
    notes.extend(reservations.iter().cloned());
    let mut topology = claimed.clone();
    let told = notes.iter().enumerate();
    topology.notes.extend(told.map(|(at, note)| format!("{}{note}", if at == 0 { AS_CLAIMED } else { "" })));
    Measured { topology, corrections: Vec::new(), notes, reservations, is_borne_out: false }
}

/// What the figures contradict in a topology, as claimed or after its correction.
fn contradicted(
    topology: &Topology,
    coherence: &Coherence,
    classification: Option<&Classification>,
) -> Vec<String> {
    let contradictions = audit_by(topology, coherence, classification).contradictions;
    let named = contradictions.iter().take(MOST_NAMED);
    let mut named: Vec<String> =
        named.map(|one| format!("not borne out: {}; measured: {}", one.claim, one.figures)).collect();
    if contradictions.len() > MOST_NAMED {
        named.push(format!("and {} more contradictions", contradictions.len() - MOST_NAMED));
    }
    named
}

/// What the figures say about every claim, for the audit.
pub(crate) struct Compared {
    /// Claims that are wrong.
    pub(crate) wrong: Vec<Wrong>,
    /// Claims of which the figures say nothing.
    pub(crate) not_shown: Vec<String>,
}

/// Compares every claim with the levels that the figures show.
///
/// # Errors
/// With the reason if the figures do not allow that.
pub(crate) fn compare(
    claimed: &Topology,
    coherence: &Coherence,
    classification: Option<&Classification>,
) -> Result<Compared, String> {
    let Placing { placed, .. } = place_levels(claimed, coherence, classification)?;
    let levels: Vec<Level> = placed.corrections.iter().map(|one| one.level).collect();
    let not_shown = match levels.is_empty() {
        true => placed.reservations,
        // What is corrected is named already.
        false => Vec::new(),
    };
    Ok(Compared { wrong: placed.wrong, not_shown })
}

/// Measured levels in their places, and how many there are.
struct Placing {
    placed: Placed,
    levels: usize,
}

/// Why nothing is corrected where no level was found.
const FLAT: &str = "the figures are flat: no group of CPUs stands out";

/// Puts the levels that the figures show in their places, if they can be believed; otherwise says why not.
fn place_levels(
    claimed: &Topology,
    coherence: &Coherence,
    classification: Option<&Classification>,
) -> Result<Placing, String> {
    if let Some(history) = coherence.history.as_ref().filter(|history| history.disagree > 0) {
        return Err(format!("{}, and no fixed topology is true of all", differing(history, " since boot")));
    }
    if coherence.keeps_to_its_values() == Some(false) {
        return Err(
            "the figures did not all keep to one value, and no fixed topology is known to be true of all"
                .into(),
        );
    }
    let matrix = Matrix::of(coherence).ok_or("there are no times between CPUs")?;
    let all = claimed.cpus();
    let measured: CpuSet = coherence.times().flat_map(|(a, b, ..)| [a, b]).collect();
    if measured != all {
        let missing = all.difference(&measured);
        return Err(format!("there are no times of CPUs {missing}"));
    }
    let n = measured.len();
    if n < LEAST_CPUS {
        return Err(format!("no group can stand out among {n} CPUs; it takes {LEAST_CPUS}"));
    }
    let (figures, pairs) = (matrix.pairs().count(), n * (n - 1) / 2);
    if coherence.random_pairs().is_none() && figures * LEAST_SHARE.1 < pairs * LEAST_SHARE.0 {
        return Err(format!("{figures} of {pairs} pairs have a time, which may leave a level out"));
    }
    let found = classification.cloned().unwrap_or_else(|| classify(&matrix));
    let is_biased = found.verdict == Verdict::HomeBiased;
    if is_biased && found.levels.is_empty() {
        return Err(
            "the times seem to show the distance to the line's home, not the hops between CPUs".into()
        );
    }
    let placed = place::all(claimed, &found.levels, &matrix, is_biased);
    Ok(Placing { placed, levels: found.levels.len() })
}

/// `0-3 | 4-7`.
fn listed<'a>(sets: impl IntoIterator<Item = &'a CpuSet>) -> String {
    let sets: Vec<String> = sets.into_iter().map(CpuSet::to_string).collect();
    sets.join(" | ")
}
