//! Compares the simulator with what was measured under forced placements on a machine: programs restricted to one
//! CPU, and to two.
//!
//! The time that a program computes is fitted to its own row on one CPU, so that row is no prediction. The effect of
//! two CPUs is: no measurement there influences it. The simulator places by ULE's rules where it may choose, the
//! machine by its own kernel's.

use coho_profile::{Estimate, Ns, Profile, WorkloadResult, Workloads};
use coho_topology::freebsd::{Flag, Group, Spec};
use coho_topology::{Level, Topology};
use fastrand::Rng;
use serde::Serialize;

use super::costs::{Cost, Costs};
use super::engine::simulate;
use super::machine::Machine;
use super::predict::Range;
use super::program::Programs;
use super::tree::Tree;
use super::workload::{Forced, Lengths};
use crate::{Error, json};

/// A program on one CPU and on two.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "Row")]
pub struct Check {
    /// The test, as in profiles.
    pub test: &'static str,
    /// Its rate restricted to one CPU, in its unit: what its lengths are fitted to.
    pub one: Estimate,
    /// Its rate restricted to two; the processes of a pair are restricted to one each.
    pub two: Estimate,
    /// Two over one, as measured: of the medians, with what their intervals allow.
    pub measured: Range,
    /// Two over one, as predicted: 90 % of all runs, the upper end at most twice the lower.
    pub predicted: Range,
}

impl Check {
    /// The prediction's error, as a share of the measured ratio.
    pub fn error(&self) -> f64 {
        self.predicted.median / self.measured.median - 1.0
    }

    /// Whether the measured ratio may be one of the predicted ones.
    pub fn agrees(&self) -> bool {
        self.predicted.low <= self.measured.high && self.measured.low <= self.predicted.high
    }
}

/// A check in JSON.
#[derive(Serialize)]
struct Row {
    test: &'static str,
    fitted_on_one_cpu: Estimate,
    measured_on_two_cpus: Estimate,
    measured_ratio: Range,
    predicted_ratio: Range,
    error: f64,
    agrees: bool,
}

impl From<Check> for Row {
    fn from(check: Check) -> Self {
        Self {
            test: check.test,
            measured_ratio: check.measured,
            predicted_ratio: check.predicted,
            error: check.error(),
            agrees: check.agrees(),
            fitted_on_one_cpu: check.one,
            measured_on_two_cpus: check.two,
        }
    }
}

/// All programs that a profile has on one CPU and on two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// The two CPUs.
    pub cpus: [u32; 2],
    /// In the order of the tests.
    #[serde(rename = "rows")]
    pub checks: Vec<Check>,
    /// The costs in the simulation, some of them measured.
    pub costs: Costs,
    /// The share of all CPUs that other work took when the programs began, 0 to 1, where it is known.
    #[serde(rename = "busy_before")]
    pub busy: Option<f64>,
    /// Why other tests are missing, by test.
    #[serde(serialize_with = "json::by_name")]
    pub not_available: Vec<(&'static str, String)>,
}

/// Why the simulator is not compared with a machine's own programs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unchecked {
    /// There is no profile of the machine.
    #[error(
        "no figure of programs on forced placements; `coho predict placement PROFILE --check` checks against yours"
    )]
    NoProfile,
    /// The profile lacks what the comparison needs.
    #[error(transparent)]
    Profile(#[from] Error),
}

/// The fewest pieces of work that a run simulates, and its shortest and longest time.
const PIECES: f64 = 40.0;
const SHORTEST: Ns = Ns::MS;
const LONGEST: Ns = Ns::of_s(4.0);

/// The most that a prediction's upper end may be over its lower end. A wider prediction says too little and is withheld.
const WIDEST: f64 = 2.0;

/// Predicts what two CPUs do to the programs of a profile that were restricted to one CPU and to two, by `runs` runs,
/// each with its own costs drawn from their ranges. Uses `costs`, except where the profile has measured them
/// ([`Costs::measured`]).
///
/// # Errors
/// If the profile has no topology, or no program on two CPUs.
pub fn check(profile: &Profile, costs: &Costs, runs: u32, seed: u64) -> Result<Checked, Error> {
    let topology =
        &profile.topology.as_ref().ok_or_else(|| Error::new("the profile has no topology"))?.topology;
    let none = "it has no programs on forced placements; `coho bench` measures them";
    let workloads = profile.workloads.as_ref().ok_or_else(|| Error::new(none))?;
    let [a, b] = two_cpus(workloads).ok_or_else(|| Error::new(none))?;
    let costs = costs.clone().measured(profile, a, b);
    let machines = [vec![a], vec![a, b]]
        .map(|cpus| (Machine::new(topology, &cpus, profile.coherence.as_ref()), tree(topology, &cpus)));
    let (mut checks, mut not_available) = (Vec::new(), Vec::new());
    for forced in Forced::ALL {
        let test = forced.test();
        match rows(workloads, forced) {
            Ok((one, two)) => match predicted(forced, one, &machines, &costs, workloads, runs, seed) {
                Ok(predicted) => {
                    let measured = Range {
                        median: two.median / one.median,
                        low: two.low / one.high,
                        high: two.high / one.low,
                    };
                    checks.push(Check { test, one: one.clone(), two: two.clone(), measured, predicted });
                }
                Err(why) => not_available.push((test, why.to_string())),
            },
            Err(why) => not_available.push((test, why)),
        }
    }
    let busy = workloads.method.parameters.get("busy_before").and_then(|busy| busy.as_f64());
    Ok(Checked { checks, cpus: [a, b], costs, busy, not_available })
}

fn is_one_cpu(row: &WorkloadResult) -> bool {
    match &row.pair_class {
        Some(class) => class == "same CPU",
        None => row.placement == "compact" || row.placement == "one CPU",
    }
}

/// Restricted to two CPUs: as one mask or, for a pair, to the two CPUs that are spread.
fn is_two_cpus(row: &WorkloadResult) -> bool {
    match &row.pair_class {
        Some(class) => class != "same CPU" && row.placement == "spread",
        None => row.placement == "two CPUs",
    }
}

/// The CPUs of the programs on two: those of a pair, which are observed, or else any that were.
fn two_cpus(workloads: &Workloads) -> Option<[u32; 2]> {
    let rows = || workloads.results.iter().filter(|row| row.copies == 1 && is_two_cpus(row));
    let pairs = rows().filter(|row| row.pair_class.is_some()).chain(rows());
    pairs.into_iter().find_map(|row| <[u32; 2]>::try_from(&row.cpus[..]).ok())
}

fn rows(workloads: &Workloads, forced: Forced) -> Result<(&Estimate, &Estimate), String> {
    let find = |is: fn(&WorkloadResult) -> bool, what: &str| {
        let mut rows = workloads.results.iter().filter(|row| row.copies == 1 && row.test == forced.test());
        let row = rows.find(|row| is(row)).ok_or_else(|| format!("not measured on {what}"))?;
        let value = row.value.as_ref().filter(|value| value.median > 0.0 && value.low > 0.0);
        value.ok_or_else(|| row.not_available.clone().unwrap_or_else(|| format!("no figure on {what}")))
    };
    Ok((find(is_one_cpu, "one CPU")?, find(is_two_cpus, "two CPUs")?))
}

/// What a kernel that believes the topology makes of these CPUs.
fn tree(topology: &Topology, cpus: &[u32]) -> Tree {
    let shared = match cpus {
        [a, b] => topology.closest_shared(*a, *b),
        _ => None,
    };
    let cache_level = match shared {
        Some(Level::Core | Level::L1) => 1,
        Some(Level::L2 | Level::Module) => 2,
        Some(Level::L3) => 3,
        _ => 0,
    };
    let flags = if shared == Some(Level::Core) { vec![Flag::Thread, Flag::Smt] } else { vec![] };
    Tree::new(&Spec {
        root: Group { cache_level, cpus: cpus.iter().copied().collect(), flags, children: vec![] },
    })
}

fn predicted(
    forced: Forced,
    one: &Estimate,
    machines: &[(Machine, Tree); 2],
    costs: &Costs,
    workloads: &Workloads,
    runs: u32,
    seed: u64,
) -> Result<Range, Error> {
    let piece = Ns::of_s(forced.unit_s()) / one.median;
    let call = pipe_call(workloads);
    let mut ratios = Vec::new();
    for run in 0..runs {
        let mut rng = Rng::with_seed(seed.wrapping_add(u64::from(run) << 32));
        let costs = costs.drawn(&mut rng);
        let seed = rng.u64(..);
        let lengths = lengths(forced, piece, call, &costs)?;
        let rate = |(at, (machine, tree)): (usize, &(Machine, Tree))| {
            let programs: Programs = forced.programs(&lengths, at + 1);
            let counted = (PIECES * piece).min(LONGEST);
            let course = super::engine::Course {
                // An idle CPU begins to spin once it has switched for a while.
                warm_up_ns: (counted / 2.0).max(SHORTEST).0 as u64,
                counted_ns: counted.max(SHORTEST).0 as u64,
            };
            let stats = simulate(machine, tree, &programs, &costs, course, seed);
            (stats.work > 0).then(|| stats.work as f64 / stats.work_ns as f64)
        };
        let [one, two] = [0, 1].map(|at| rate((at, &machines[at])));
        ratios.extend(one.zip(two).map(|(one, two)| two / one));
    }
    let range = Range::ninety_percent(ratios)
        .ok_or_else(|| Error::new("no run of the simulator finished anything"))?;
    let Range { low, high, .. } = range;
    if high > WIDEST * low {
        let why = format!(
            "withheld: 90 % of the runs lie between {low:.2} and {high:.2}, more than {WIDEST} times apart, as they rest on costs \
             that were not measured"
        );
        return Err(Error::new(why));
    }
    Ok(range)
}

/// Half of a loop of pipe throughput on one CPU.
fn pipe_call(workloads: &Workloads) -> Option<Ns> {
    rows(workloads, Forced::PipeThroughput).ok().map(|(one, _)| Ns::of_s(1.0) / one.median / 2.0)
}

/// How long a program computes so that, with the cost of its switches, it takes its measured time on one CPU.
fn lengths(forced: Forced, piece: Ns, call: Option<Ns>, costs: &Costs) -> Result<Lengths, Error> {
    // One task wakes another and leaves it the CPU.
    let handover = costs.time(Cost::Wake) + costs.time(Cost::Switch);
    let article = Lengths::default();
    let left = |time: Ns, what: &str| match time > Ns::ZERO {
        true => Ok(time),
        false => Err(Error::new(format!("on one CPU it takes less than {what}"))),
    };
    Ok(match forced {
        Forced::PipePair => match call {
            Some(pipe_call) => Lengths { pipe_call, ..article },
            None => Lengths { pipe_call: left((piece - 2.0 * handover) / 4.0, "its switches")?, ..article },
        },
        Forced::PipeThroughput => Lengths { pipe_call: piece / 2.0, ..article },
        Forced::Execl => Lengths { exec: piece, ..article },
        Forced::ProcessCreation => {
            let both = left(piece - 2.0 * handover, "its switches")?;
            let fork = both * article.fork.0 / (article.fork + article.exit).0;
            Lengths { fork, exit: both - fork, ..article }
        }
        Forced::Shell8 => {
            // Each of 8 scripts is forked, computes as long as one tool, and forks five, which end.
            let (scripts, forks, ends, tools) = (8.0, 6.0, 5.0, 6.0);
            let fixed = forks * (article.fork + 2.0 * handover) + ends * article.exit;
            Lengths { tool: left((piece / scripts - fixed) / tools, "its forks")?, ..article }
        }
    })
}

#[cfg(test)]
mod tests {
    use coho_profile::{TopologySection, published};
    use coho_topology::cpuid;

    use super::*;

    fn row(test: &str, placement: &str, class: Option<&str>, cpus: &[u32], value: f64) -> WorkloadResult {
        WorkloadResult {
            test: test.into(),
            placement: placement.into(),
            pair_class: class.map(Into::into),
            copies: 1,
            cpus: cpus.into(),
            value: Some(Estimate { low: 0.98 * value, high: 1.02 * value, n: 9, ..Estimate::exact(value) }),
            ..WorkloadResult::default()
        }
    }

    fn profile(rows: Vec<WorkloadResult>) -> Profile {
        let topology = cpuid::decode(&published::paper("kimoto-bulldozer").cpuid()).unwrap();
        Profile {
            topology: Some(TopologySection::from(topology)),
            workloads: Some(Workloads { results: rows, ..Workloads::default() }),
            ..Profile::default()
        }
    }

    #[test]
    fn a_pair_is_slowed_by_far_lines_and_a_job_quickened_by_a_second_cpu() {
        let pair = "pipe_context_switching";
        let rows = vec![
            row("pipe_throughput", "compact", None, &[0], 1e6),
            row("pipe_throughput", "two CPUs", None, &[0], 1e6),
            row(pair, "compact", Some("same CPU"), &[0], 2.5e5),
            row(pair, "spread", Some("system"), &[0, 2], 1e5),
            row("shell_8", "compact", None, &[0], 1000.0),
            row("shell_8", "two CPUs", None, &[0, 2], 1800.0),
        ];
        let found = check(&profile(rows), &Costs::default(), 8, 1).unwrap();
        assert_eq!(found.cpus, [0, 2]);
        let of = |test: &str| found.checks.iter().find(|check| check.test == test).unwrap();
        // Nothing places a single process.
        let alone = of("pipe_throughput").predicted;
        assert!(alone.low > 0.9 && alone.high < 1.1, "{alone:?}");
        // 4 us per round on one CPU, of which 2 us are calls; lines of 291 ns and idle exits are added.
        let pair = of(pair);
        assert!(pair.predicted.high < 1.3 && pair.predicted.low > 0.1, "{pair:?}");
        let job = of("shell_8");
        assert!((1.5..2.1).contains(&job.predicted.median), "{job:?}");
        assert!(
            found.not_available.iter().any(|(test, why)| *test == "execl" && why.contains("not measured"))
        );
        // The cost of switches was measured on one CPU.
        let cost = |name: &str| found.costs.all().iter().find(|cost| cost.name == name).unwrap().clone();
        let (wake, switch) = (cost("wake_ns"), cost("switch_ns"));
        assert!((wake.value + switch.value - 1000.0).abs() < 1e-6, "{wake:?} {switch:?}");
        assert!(wake.source.starts_with("measured") && cost("l3_line_ns").source.starts_with("assumed"));
    }

    #[test]
    fn rows_of_one_cpu_are_fitted_and_those_of_two_have_no_part_in_it() {
        let rows = |two: f64| {
            vec![
                row("process_creation", "compact", None, &[0], 6000.0),
                row("process_creation", "two CPUs", None, &[0, 1], two),
            ]
        };
        let found = |two| check(&profile(rows(two)), &Costs::default(), 4, 1).unwrap().checks.remove(0);
        let (one, other) = (found(3000.0), found(9000.0));
        assert_eq!(one.predicted, other.predicted);
        assert!(one.agrees() != other.agrees() || !one.agrees(), "{one:?} {other:?}");
        assert!((one.error() - (one.predicted.median / 0.5 - 1.0)).abs() < 1e-9);
    }

    #[test]
    fn without_forced_placements_nothing_is_pretended() {
        assert!(check(&Profile::default(), &Costs::default(), 4, 1).is_err());
        let free = vec![row("execl", "none", None, &[0, 1], 1.0)];
        assert!(
            check(&profile(free), &Costs::default(), 4, 1).unwrap_err().to_string().contains("coho bench")
        );
    }
}
