//! The machine: what its topology claims, and the facts of the host.

use std::collections::BTreeMap;

use coho_profile::Host;
use coho_topology::Counts;

use super::{Entry, machine};
use crate::boxes;
use crate::chart::Drawing;
use crate::part::{Facts, Missing, Section, Text};
use crate::{Subject, words};

/// Boxes of the finest level in a drawing.
const MAX_BOXES: usize = 768;
/// Notes and disagreements that are told.
const MOST: usize = 20;

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "topology", title: "The machine", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let (host, topology) = (subject.profile.host.as_ref(), subject.profile.topology.as_ref());
    if host.is_none() && topology.is_none() {
        return None;
    }
    let headline = topology.map(|section| machine::counted(section.counts)).unwrap_or_default();
    let mut section = ENTRY.section(headline);
    if let Some(claimed) = topology {
        section.summary(Drawing {
            id: "topology".into(),
            title: "The topology that the machine claims".into(),
            caption:
                "Innermost boxes are CPUs by the operating system's number; hover over a box for its name."
                    .into(),
            nodes: boxes::of(&claimed.topology, MAX_BOXES),
        });
        section.detail(counts(claimed.counts));
        for note in claimed.topology.notes.iter().take(MOST) {
            section.summary(Text::labelled("note:", words::short(note, 500)));
        }
        for disagreement in claimed.topology.disagreements.iter().take(MOST) {
            let claims = disagreement
                .claims
                .iter()
                .map(|claim| format!("{} says {}", claim.source, words::short(&claim.says, 200)));
            let claims = claims.collect::<Vec<_>>().join("; ");
            section.summary(Text::labelled(
                "sources",
                format!("disagree on {}: {claims}; coho believes the first", disagreement.level),
            ));
        }
    }
    if let Some(host) = host {
        section.detail(facts(host));
        section.detail(circumstances(host));
        for missing in Missing::all(&host.not_available) {
            section.summary(missing);
        }
    }
    Some(section)
}

/// What tells one machine and system from another.
fn facts(host: &Host) -> Facts {
    let switched = |on: bool| if on { "on" } else { "off" }.to_owned();
    let cpus = (!host.allowed_cpus.is_empty()).then(|| words::cpus(&host.allowed_cpus));
    let optional = [
        ("CPU", host.cpu.clone()),
        ("architecture", host.architecture.clone()),
        ("kernel", host.kernel.clone()),
        ("distribution", host.os.clone()),
        ("hypervisor", host.hypervisor.clone()),
        ("microcode", host.microcode.clone()),
        ("firmware", host.firmware.clone()),
        ("governor", host.governor.clone()),
        ("boost", host.boost.map(switched)),
        // Two decimals: the measured clock's noise is no other clock.
        ("clock", host.clock_ghz.map(|ghz| format!("{ghz:.2} GHz"))),
        ("clock source", host.clock_source.clone()),
        ("allowed CPUs", cpus),
        ("coho", host.coho_version.clone()),
    ];
    let optional =
        optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), words::short(&value?, 300))));
    let named = |kind: &'static str, map: &BTreeMap<String, String>| -> Vec<(String, String)> {
        map.iter()
            .map(|(name, value)| (format!("{kind} {}", words::short(name, 80)), words::short(value, 300)))
            .collect()
    };
    let facts = optional.chain(named("mitigation", &host.mitigations)).chain(named("limit", &host.limits));
    Facts { id: "host", title: "Host".into(), facts: facts.collect(), compared: true }
}

/// What changes from run to run.
fn circumstances(host: &Host) -> Facts {
    let optional = [
        ("date", host.date.clone()),
        ("time-stamp counter", host.tsc_ghz.map(|ghz| format!("{ghz:.3} GHz"))),
        ("timer step", host.timer_step_ns.map(|ns| format!("{} ns", words::number(ns)))),
        ("load when begun", host.load_average.map(|load| format!("{load:.2}"))),
    ];
    let facts = optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Facts { id: "circumstances", title: String::new(), facts: facts.collect(), compared: false }
}

fn counts(counts: Counts) -> Facts {
    let objects = [
        ("package", counts.package),
        ("die", counts.die),
        ("numa", counts.numa),
        ("l3", counts.l3),
        ("module", counts.module),
        ("core", counts.core),
        ("pu", counts.pu),
    ];
    let objects = objects.into_iter().filter(|(_, count)| *count > 0);
    let facts = objects.map(|(name, count)| (name.to_owned(), count.to_string())).collect();
    Facts { id: "topology", title: "Objects claimed".into(), facts, compared: true }
}
