//! How a section was measured, and what of it was not: the same of every section.

use coho_profile::Method;
use serde_json::Value;

use crate::sections::prelude::*;

/// Adds that the run was stopped, what is missing, and how the rest was measured.
pub(super) fn add(parts: &mut Vec<Part>, id: &'static str, method: &Method) {
    parts.summary(method.interrupted.then(|| Text::new(words::STOPPED)));
    parts.summary(Missing::all(&method.not_available));
    parts.detail(facts(id, method));
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
