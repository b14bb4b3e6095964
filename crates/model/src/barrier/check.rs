//! Predictions beside what was measured on the same machine.

use coho_profile::{Estimate, Ns, Profile};
use serde::Serialize;

use super::predict::predict;
use super::{Algorithm, By, FarthestPair, Machine, Mapping, Prediction, Source, predict_fork_join};
use crate::{Error, json};

/// A barrier, or a fork and join, measured and predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "Row")]
pub struct Check {
    /// `barrier` or `fork-join`.
    pub operation: &'static str,
    /// How a region begins and ends, as the profile names it; empty for barriers.
    pub by: String,
    /// The algorithm, as the profile names it.
    pub algorithm: String,
    /// Where its flags are, as the profile names it.
    pub layout: String,
    /// Threads that took part.
    pub threads: u32,
    /// Which CPUs they ran on.
    pub mapping: Mapping,
    /// The measured time, in ns.
    pub measured: Estimate,
    /// The model's time.
    pub predicted: Ns,
    /// Whether the measured time influenced the predicted one.
    pub basis: Basis,
}

/// A check in JSON, where a fitted time has no place among the predicted ones.
#[derive(Serialize)]
struct Row {
    operation: &'static str,
    by: String,
    name: String,
    layout: String,
    threads: u32,
    #[serde(serialize_with = "json::text")]
    mapping: Mapping,
    measured_ns: Estimate,
    basis: &'static str,
    predicted_ns: Option<Ns>,
    error: Option<f64>,
    fitted_ns: Option<Ns>,
}

impl From<Check> for Row {
    fn from(check: Check) -> Self {
        let is_fit = check.basis == Basis::Fit;
        Self {
            operation: check.operation,
            basis: check.basis.words(),
            predicted_ns: (!is_fit).then_some(check.predicted),
            error: (!is_fit).then(|| check.error()),
            fitted_ns: is_fit.then_some(check.predicted),
            by: check.by,
            name: check.algorithm,
            layout: check.layout,
            threads: check.threads,
            mapping: check.mapping,
            measured_ns: check.measured,
        }
    }
}

/// What a time of the model rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Other measurements alone: it is a prediction.
    Predicted,
    /// A fit to times of its kind that leaves out its team, with another number of threads or another mapping: a
    /// prediction out of sample.
    LeftOut,
    /// A fit that the measured time is part of: no prediction.
    Fit,
}

impl Basis {
    /// The basis in a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::LeftOut => "predicted, left out of the fit",
            Self::Fit => "fit",
        }
    }
}

impl Check {
    /// The error of the model's time, as a share of the measured one.
    pub fn error(&self) -> f64 {
        self.predicted / Ns(self.measured.median) - 1.0
    }
}

/// A measured time without a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// `barrier` or `fork-join`.
    pub operation: &'static str,
    /// The algorithm, as the profile names it.
    pub algorithm: String,
    /// Why it is not predicted.
    pub why: &'static str,
}

/// Measured times beside predicted ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Times that have a prediction.
    pub checks: Vec<Check>,
    /// The times that have none, each algorithm once per reason.
    pub left_out: Vec<LeftOut>,
}

/// Every time in the profile's section `sync` beside the prediction of a machine made from the same profile.
///
/// # Errors
/// If the barriers were measured on CPUs other than the machine's, or while these were not as far apart as its times say.
pub fn compare(machine: &Machine, profile: &Profile) -> Result<Comparison, Error> {
    let Some(sync) = &profile.sync else { return Ok(Comparison::default()) };
    if let Some(cpus) = sync.method.parameters.get("cpus").and_then(|cpus| cpus.as_array()) {
        let mut cpus: Vec<u32> = cpus.iter().filter_map(|cpu| cpu.as_u64()?.try_into().ok()).collect();
        let mut known = machine.cpus().to_vec();
        cpus.sort_unstable();
        known.sort_unstable();
        if cpus != known {
            return Err(Error::new("the barriers were measured on other CPUs than the times between them"));
        }
    }
    if let Some(apart) = FarthestPair::of(profile) {
        return Err(Error::new(format!(
            "{apart}: the host has moved the CPUs, or something else slowed them"
        )));
    }
    let barriers = sync.barriers.iter().map(|row| Measured {
        operation: "barrier",
        by: "",
        algorithm: &row.algorithm,
        layout: &row.layout,
        threads: row.threads,
        mapping: &row.mapping,
        ns: row.ns.as_ref(),
    });
    let fork_joins = sync.fork_join.iter().map(|row| Measured {
        operation: "fork-join",
        by: &row.by,
        algorithm: &row.algorithm,
        layout: "",
        threads: row.threads,
        mapping: &row.mapping,
        ns: row.total_ns.as_ref(),
    });
    let mut teams = Teams { machine, known: Vec::new() };
    let is_fitted = matches!(machine.extra_line.source, Source::Fitted(_));
    let mut comparison = Comparison::default();
    for row in barriers.chain(fork_joins) {
        let Some(measured) = row.ns.filter(|ns| ns.median.is_finite() && ns.median > 0.0) else { continue };
        match row.predict(&mut teams) {
            Ok((mapping, predicted)) => {
                let (predicted, basis) = if is_fitted && row.tells_of_extra_line() {
                    let others = machine.without_team(profile, row.threads, mapping);
                    let left_out = others.and_then(|others| {
                        let mut teams = Teams { machine: &others, known: Vec::new() };
                        let (_, time) = row.predict(&mut teams).ok()?;
                        // Without the only time of its kind, the cost of the extra line comes
                        // from reads.
                        let is_refitted = matches!(others.extra_line.source, Source::Fitted(_));
                        Some((time, if is_refitted { Basis::LeftOut } else { Basis::Predicted }))
                    });
                    left_out.unwrap_or((predicted, Basis::Fit))
                } else {
                    (predicted, Basis::Predicted)
                };
                comparison.checks.push(Check {
                    operation: row.operation,
                    by: row.by.into(),
                    algorithm: row.algorithm.into(),
                    layout: row.layout.into(),
                    threads: row.threads,
                    mapping,
                    measured: measured.clone(),
                    predicted,
                    basis,
                });
            }
            Err(why) => {
                let left_out = LeftOut { operation: row.operation, algorithm: row.algorithm.into(), why };
                if !comparison.left_out.contains(&left_out) {
                    comparison.left_out.push(left_out);
                }
            }
        }
    }
    Ok(comparison)
}

/// A row of the profile.
struct Measured<'a> {
    operation: &'static str,
    by: &'a str,
    algorithm: &'a str,
    layout: &'a str,
    threads: u32,
    mapping: &'a str,
    ns: Option<&'a Estimate>,
}

impl Measured<'_> {
    /// Whether the cost of the extra line is fitted to this row, among others.
    fn tells_of_extra_line(&self) -> bool {
        (self.operation, self.algorithm, self.layout) == ("barrier", "fbs", Algorithm::Fbs.layout())
            && self.threads > 2
    }

    /// The row's mapping and predicted time, or why there is none.
    fn predict(&self, teams: &mut Teams<'_>) -> Result<(Mapping, Ns), &'static str> {
        let Ok(mapping) = self.mapping.parse() else { return Err("the model does not know its mapping") };
        if !(2..=teams.machine.len()).contains(&(self.threads as usize)) {
            return Err("threads that share a CPU take turns");
        }
        let time = match (self.operation, self.by) {
            ("barrier", _) => teams.barrier(self.modelled()?, self.threads, mapping),
            (_, "barrier") => teams.fork_join(By::Barrier, self.modelled()?, self.threads, mapping),
            // A team of two keeps both flags in one line.
            (_, "go-flag") if self.threads == 2 => {
                teams.fork_join(By::GoFlag, Algorithm::FbsOneLine, self.threads, mapping)
            }
            (_, "go-flag") => teams.fork_join(By::GoFlag, Algorithm::Fbs, self.threads, mapping),
            _ => return Err("the model does not know how its regions begin and end"),
        };
        Ok((mapping, time.ok_or("there is nothing to gather among so few threads")?))
    }

    /// The model's algorithm for a profile's name.
    fn modelled(&self) -> Result<Algorithm, &'static str> {
        Ok(match self.algorithm {
            "fbs" if self.layout == Algorithm::FbsOneLine.layout() => Algorithm::FbsOneLine,
            "fbs" => Algorithm::Fbs,
            "fbs-one-line" => Algorithm::FbsOneLine,
            "spin-lock" => Algorithm::Lock,
            "lock" => return Err("the kernel puts threads that wait for a mutex to sleep"),
            "central" => Algorithm::Central,
            "dissemination-2" => Algorithm::Dissemination,
            "grid" => Algorithm::Grid,
            "hierarchical" => Algorithm::Hierarchical,
            name => match name.strip_prefix("tournament-").and_then(|arity| arity.parse().ok()) {
                // The champion meets all others itself, as the root of a tree with four children
                // does.
                Some(arity) if self.threads <= u32::min(arity, ROOT) => Algorithm::Tree,
                Some(_) => return Err("it pairs threads differently from the model's tournament"),
                None => return Err("the model does not know it"),
            },
        })
    }
}

/// How many threads of a tree meet at its root.
const ROOT: u32 = 4;

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
    fn barrier(&mut self, algorithm: Algorithm, threads: u32, mapping: Mapping) -> Option<Ns> {
        predicted(&self.team(threads, mapping)?.barriers, None, algorithm)
    }

    fn fork_join(&mut self, by: By, algorithm: Algorithm, threads: u32, mapping: Mapping) -> Option<Ns> {
        predicted(&self.team(threads, mapping)?.fork_joins, Some(by), algorithm)
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

fn predicted(predictions: &[Prediction], by: Option<By>, algorithm: Algorithm) -> Option<Ns> {
    let prediction =
        predictions.iter().find(|prediction| (prediction.by, prediction.algorithm) == (by, algorithm));
    prediction.map(|prediction| prediction.time)
}
