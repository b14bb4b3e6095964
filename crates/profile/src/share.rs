//! What it costs a program that its threads share cache lines: section `share`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, lower, neither};
use crate::{Estimate, Method};

/// One program, as it ran on several CPUs and with the same threads on one of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Share {
    /// How it was measured.
    pub method: Method,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The CPUs that it ran on.
    pub cpus: Vec<u32>,
    /// What sharing costs it in all.
    pub total: ShareTotal,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Share);

/// CPU time in user mode on several CPUs against that of the same threads on one CPU, where no line moves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ShareTotal {
    /// The share of the CPU time that is not needed on one CPU, 0 to 1; below 0 if one CPU takes more. It holds lines that
    /// go back and forth, data that one CPU hands to another once, and what CPUs that work together lack in memory
    /// bandwidth and cache. `null` if that cannot be told.
    pub share_of_cpu_time: Option<Estimate>,
    /// Why it cannot be told; `null` if it can.
    pub why_not: Option<String>,
    /// CPU time in user mode on the CPUs, in seconds.
    pub cpu_s: Option<Estimate>,
    /// The same on one of them.
    pub one_cpu_s: Option<Estimate>,
    /// CPU time over elapsed time on the CPUs: how many threads ran at once on average.
    pub at_once: Option<Estimate>,
    /// `share_of_cpu_time` of a loop that shares nothing, in the same rounds: what threads of a core and the clock do.
    pub control: Option<Estimate>,
}

const TOTAL: &[Column<ShareTotal>] = &[
    lower("share.of-cpu-time", "share of a program's CPU time that sharing costs", "", |total| {
        given(&total.share_of_cpu_time)
    }),
    lower("share.cpu-time", "a program's CPU time in user mode", "s", |total| given(&total.cpu_s)),
    lower("share.one-cpu-time", "the same with its threads on one CPU", "s", |total| given(&total.one_cpu_s)),
    neither("share.at-once", "threads of a program that ran at once", "", |total| given(&total.at_once)),
    neither("share.control", "share of CPU time that a loop loses beside others", "", |total| {
        given(&total.control)
    }),
];

impl Section for Share {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.cpus.iter().copied())
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        all.rows(TOTAL, [(vec![("command", self.command.join(" "))], &self.total)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn a_total_follows_the_schema_whether_it_is_known_or_not() {
        let known = ShareTotal { share_of_cpu_time: Some(Estimate::exact(0.3)), ..ShareTotal::default() };
        let withheld = ShareTotal { why_not: Some("its threads spin".into()), ..ShareTotal::default() };
        let schema = serde_json::from_str(Profile::JSON_SCHEMA).unwrap();
        for total in [known, withheld] {
            let share = Share { command: vec!["./a".into()], cpus: vec![0, 1], total, ..Share::default() };
            let profile = Profile { share: Some(share), ..Profile::default() };
            let value = serde_json::to_value(&profile).unwrap();
            jsonschema::validate(&schema, &value).unwrap();
            let fields = value["share"]["total"].as_object().unwrap();
            assert!(fields.contains_key("share_of_cpu_time") && fields.contains_key("why_not"), "{value}");
            assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
        }
    }
}
