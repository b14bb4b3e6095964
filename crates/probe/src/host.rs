//! The machine that figures are measured on: fills the profile's `host` section.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::OnceLock;

use coho_platform::host::{Facts, date};
use coho_profile::Host;

use crate::clock::{self, Clock};

/// When this process first measured or looked at the host. It is the same for everything that the process measures, so that
/// sections of one run are known by their date.
pub fn run_date() -> String {
    static BEGAN: OnceLock<String> = OnceLock::new();
    BEGAN.get_or_init(date).clone()
}

/// Reads every fact about the machine that figures depend on, and measures its clock; takes about 10 ms. Facts that are
/// not available are listed in `not_available`, with the reason.
pub fn collect() -> Host {
    let facts = Facts::read();
    let clock = Clock::get();
    let tsc = match clock.source() {
        clock::Source::System(why) => Err(why.to_string()),
        _ => Ok(clock.counter_ghz()),
    };
    let mut missing = Missing::default();
    let mut host = Host {
        architecture: Some(std::env::consts::ARCH.into()),
        timer_step_ns: Some(clock.step_ns()),
        allowed_cpus: facts.allowed_cpus.iter().collect(),
        date: Some(run_date()),
        coho_version: Some(env!("CARGO_PKG_VERSION").into()),
        cpu: missing.take("cpu", facts.cpu),
        microcode: missing.take("microcode", facts.microcode),
        kernel: missing.take("kernel", facts.kernel),
        os: missing.take("os", facts.os),
        hypervisor: missing.take("hypervisor", facts.hypervisor),
        firmware: missing.take("firmware", facts.firmware),
        governor: missing.take("governor", facts.governor),
        boost: missing.take("boost", facts.boost),
        clock_source: missing.take("clock_source", facts.clock_source),
        huge_pages: missing.take("huge_pages", facts.huge_pages),
        load_average: missing.take("load_average", facts.load_average),
        clock_ghz: missing.take("clock_ghz", clock::effective_ghz()),
        tsc_ghz: missing.take("tsc_ghz", tsc).flatten(),
        mitigations: missing.take("mitigations", facts.mitigations).unwrap_or_default(),
        limits: missing.take("limits", facts.limits).unwrap_or_default(),
        ..Host::default()
    };
    host.not_available = missing.0;
    host
}

/// Reasons, by the names of the fields that have no value.
#[derive(Default)]
struct Missing(BTreeMap<String, String>);

impl Missing {
    /// The fact; if there is none, the reason is kept.
    fn take<T>(&mut self, name: &str, fact: Result<T, impl Display>) -> Option<T> {
        fact.map_err(|why| self.0.insert(name.to_owned(), why.to_string())).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_value_or_a_reason() {
        let host = collect();
        let value = serde_json::to_value(&host).unwrap();
        for (name, field) in value.as_object().unwrap() {
            let empty = field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
            if empty && !["not_available", "unknown"].contains(&name.as_str()) {
                assert!(host.not_available.contains_key(name), "{name} is empty without a reason");
            }
        }
        assert!(!host.allowed_cpus.is_empty());
    }
}
