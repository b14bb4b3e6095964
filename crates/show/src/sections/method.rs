//! How a section was measured, and what of it was not: the same of every section.

use coho_profile::Method;
use serde_json::Value;

use crate::part::{Facts, Missing, Part, PartList, Text};
use crate::words;

/// Adds that the run was stopped, what is missing, and how the rest was measured.
pub(super) fn add(parts: &mut Vec<Part>, id: &'static str, method: &Method) {
    if method.interrupted {
        parts.summary(Text::new(words::STOPPED));
    }
    for missing in Missing::all(&method.not_available) {
        parts.summary(missing);
    }
    parts.detail(facts(id, method));
}

pub(super) fn facts(id: &'static str, method: &Method) -> Facts {
    let mut facts = Vec::new();
    let mut tell = |name: &str, value: String| facts.push((name.to_owned(), value));
    if !method.description.is_empty() {
        tell("what was done", words::short(&method.description, 2000));
    }
    if method.passes > 0 {
        tell("passes", method.passes.to_string());
    }
    if method.duration_s > 0.0 {
        tell("duration", format!("{} s", words::number(method.duration_s)));
    }
    if method.passes > 0 {
        tell("involuntary context switches", method.involuntary_switches.to_string());
        tell("time stolen by the hypervisor", format!("{} s", words::number(method.steal_s)));
    }
    for (name, value) in &method.parameters {
        let value = words::short(&told(value), 300);
        tell(&words::short(name, 80), value);
    }
    Facts { id, title: "How it was measured".to_owned(), facts, compared: false }
}

/// A value for people, that can be broken between words: `read: page-faults, stop: page-faults`.
fn told(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(told).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {}", told(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
