//! Predictions beside what was measured on the same machine.

use coho_profile::{Estimate, Profile};

use super::predict::predict;
use super::{Algorithm, Machine, Mapping, Prediction, predict_fork_join};
use crate::Error;

/// A barrier, or a fork and join, measured and predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// `barrier` or `fork-join`.
    pub operation: &'static str,
    /// The algorithm, as the profile names it.
    pub algorithm: String,
    /// Where its flags lie, as the profile names it.
    pub layout: String,
    /// Threads that took part.
    pub threads: u32,
    /// Which CPUs they ran on.
    pub mapping: Mapping,
    /// The measured time, in ns.
    pub measured: Estimate,
    /// The predicted time, in ns.
    pub predicted_ns: f64,
}

impl Check {
    /// The prediction's error, as a share of the measured time.
    pub fn error(&self) -> f64 {
        self.predicted_ns / self.measured.median - 1.0
    }
}

/// Every time in the profile's section `sync` that the model has the like of, beside the prediction of a machine made
/// from the same profile. A fork and join by two barriers is predicted as twice the barrier's time.
///
/// Not predicted: a mutex, whose waiting threads the kernel puts to sleep; tournaments of more than four threads, whose
/// pairings are not those of the model; teams that share CPUs.
///
/// # Errors
/// If the barriers were measured on other CPUs than the machine's.
pub fn check(machine: &Machine, profile: &Profile) -> Result<Vec<Check>, Error> {
    let Some(sync) = &profile.sync else { return Ok(Vec::new()) };
    if let Some(cpus) = sync.method.parameters.get("cpus").and_then(|cpus| cpus.as_array()) {
        let mut cpus: Vec<u32> = cpus.iter().filter_map(|cpu| cpu.as_u64()?.try_into().ok()).collect();
        let mut known = machine.cpus().to_vec();
        cpus.sort_unstable();
        known.sort_unstable();
        if cpus != known {
            return Err(Error::new("the barriers were measured on other CPUs than the times between them"));
        }
    }
    let mut teams = Teams { machine, known: Vec::new() };
    let mut checks = Vec::new();
    for row in &sync.barriers {
        let Some((mapping, measured)) = comparable(machine, &row.mapping, row.threads, row.ns.as_ref())
        else {
            continue;
        };
        let like = modelled(&row.algorithm, &row.layout, row.threads);
        let Some(predicted_ns) = like.and_then(|like| teams.barrier(like, row.threads, mapping)) else {
            continue;
        };
        checks.push(Check {
            operation: "barrier",
            algorithm: row.algorithm.clone(),
            layout: row.layout.clone(),
            threads: row.threads,
            mapping,
            measured,
            predicted_ns,
        });
    }
    for row in &sync.fork_join {
        let Some((mapping, measured)) = comparable(machine, &row.mapping, row.threads, row.total_ns.as_ref())
        else {
            continue;
        };
        let predicted_ns = match row.algorithm.as_str() {
            "team" => teams.fork_join(Algorithm::Fbs, row.threads, mapping),
            "fbs-one-line" => teams.barrier(Algorithm::FbsOneLine, row.threads, mapping).map(|ns| 2.0 * ns),
            other => modelled(other, "", row.threads)
                .and_then(|like| Some(2.0 * teams.barrier(like, row.threads, mapping)?)),
        };
        let Some(predicted_ns) = predicted_ns else { continue };
        checks.push(Check {
            operation: "fork-join",
            algorithm: row.algorithm.clone(),
            layout: String::new(),
            threads: row.threads,
            mapping,
            measured,
            predicted_ns,
        });
    }
    Ok(checks)
}

/// The model's algorithm behind a profile's name.
fn modelled(algorithm: &str, layout: &str, threads: u32) -> Option<Algorithm> {
    Some(match algorithm {
        "fbs" if layout == Algorithm::FbsOneLine.layout() => Algorithm::FbsOneLine,
        "fbs" => Algorithm::Fbs,
        "spin-lock" => Algorithm::Lock,
        "central" => Algorithm::Central,
        "dissemination-2" => Algorithm::Dissemination,
        // Up to four threads the champion meets all others itself, as a tree's root does.
        "tournament-4" if threads <= 4 => Algorithm::Tree,
        "grid" => Algorithm::Grid,
        "hierarchical" => Algorithm::Hierarchical,
        _ => return None,
    })
}

/// The mapping and time of a measured team, if each of its threads had a CPU of the machine.
fn comparable(
    machine: &Machine,
    mapping: &str,
    threads: u32,
    measured: Option<&Estimate>,
) -> Option<(Mapping, Estimate)> {
    let measured = measured.filter(|estimate| estimate.median.is_finite() && estimate.median > 0.0)?;
    (2..=machine.len()).contains(&(threads as usize)).then_some((mapping.parse().ok()?, measured.clone()))
}

/// Predictions by team, each made once.
struct Teams<'a> {
    machine: &'a Machine,
    known: Vec<Team>,
}

struct Team {
    threads: u32,
    mapping: Mapping,
    barriers: Vec<Prediction>,
    fork_joins: Vec<Prediction>,
}

impl Teams<'_> {
    fn barrier(&mut self, algorithm: Algorithm, threads: u32, mapping: Mapping) -> Option<f64> {
        of(&self.team(threads, mapping)?.barriers, algorithm)
    }

    fn fork_join(&mut self, algorithm: Algorithm, threads: u32, mapping: Mapping) -> Option<f64> {
        of(&self.team(threads, mapping)?.fork_joins, algorithm)
    }

    fn team(&mut self, threads: u32, mapping: Mapping) -> Option<&Team> {
        let at = match self.known.iter().position(|team| team.threads == threads && team.mapping == mapping) {
            Some(at) => at,
            None => {
                let n = threads as usize;
                let barriers = predict(self.machine, n, mapping).ok()?;
                let fork_joins = predict_fork_join(self.machine, n, mapping).ok()?;
                self.known.push(Team { threads, mapping, barriers, fork_joins });
                self.known.len() - 1
            }
        };
        self.known.get(at)
    }
}

fn of(predictions: &[Prediction], algorithm: Algorithm) -> Option<f64> {
    predictions.iter().find(|prediction| prediction.algorithm == algorithm).map(|prediction| prediction.ns)
}
