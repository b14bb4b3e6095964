//! Which calls another core should execute.

use coho_profile::{Decision, Profile};

use super::moves::have_stayed_for;
use super::{Finding, Urgency};
use crate::delegation;

pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(calls) = &profile.calls else { return Vec::new() };
    let Some(decisions) = delegation::decisions(calls) else { return Vec::new() };
    let is_decided = |verdict: &&coho_profile::DelegationVerdict| {
        verdict.decision != Decision::Undecided || verdict.async_decision == Decision::From
    };
    let gains = calls
        .verdicts
        .iter()
        .any(|verdict| verdict.decision == Decision::From || verdict.async_decision == Decision::From);
    let decided: Vec<String> = calls
        .verdicts
        .iter()
        .enumerate()
        .filter(|(_, verdict)| is_decided(verdict))
        .map(|(at, _)| format!("/calls/verdicts/{at}"))
        .collect();
    if decided.is_empty() {
        return Vec::new();
    }
    let mode = calls.verdicts.first().map(|verdict| verdict.mode.as_str()).unwrap_or_default();
    // Curves may be older than the calls beside them.
    let curves = calls.footprint_conditions.as_ref().unwrap_or(&calls.conditions);
    let is_sure = have_stayed_for(profile, curves);
    let moved =
        if is_sure { "" } else { "; it holds while the two are as far apart, which is not known to stay" };
    vec![Finding {
        id: "delegation",
        text: format!("Calls on another core: {decisions}."),
        urgency: if gains { Urgency::Advice } else { Urgency::Note },
        evidence: decided,
        condition: format!("by what the caller has used of its caches; {mode}{moved}"),
        next: match gains {
            true => "`coho run --delegate --try -- PROGRAM` shows whether a program gains.".into(),
            false => String::new(),
        },
    }]
}
