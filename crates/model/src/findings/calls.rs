//! Which calls another core should execute.

use coho_profile::{Footprint, Profile};

use super::finding::{Finding, Urgency, brief};
use super::moves::have_stayed_for;
use crate::delegation::{self, Decision, DelegationVerdict};

pub fn findings(profile: &Profile, verdicts: &[DelegationVerdict]) -> Vec<Finding> {
    let Some(calls) = &profile.calls else { return Vec::new() };
    let Some(decisions) = delegation::decisions(verdicts) else { return Vec::new() };
    let is_decided = |verdict: &&DelegationVerdict| {
        matches!(verdict.decision, Decision::From | Decision::Never)
            || verdict.async_decision == Decision::From
    };
    let gains = verdicts
        .iter()
        .any(|verdict| verdict.decision == Decision::From || verdict.async_decision == Decision::From);
    let decided: Vec<&DelegationVerdict> = verdicts.iter().filter(is_decided).collect();
    if decided.is_empty() {
        return Vec::new();
    }
    let rests_on = |row: &Footprint| row.is_of_curve() && decided.iter().any(|verdict| verdict.is_on(row));
    let rows = calls.footprint.iter().enumerate().filter(|(_, row)| rests_on(row));
    let evidence = rows.map(|(at, _)| format!("/calls/footprint/{at}")).collect();
    let mode = verdicts.first().map(|verdict| verdict.mode.as_str()).unwrap_or_default();
    // Curves may be older than the calls beside them.
    let curves = calls.footprint_conditions.as_ref().unwrap_or(&calls.conditions);
    let is_sure = have_stayed_for(profile, curves);
    let moved =
        if is_sure { "" } else { "; holds only while the two CPUs stay this far apart, which is not known" };
    let text = format!("Calls on another core: {decisions}.");
    vec![Finding {
        id: "delegation",
        brief: brief(&text, if is_sure { "" } else { "while the two CPUs stay this far apart" }),
        text,
        act: match gains {
            true => "`coho run --delegate --try -- PROGRAM`".into(),
            false => String::new(),
        },
        urgency: if gains { Urgency::Advice } else { Urgency::Note },
        evidence,
        condition: format!("by how much of its caches the caller has used; {mode}{moved}"),
        next: match gains {
            true => "`coho run --delegate --try -- PROGRAM` shows whether a program gains.".into(),
            false => String::new(),
        },
    }]
}
