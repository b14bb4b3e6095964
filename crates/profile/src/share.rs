//! What it costs a program that its threads share cache lines: section `share`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, given, higher, lower, neither};
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
    /// The lines that its threads share, the dearest first; `null` if they were not looked for, with the reason in
    /// `why_no_lines`.
    pub lines: Option<Vec<ShareLine>>,
    /// Why its lines are not known; `null` if they are.
    pub why_no_lines: Option<String>,
    /// Whether accesses to its lines were counted, in a build with -fsanitize=thread, whose times are not the
    /// program's.
    pub exact: bool,
    /// By how much its CPU time grows while its lines are looked for, as a share of it.
    pub recording: Option<Estimate>,
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
    /// The share of the CPU time that is not needed on one CPU, 0 to 1; below 0 if one CPU takes more. It holds lines
    /// that go back and forth, data that one CPU hands to another once, and what CPUs that work together lack in memory
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

/// A cache line that goes back and forth between threads, or several alike of one object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ShareLine {
    /// What lies there: a global's name, where memory was allocated, or a thread's stack.
    pub object: String,
    /// The object's size; `null` if that is not known.
    pub bytes: Option<u64>,
    /// Whether threads touch the same bytes of it.
    pub kind: ShareKind,
    /// How many threads touch it.
    pub threads: u64,
    /// How many lines of the object are alike.
    pub lines: u64,
    /// The source lines that touch it, the most frequent first: `server.c:140`, or a program's name and an address
    /// where there is no debugging information.
    pub at: Vec<String>,
    /// What threads do to it, by its bytes: of the first line if there are several.
    pub parts: Vec<SharePart>,
    /// The share of the program's CPU time that its instructions take more on several CPUs than on one; `null` if that
    /// cannot be told.
    pub cost_share: Option<Estimate>,
    /// Why that cannot be told; `null` if it can.
    pub why_not: Option<String>,
    /// What would end the sharing; `null` if nothing that coho knows of would.
    pub fix: Option<ShareFix>,
    /// Where its threads are nearer to each other; `null` if the program's CPUs are all as near, or it has no cost.
    pub placement: Option<SharePlacement>,
}

/// How threads share a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ShareKind {
    /// None touches a byte that another writes.
    False,
    /// They touch the same bytes.
    True,
    /// Some do, and others only the same line.
    Mixed,
    /// Not known.
    #[default]
    Unknown,
}

impl ShareKind {
    /// The name as it stands in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::False => "false",
            Self::True => "true",
            Self::Mixed => "mixed",
            Self::Unknown => "unknown",
        }
    }
}

/// Bytes of a line that instructions touch together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SharePart {
    /// The first of them, from the line's beginning.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// The field or global that they belong to; empty if that is not known.
    pub name: String,
    /// The threads that write them, numbered from 1 in the order of their first appearance.
    pub written_by: Vec<u64>,
    /// The threads that read them.
    pub read_by: Vec<u64>,
    /// How often each thread accesses them, if that was counted.
    pub counts: Vec<ShareCount>,
    /// The source line that touches them most often.
    pub at: String,
}

/// How often a thread accesses bytes, from when the line began to go back and forth. An atomic increment is a read and
/// a write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ShareCount {
    /// The thread's number.
    pub thread: u64,
    /// How often it reads them.
    pub reads: u64,
    /// How often it writes them.
    pub writes: u64,
}

/// A change that ends the sharing of a line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ShareFix {
    /// The change, as an instruction.
    pub what: String,
    /// The share of the CPU time that it saves; `null` if that is not known.
    pub saves: Option<Estimate>,
    /// Whether that was measured with the change in effect; a prediction otherwise.
    pub proved: bool,
    /// The changed declarations, as a diff of source files that were at hand, or else as debugging information has
    /// them; `null` if nothing of the kind is known.
    pub patch: Option<String>,
}

/// CPUs on which threads that share a line are nearer to each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SharePlacement {
    /// What they have in common: `L3`, `NUMA node`, …
    pub level: String,
    /// Such CPUs; if the program ran on them, in the order in which its threads take them.
    pub cpus: Vec<u32>,
    /// The share of the program's CPU time that the line costs less there; `null` if the program did not run there, as
    /// these CPUs are too few for all of its threads.
    pub saves: Option<Estimate>,
    /// The time that the program takes there, over that on all of its CPUs; `null` if it did not run there.
    pub times: Option<Estimate>,
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

const RECORDING: &[Column<Share>] = &[lower(
    "share.recording",
    "growth of a program's CPU time while its lines are looked for",
    "",
    |share| given(&share.recording),
)];

const LINES: &[Column<ShareLine>] = &[
    lower("share.line-cost", "share of a program's CPU time that a line costs", "", |line| {
        given(&line.cost_share)
    }),
    higher("share.line-saves", "share of the CPU time that a fix of a line saves", "", |line| {
        given(&line.fix.as_ref()?.saves)
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
        let command = || ("command", self.command.join(" "));
        all.rows(TOTAL, [(vec![command()], &self.total)]);
        all.rows(RECORDING, [(vec![command()], self)]);
        let lines = self.lines.iter().flatten();
        let line = |line: &ShareLine| {
            vec![command(), ("object", line.object.clone()), ("kind", line.kind.name().into())]
        };
        all.rows(LINES, lines.map(|one| (line(one), one)));
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

    #[test]
    fn lines_follow_the_schema_and_their_costs_are_figures() {
        let fix = ShareFix {
            what: "align `misses`".into(),
            saves: Some(Estimate::exact(0.2)),
            proved: true,
            patch: None,
        };
        let part = SharePart { bytes: 8, written_by: vec![1], ..SharePart::default() };
        let line = ShareLine {
            object: "stats".into(),
            kind: ShareKind::False,
            parts: vec![part],
            cost_share: Some(Estimate::exact(0.24)),
            fix: Some(fix),
            ..ShareLine::default()
        };
        let cannot = ShareLine { why_not: Some("its threads spin".into()), ..ShareLine::default() };
        let share =
            Share { command: vec!["./a".into()], lines: Some(vec![line, cannot]), ..Share::default() };
        let profile = Profile { share: Some(share), ..Profile::default() };
        let schema = serde_json::from_str(Profile::JSON_SCHEMA).unwrap();
        let value = serde_json::to_value(&profile).unwrap();
        jsonschema::validate(&schema, &value).unwrap();
        assert_eq!(value["share"]["lines"][0]["kind"], "false");
        assert!(
            value["share"]["lines"][1]["fix"].is_null() && value["share"]["lines"][1]["cost_share"].is_null()
        );
        assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
        let figures = profile.figures();
        let costs: Vec<_> =
            figures.iter().filter(|figure| figure.quantity.key.starts_with("share.line-")).collect();
        assert_eq!(costs.iter().map(|figure| figure.estimate.median).collect::<Vec<_>>(), [0.24, 0.2]);
        assert!(costs.iter().all(|figure| figure.parameter("object") == Some("stats")));
    }
}
