//! Figures that were measured while the hypervisor took the CPUs: they say what the host was doing, not what the machine is.

use std::collections::BTreeMap;

use coho_profile::{Method, Profile, Section};

use super::finding::{Finding, Urgency};
use crate::words::{listed, number};

/// The finding's kind.
pub(crate) const DISTURBED: &str = "disturbed";

/// The share of its CPUs' time from which what was taken counts. Short batches with a median bear less.
const TAKEN: f64 = 0.05;

/// The percentage of the time from which tasks that waited for a CPU count. For how long others ran is known in the kernel's
/// ticks: to some per cent of a short section.
const WAITED: f64 = 10.0;

/// Leaves out the findings that rest on such figures, and says so.
pub(super) fn leave_out(findings: &mut Vec<Finding>, profile: &Profile) {
    let taken_of = |section: &dyn Section| match section.method() {
        Some(method) => taken(method),
        None => section.parts().into_iter().find_map(|(_, method)| taken(method)),
    };
    let disturbed: BTreeMap<&str, String> =
        profile.sections().filter_map(|(name, section)| Some((name, taken_of(section)?))).collect();
    if disturbed.is_empty() {
        return;
    }
    let section = |pointer: &str| pointer.split('/').nth(1).unwrap_or_default().to_owned();
    let rests_on = |finding: &Finding| {
        finding.evidence.iter().any(|pointer| disturbed.contains_key(section(pointer).as_str()))
    };
    // That times changed is what such a machine shows, and what is missing is missing all the same.
    const KEPT: [&str; 3] = ["placement-moves", "times-vary", "not-measured"];
    findings.retain(|finding| KEPT.contains(&finding.id) || !rests_on(finding));
    let named: Vec<String> = disturbed.iter().map(|(name, taken)| format!("{name} ({taken})")).collect();
    let text = format!("The hypervisor took the CPUs while these were measured: {}.", listed(&named));
    findings.push(Finding {
        id: DISTURBED,
        brief: text.clone(),
        text,
        act: "Measure them again when the host is less busy.".into(),
        urgency: Urgency::Warning,
        evidence: disturbed.keys().map(|name| format!("/{name}")).collect(),
        condition: format!(
            "from {:.0} % of their CPUs' time on; nothing else is concluded from these figures",
            100.0 * TAKEN
        ),
        next: "Measure them again when the host is less busy.".into(),
    });
}

/// What else had the CPUs while a section was measured, in words: a host that took them, or tasks that waited for them.
pub(crate) fn disturbed(method: &Method) -> Option<String> {
    let waited = method.parameters.get("waiting_for_cpus_percent").and_then(serde_json::Value::as_f64);
    let waited = waited
        .filter(|percent| *percent > WAITED)
        .map(|percent| format!("tasks waited for a CPU in {percent} % of the time"));
    taken(method).map(|taken| format!("the hypervisor took {taken}")).or(waited)
}

/// `1.20 of 8.00 s`, if that is much.
fn taken(method: &Method) -> Option<String> {
    let cpus = method.parameters.get("cpus").and_then(|cpus| cpus.as_array()).map_or(1, Vec::len).max(1);
    let all_s = method.duration_s * cpus as f64;
    (method.steal_s > TAKEN * all_s && all_s > 0.0)
        .then(|| format!("{} of {} s", number(method.steal_s), number(all_s)))
}
