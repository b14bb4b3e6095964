//! How a section was measured, and what of it was not: the same of every section.

use coho_profile::{Method, SAME_MODE};
use serde_json::Value;

use crate::sections::prelude::*;

/// Adds that the run was stopped, what is missing, and how the rest was measured.
pub(super) fn add(parts: &mut Vec<Part>, id: &'static str, method: &Method) {
    parts.summary(method.interrupted.then(|| Text::new(words::STOPPED)));
    parts.summary(Missing::all(&method.not_available));
    parts.detail(facts(id, method));
}

/// How far apart the CPUs were while the section was measured, by the times of one pair of them before and after.
pub(super) fn distance(method: &Method) -> Option<Text> {
    let parameter = |name: &str| method.parameters.get(name);
    let ns = |name: &str| parameter(name)?.as_f64().filter(|ns| scale::is_time(*ns));
    let (before, after) = (ns("one_way_ns_before")?, ns("one_way_ns_after")?);
    let pair = legible(parameter("one_way_cpus")?);
    let (a, b) = pair.split_once(", ")?;
    let moved = before.max(after) > SAME_MODE * before.min(after);
    let but = if moved { ": these figures are of more than one distance" } else { "" };
    let times =
        format!("{} ns one way before, {} ns after{but}", words::number(before), words::number(after));
    Some(Text::labelled(
        "meanwhile",
        format!("CPUs {} and {} took {times}.", words::short(a, 8), words::short(b, 8)),
    ))
}

pub(super) fn facts(id: &'static str, method: &Method) -> Facts {
    let passes = Some(method.passes).filter(|passes| *passes > 0);
    let description = Some(&method.description).filter(|text| !text.is_empty());
    let duration_s = Some(method.duration_s).filter(|s| *s > 0.0);
    let seconds = |s: f64| format!("{} s", words::number(s));
    let parameters = method.parameters.iter();
    let parameters =
        parameters.map(|(name, value)| (words::short(name, 80), words::short(&legible(value), 300)));
    Facts::new(id, "How it was measured")
        .facts([
            ("what was done", description.map(|text| words::short(text, 2000))),
            ("passes", passes.map(|passes| passes.to_string())),
            ("duration", duration_s.map(seconds)),
            ("involuntary context switches", passes.map(|_| method.involuntary_switches.to_string())),
            ("time stolen by the hypervisor", passes.map(|_| seconds(method.steal_s))),
        ])
        .facts(parameters)
}

/// A value for people, with spaces between its parts: `read: page-faults, stop: page-faults`.
fn legible(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => words::joined(values.iter().map(legible), ", "),
        Value::Object(fields) => {
            words::joined(fields.iter().map(|(name, value)| format!("{name}: {}", legible(value))), ", ")
        }
        other => other.to_string(),
    }
}
