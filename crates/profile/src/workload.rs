//! What whole programs do under placements: section `workloads`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rest::keeps_unknown;
use crate::section::{
    Column, Figures, Parameters, Section, given, higher, lower, neither, parameters, single,
};
use crate::{Estimate, Method, unixbench};

/// System benchmarks by number of copies and placement (Kimoto).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, remote = "Self")]
#[cfg_attr(feature = "schema", schemars(!remote))]
pub struct Workloads {
    /// How it was measured; compiler and flags of the programs stand in its parameters.
    pub method: Method,
    /// A row for each test, placement, class of pair and number of copies.
    pub results: Vec<WorkloadResult>,
    /// What the tests with an index come to together.
    pub scores: Vec<Score>,
    /// Kernels on two CPUs at once: what sharing a core, a floating-point unit or a cache costs them.
    pub sharing: Vec<SharedKernel>,
    /// Another build of the tests, run in turn with ours.
    pub peers: Vec<WorkloadPeer>,
    /// The clock of the CPUs that were looked at, during the samples.
    pub clock: Vec<ClockPoint>,
    /// The CPU's temperature, during the samples; empty where no sensor is.
    pub temperature: Vec<TemperaturePoint>,
    /// The same tests while idle states were forbidden, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_idle: Option<WithoutIdle>,
    /// Fields of later versions.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub unknown: BTreeMap<String, Value>,
}

keeps_unknown!(Workloads);

impl Workloads {
    /// Fills the tests' indices, and the score of each placement and number of copies with more than one of them.
    pub fn score(&mut self) {
        self.scores = Score::all(&mut self.results);
        if let Some(without) = &mut self.without_idle {
            without.scores = Score::all(&mut without.results);
        }
    }
}

impl Score {
    fn all(results: &mut [WorkloadResult]) -> Vec<Self> {
        let mut indices: Vec<(String, u32, Vec<f64>)> = Vec::new();
        for row in results {
            let test = unixbench::by_name(&row.test);
            row.index = test.zip(row.value.as_ref()).map(|(test, value)| test.index(value.median));
            let Some(index) = row.index else { continue };
            let same = |(placement, copies, _): &&mut (String, u32, _)| {
                (placement.as_str(), *copies) == (row.placement.as_str(), row.copies)
            };
            match indices.iter_mut().find(same) {
                Some((.., indices)) => indices.push(index),
                None => indices.push((row.placement.clone(), row.copies, vec![index])),
            }
        }
        let score = |(placement, copies, indices): (String, u32, Vec<f64>)| {
            let tests = indices.len() as u32;
            Some(Self { placement, copies, index: unixbench::score(indices)?, tests })
        };
        let several = indices.into_iter().filter(|(.., indices)| indices.len() > 1);
        several.filter_map(score).collect()
    }
}

/// What one test did under one placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorkloadResult {
    /// `dhrystone2`, `pipe_context_switching`, …, `kernel_build`; UnixBench's twelve by the names of
    /// [`unixbench::TESTS`](crate::unixbench::TESTS).
    pub test: String,
    /// Where the copies ran: `compact`, `spread`, a level (`l2`, `package`), or `none` where the scheduler chose.
    pub placement: String,
    /// For programs of two processes, how near their CPUs were: `same CPU`, `core`, `L2`, `L3`, `system`, …
    pub pair_class: Option<String>,
    /// Copies that ran at once.
    pub copies: u32,
    /// The result in `unit`: of all copies together, as UnixBench counts them.
    pub value: Option<Estimate>,
    /// `lps` (loops a second), `lpm` (loops a minute), `KBps`, `MWIPS`, `s`.
    pub unit: String,
    /// UnixBench's index of the result's median: ten times the result over its baseline.
    pub index: Option<f64>,
    /// CPUs that the copies were seen on.
    pub cpus: Vec<u32>,
    /// Effective clock of those CPUs meanwhile, in GHz.
    pub clock_ghz: Option<Estimate>,
    /// The CPU's temperature meanwhile, in degrees Celsius: of the hottest sensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<Estimate>,
    /// For which share of the time those CPUs were asked to be in each idle state meanwhile, by its name, 0 to 1: mean over
    /// CPUs and samples.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idle_share: BTreeMap<String, f64>,
    /// Time that the hypervisor took away from those CPUs meanwhile, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_s: Option<f64>,
    /// Share of the time in which a task waited for a CPU (pressure stall information, `some`), 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_cpu_some: Option<f64>,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// Tests while idle states were forbidden. Each sample stands beside one of the same test with all states allowed, right
/// before or after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WithoutIdle {
    /// Names of the states, as in `C6`.
    pub states: Vec<String>,
    /// Whether it had an effect, as in [`IdleControl::status`](crate::IdleControl::status).
    pub status: String,
    /// As [`Workloads::results`], which holds the samples with all states allowed.
    pub results: Vec<WorkloadResult>,
    /// As [`Workloads::scores`].
    pub scores: Vec<Score>,
    /// How much faster the tests became.
    pub gains: Vec<IdleGain>,
}

/// A test's speed while idle states were forbidden over that while they were allowed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IdleGain {
    /// As in [`WorkloadResult::test`].
    pub test: String,
    /// As in [`WorkloadResult::placement`].
    pub placement: String,
    /// As in [`WorkloadResult::pair_class`].
    pub pair_class: Option<String>,
    /// Copies that ran at once.
    pub copies: u32,
    /// The ratio, pass by pass: above 1 where the test is faster while the states are forbidden.
    pub speed: Option<Estimate>,
}

/// UnixBench's score of one placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Score {
    /// As in [`WorkloadResult::placement`].
    pub placement: String,
    /// Copies that ran at once.
    pub copies: u32,
    /// The geometric mean of the tests' indices.
    pub index: f64,
    /// How many tests it is the mean of; scores of different tests are not comparable.
    pub tests: u32,
}

/// A kernel on the two CPUs of a pair, alone and together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SharedKernel {
    /// `integer`, `floating-point` or `cache-resident`.
    pub kernel: String,
    /// As in [`WorkloadResult::pair_class`].
    pub pair_class: String,
    /// The pairs that were measured.
    pub pairs: Vec<[u32; 2]>,
    /// Steps of one CPU while the other idles, in 10^9 a second.
    pub alone_per_ns: Option<Estimate>,
    /// Steps of one CPU while the other runs the same kernel, in 10^9 a second.
    pub together_per_ns: Option<Estimate>,
    /// Together over alone, pass by pass: 1 where nothing is shared, 0.5 where all is.
    pub ratio: Option<Estimate>,
}

/// A test of another build beside ours, run in turn on one CPU. Both results are by the time that passed, as each program
/// counts it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorkloadPeer {
    /// As in [`WorkloadResult::test`].
    pub test: String,
    /// Its result.
    pub value: Option<Estimate>,
    /// Ours in the same passes.
    pub ours: Option<Estimate>,
    /// Theirs over ours, pass by pass: the median.
    pub ratio: Option<f64>,
    /// How far the ratio may be from 1: 0.03, or twice the median absolute deviation if that is more.
    pub tolerance: Option<f64>,
    /// Whether it is within; `null` where it is not, but may be by its interval.
    pub agrees: Option<bool>,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_available: Option<String>,
}

/// The effective clock of a CPU at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClockPoint {
    /// Seconds from the start.
    pub at_s: f64,
    /// The CPU.
    pub cpu: u32,
    /// Its clock, in GHz.
    pub ghz: f64,
}

/// The CPU's temperature at a moment: of the hottest sensor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TemperaturePoint {
    /// Seconds from the start.
    pub at_s: f64,
    /// Degrees Celsius.
    pub celsius: f64,
}

/// Each unit is a quantity of its own.
const RESULTS: &[Column<WorkloadResult>] = &[
    higher("workloads.loops-per-s", "loops of a test a second", "lps", |row| row.value_in("lps")),
    higher("workloads.loops-per-min", "loops of a test a minute", "lpm", |row| row.value_in("lpm")),
    higher("workloads.rate", "data that a test moves", "KBps", |row| row.value_in("KBps")),
    higher("workloads.whetstones", "Whetstone instructions", "MWIPS", |row| row.value_in("MWIPS")),
    lower("workloads.time", "time of a test", "s", |row| row.value_in("s")),
    higher("workloads.index", "UnixBench's index of a test", "", |row| single(row.index)),
    neither("workloads.clock", "clock of the CPUs that a test ran on", "GHz", |row| given(&row.clock_ghz)),
    neither("workloads.temperature", "temperature of the CPU during a test", "°C", |row| {
        given(&row.celsius)
    }),
    lower("workloads.steal", "time that the hypervisor took meanwhile", "s", |row| single(row.steal_s)),
    lower("workloads.waited", "share of the time in which a task waited for a CPU", "", |row| {
        single(row.psi_cpu_some)
    }),
];
const SCORES: &[Column<Score>] =
    &[higher("workloads.score", "geometric mean of the tests' indices", "", |score| {
        single(Some(score.index))
    })];
const SHARING: &[Column<SharedKernel>] = &[
    higher("workloads.sharing.alone", "steps of a kernel on one CPU of a pair", "1/ns", |row| {
        given(&row.alone_per_ns)
    }),
    higher("workloads.sharing.together", "the same while the other CPU runs it too", "1/ns", |row| {
        given(&row.together_per_ns)
    }),
    higher("workloads.sharing.ratio", "steps together over steps alone", "", |row| given(&row.ratio)),
];
const PEERS: &[Column<WorkloadPeer>] =
    &[neither("workloads.peer.over-ours", "another build's result over coho's", "", |peer| {
        single(peer.ratio)
    })];
const GAINS: &[Column<IdleGain>] =
    &[higher("workloads.without-idle.speed", "speed with idle states forbidden over allowed", "", |gain| {
        given(&gain.speed)
    })];

impl WorkloadResult {
    /// The result, if it is in that unit.
    fn value_in(&self, unit: &str) -> Option<Cow<'_, Estimate>> {
        given(&self.value).filter(|_| self.unit == unit)
    }
}

impl Section for Workloads {
    fn method(&self) -> Option<&Method> {
        Some(&self.method)
    }

    fn figures<'a>(&'a self, all: &mut Figures<'a>) {
        // Rows, and in what they were measured if idle states were forbidden.
        let without = || self.without_idle.iter();
        let states = |all: &WithoutIdle| all.states.join(", ");
        let under = |mut of: Parameters, states: String| {
            of.push(("without", states));
            of
        };
        let set = without().flat_map(|all| all.results.iter().map(move |row| (states(all), row)));
        let rows = self.results.iter().map(|row| (String::new(), row)).chain(set);
        let of = |row: &WorkloadResult| parameters![row; test, placement, pair_class, copies];
        all.rows(RESULTS, rows.map(|(states, row)| (under(of(row), states), row)));
        let set = without().flat_map(|all| all.scores.iter().map(move |row| (states(all), row)));
        let rows = self.scores.iter().map(|row| (String::new(), row)).chain(set);
        let of = |row: &Score| parameters![row; placement, copies, tests];
        all.rows(SCORES, rows.map(|(states, row)| (under(of(row), states), row)));
        all.rows(SHARING, self.sharing.iter().map(|row| (parameters![row; kernel, pair_class], row)));
        all.rows(PEERS, self.peers.iter().map(|peer| (parameters![peer; test], peer)));
        let rows = without().flat_map(|all| all.gains.iter().map(move |row| (states(all), row)));
        let of = |row: &IdleGain| parameters![row; test, placement, pair_class, copies];
        all.rows(GAINS, rows.map(|(states, row)| (under(of(row), states), row)));
    }
}
