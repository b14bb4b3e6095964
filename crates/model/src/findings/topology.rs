//! Whether the topology that the machine claims is right.

use coho_profile::{Coherence, Profile};
use coho_topology::Topology;

use super::finding::{Finding, Urgency, times_of};
use super::moves::have_stayed;
use crate::Contradiction;
use crate::judge::Judgement;
use crate::measured::measured;
use crate::stability;

pub fn findings(profile: &Profile, judgement: &Judgement) -> Vec<Finding> {
    let (Some(coherence), Some(section)) = (&profile.coherence, &profile.topology) else { return Vec::new() };
    let Some(contradictions) = &judgement.contradictions else { return Vec::new() };
    // If the CPUs move, no fixed topology is true, whatever is claimed.
    if judgement.stable == Some(false) {
        return Vec::new();
    }
    let finding = match contradictions.as_slice() {
        [] => as_measured(profile, coherence, &section.topology),
        [first, others @ ..] => Some(contradicted(profile, coherence, first, others.len())),
    };
    finding.into_iter().collect()
}

fn contradicted(profile: &Profile, coherence: &Coherence, first: &Contradiction, others: usize) -> Finding {
    let more = match others {
        0 => String::new(),
        1 => "; 1 more claim is contradicted".into(),
        n => format!("; {n} more claims are contradicted"),
    };
    let text = format!(
        "The claimed topology is not what was measured: {}, but {}{more}.",
        first.claim, first.figures
    );
    not_as_claimed(profile, coherence, text)
}

/// All pairs were timed often, and bear out whatever claim they can.
fn as_measured(profile: &Profile, coherence: &Coherence, claimed: &Topology) -> Option<Finding> {
    let measured = measured(claimed, coherence).ok()?;
    let is_certain = coherence.judged().iter().all(|pair| pair.ns.has_interval());
    (measured.is_borne_out && is_certain && have_stayed(profile)).then(|| Finding {
        id: "topology-stands",
        text: "The claimed topology agrees with the times between all CPUs.".into(),
        urgency: Urgency::Note,
        evidence: vec![times_of(coherence), "/topology/counts".into()],
        condition: stability::condition(coherence).unwrap_or_default(),
        next: String::new(),
    })
}

fn not_as_claimed(profile: &Profile, coherence: &Coherence, text: String) -> Finding {
    Finding {
        id: "topology-contradicted",
        text,
                // Times that are not known to stay may differ next time.
        urgency: if have_stayed(profile) { Urgency::Warning } else { Urgency::Note },
        evidence: vec![times_of(coherence), "/topology/counts".into()],
        condition: stability::condition(coherence).unwrap_or_default(),
        next: "`coho topology --measured -p PROFILE` shows the topology as measured; `--format hwloc-xml` writes it for \
               programs that place by hwloc."
            .into(),
    }
}
