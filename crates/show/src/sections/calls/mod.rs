//! What calls cost and evict, and which of them another core should execute.

mod costs;
mod footprint;
pub(in crate::sections) mod rows;
mod times;

use coho_model::delegation::{self, DelegationVerdict};
use coho_profile::{CacheState, CallMethod, Calls, Side};

pub use footprint::choices;
use rows::Paper;

use crate::sections::prelude::*;

pub(super) const ENTRY: Entry = Entry { id: "calls", title: "System, libc and MPI calls", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let calls = subject.profile.calls.as_ref()?;
    let mut section = ENTRY.section(headline(calls, &subject.answers.calls.verdicts));
    if !subject.published {
        section.summary(Text::labelled("measured", measured_by(calls.method)));
    }
    let paper = if subject.published { Paper::default() } else { Paper::beside(subject) };
    footprint::add(&mut section, calls, &subject.answers.calls, &paper.calls);
    times::add(&mut section, subject, calls, &paper);
    costs::add(&mut section, subject, calls, &paper);
    if let Some(conditions) = &calls.footprint_conditions {
        section.summary(Missing::all(&conditions.not_available));
        if conditions.interrupted {
            section.summary(Text::new("The curves were stopped before they were complete."));
        }
        section.detail(method::facts("calls-footprint-method", conditions));
    }
    method::add(&mut section.parts, "calls-method", &calls.conditions);
    Some(section)
}

fn measured_by(method: CallMethod) -> &'static str {
    match method {
        CallMethod::Pmu => "by performance counters",
        CallMethod::Timing => {
            "by time alone: prime and probe; a dash stands for what only a counter can show"
        }
    }
}

/// Times in a loop, as programs make the calls, and what curves have decided.
fn headline(calls: &Calls, verdicts: &[DelegationVerdict]) -> String {
    let warm = |call: &&coho_profile::Call| (call.state, call.side) == (CacheState::Warm, Side::Both);
    let usual = |call: &&coho_profile::Call| {
        call.wrapped || !calls.calls.iter().any(|other| other.name == call.name && other.wrapped)
    };
    let told = calls.calls.iter().filter(warm).filter(usual).filter_map(|call| {
        Some(format!("{} {}", words::short(&call.name, 20), words::within(call.ns.as_ref()?)))
    });
    let told = words::joined(told, ", ");
    let times = if told.is_empty() { told } else { format!("in a loop, ns: {told}") };
    words::joined([times, delegation::finding(verdicts).unwrap_or_default()], "; ")
}
