//! Which placement suits which command: section `run`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{Column, Figures, Section, always, given, higher, lower, neither};
use crate::{Estimate, Method};

/// Measured choices to act on later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Runs {
    /// The latest trial of each command, by its whole line or the name that the user gave it.
    pub commands: BTreeMap<String, Trial>,
    /// The latest live run of each command, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub live: BTreeMap<String, Live>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Runs);

/// A command run under several placements in turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Trial {
    /// How it was measured.
    pub method: Method,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// CPUs that the process was allowed; with others, another choice may be right.
    pub allowed_cpus: Vec<u32>,
    /// The folder that it ran in; absent if the user gave it a name of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The programs and scripts that the command names: once one has changed, `coho run --place auto` tries anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<TriedFile>,
    /// When, as in `2026-11-21T21:30:00Z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The result of each placement, in the order in which they were named.
    pub placements: Vec<PlacementTime>,
    /// The placement with the smallest median time.
    pub best: Option<String>,
    /// The placements that no other beats beyond chance; of those on the same CPUs, the first. `coho run --place
    /// auto` switches to one of these, and only if the placement in use is not among them. Empty if
    /// no round was finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub winners: Vec<String>,
    /// Whether the best is quicker than each other placement beyond what chance explains. If not, nothing is
    /// better than what the scheduler does, whatever `best` names.
    pub decided: bool,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Trial);

/// A program or script, as it was when a command was tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TriedFile {
    /// Its path, without links.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last written, in ns since 1970.
    pub modified_ns: u64,
}

/// A command's time under one placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlacementTime {
    /// `compact`, `spread`, `none`, a level (`smt`, `l3`) or CPUs (`0-3`).
    pub name: String,
    /// The CPUs that the name stood for.
    pub cpus: Vec<u32>,
    /// Another placement with the same CPUs, measured for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// Time from start to end, in seconds.
    pub seconds: Option<Estimate>,
    /// Its time over the best one's, round by round; `null` for the best itself.
    pub times_best: Option<Estimate>,
    /// What happened during a run: `cpu_seconds`, `voluntary_switches`, `involuntary_switches`, `migrations`,
    /// `l2_misses`, `l3_misses`, `clock_ghz`. The method gives the reason for what could not be counted.
    pub counters: BTreeMap<String, Estimate>,
}

/// A long-running command whose placements were compared while it ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Live {
    /// How it was measured.
    pub method: Method,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// CPUs that the process was allowed.
    pub allowed_cpus: Vec<u32>,
    /// When, as in `2026-11-21T21:30:00Z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// What counted as progress: `instructions`, or the expression that picks a rate out of what the program
    /// prints.
    pub progress: String,
    /// The latest comparisons, in the order of time.
    pub examinations: Vec<Examination>,
    /// Where the command ran in the end; `null` if it ended before anything was settled.
    pub best: Option<String>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Live);

/// One comparison of placements of a running command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Examination {
    /// When it began, in seconds after the command's start.
    pub at_s: f64,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// Rounds in which each placement still under comparison had one period.
    pub rounds: u64,
    /// The result of each placement, in the order in which they were named.
    pub placements: Vec<PlacementRate>,
    /// The placement chosen.
    pub best: String,
    /// Whether progress under it is quicker than under each other placement beyond what chance explains.
    pub decided: bool,
}

/// A command's progress under one placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlacementRate {
    /// `compact`, `spread`, `none`, a level (`smt`, `l3`) or CPUs (`0-3`).
    pub name: String,
    /// The CPUs that the name stood for.
    pub cpus: Vec<u32>,
    /// Another placement with the same CPUs, measured for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// User-mode instructions per second, or the rate that the program printed.
    pub rate: Option<Estimate>,
    /// The chosen placement's rate over this one's, round by round; `null` for the chosen one itself.
    pub best_times: Option<Estimate>,
}

const PLACEMENTS: &[Column<PlacementTime>] = &[
    lower("run.time", "a command under a placement", "s", |one| given(&one.seconds)),
    lower("run.times-best", "the same over the best placement", "", |one| given(&one.times_best)),
];
const COUNTERS: &[Column<Estimate>] =
    &[neither("run.counter", "what a command met under a placement", "", always)];
const RATES: &[Column<PlacementRate>] = &[
    higher("run.rate", "a running command's progress under a placement", "1/s", |one| given(&one.rate)),
    lower("run.rate.best-times", "the chosen placement's progress over this one's", "", |one| {
        given(&one.best_times)
    }),
];

impl Section for Runs {
    fn cpus(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let trials = self.commands.values().flat_map(|trial| {
            trial.placements.iter().flat_map(|placement| &placement.cpus).chain(&trial.allowed_cpus)
        });
        Box::new(trials.chain(self.live.values().flat_map(|live| &live.allowed_cpus)).copied())
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        let of = |command: &String, placement: &String| {
            vec![("command", command.clone()), ("placement", placement.clone())]
        };
        let placements = || {
            let trials = self.commands.iter();
            trials.flat_map(|(command, trial)| trial.placements.iter().map(move |one| (command, one)))
        };
        all.rows(PLACEMENTS, placements().map(|(command, one)| (of(command, &one.name), one)));
        let counters = placements().flat_map(|(command, one)| {
            let counter = move |(name, count): (&String, &'a Estimate)| {
                ([of(command, &one.name), vec![("counter", name.clone())]].concat(), count)
            };
            one.counters.iter().map(counter)
        });
        all.rows(COUNTERS, counters);
        let rates = self.live.iter().flat_map(|(command, live)| {
            live.examinations.iter().flat_map(move |examination| {
                let at_s = vec![("at_s", examination.at_s.to_string())];
                let rate =
                    move |one: &'a PlacementRate| ([of(command, &one.name), at_s.clone()].concat(), one);
                examination.placements.iter().map(rate)
            })
        });
        all.rows(RATES, rates);
    }
}
