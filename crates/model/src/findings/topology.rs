//! Whether the topology that the machine claims is right.

use coho_profile::{Coherence, Profile};
use coho_topology::Topology;

use super::finding::{Finding, Urgency, brief, times_of};
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

/// Whether the times agree with the claimed topology, in a line; `None` if the profile has no claims of a machine.
pub(crate) fn verdict(profile: &Profile, judgement: &Judgement) -> Option<String> {
    let claimed = &profile.topology.as_ref()?.topology;
    let unknown = |why: &str| Some(format!("not checked: {why}"));
    let Some(coherence) = &profile.coherence else { return unknown("no time between CPUs was measured") };
    if coherence.published {
        return None;
    }
    let Some(contradictions) = &judgement.contradictions else {
        return unknown("no time between CPUs was measured");
    };
    if judgement.stable == Some(false) {
        return Some("cannot be told: times between CPUs did not keep to one value".into());
    }
    Some(match contradictions.len() {
        0 if is_borne_out(profile, coherence, claimed) => "as claimed, by the times between all CPUs".into(),
        0 => "nothing contradicts the claims, but the times do not bear out all of them".into(),
        1 => "not as claimed: 1 claim is contradicted".into(),
        n => format!("not as claimed: {n} claims are contradicted"),
    })
}

/// Whether all pairs were timed often, and bear out whatever claim they can.
fn is_borne_out(profile: &Profile, coherence: &Coherence, claimed: &Topology) -> bool {
    let is_certain = coherence.judged().iter().all(|pair| pair.ns.has_interval());
    is_certain
        && have_stayed(profile)
        && measured(claimed, coherence).is_ok_and(|measured| measured.is_borne_out)
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

fn as_measured(profile: &Profile, coherence: &Coherence, claimed: &Topology) -> Option<Finding> {
    is_borne_out(profile, coherence, claimed).then(|| Finding {
        id: "topology-stands",
        text: "The claimed topology agrees with the times between all CPUs.".into(),
        // The verdict on the claims says it.
        brief: String::new(),
        act: String::new(),
        urgency: Urgency::Note,
        evidence: vec![times_of(coherence), "/topology/counts".into()],
        condition: stability::condition(coherence).unwrap_or_default(),
        next: String::new(),
    })
}

fn not_as_claimed(profile: &Profile, coherence: &Coherence, text: String) -> Finding {
    Finding {
        id: "topology-contradicted",
        brief: brief(&text, &stability::clause(coherence)),
        text,
        act: "`coho topology --measured -p PROFILE` shows it as measured.".into(),
        // Times that are not known to stay may differ next time.
        urgency: if have_stayed(profile) { Urgency::Warning } else { Urgency::Note },
        evidence: vec![times_of(coherence), "/topology/counts".into()],
        condition: stability::condition(coherence).unwrap_or_default(),
        next: "`coho topology --measured -p PROFILE` shows the topology as measured; `--format hwloc-xml` writes it for \
               programs that place by hwloc."
            .into(),
    }
}
