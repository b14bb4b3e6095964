//! What is predicted for a machine in JSON.

use serde::{Serialize, Serializer};

use super::{Checked, Costs, Finding, Outcome, Prediction, Range, Ratio, Sign, Unchecked, View};
use crate::json;

#[derive(Serialize)]
struct Report<'a> {
    machine: &'a str,
    topologies: &'a [View],
    predictions: Vec<Predicted<'a>>,
    contrasts: Vec<Contrasted>,
    findings: Vec<Found>,
    #[serde(serialize_with = "json::or_reason")]
    check: &'a Result<Checked, Unchecked>,
    method: Method<'a>,
}

#[derive(Serialize)]
struct Method<'a> {
    runs: u32,
    seed: u64,
    measured_pairs: usize,
    pairs: usize,
    condition: Option<&'a str>,
    costs: &'a Costs,
    #[serde(serialize_with = "json::by_name")]
    not_available: &'a [(String, String)],
}

/// A workload under a view.
#[derive(Serialize)]
struct Predicted<'a> {
    workload: String,
    topology: &'a str,
    per_s: Option<Range>,
    /// Its rate over that under the first view.
    ratio: Option<Range>,
    sign: Option<Sign>,
    wakes: Wakes,
}

/// Shares of wake-ups: by how near the chosen CPU was, and with that CPU halted.
#[derive(Serialize)]
struct Wakes {
    same_cpu: Option<f64>,
    same_l2: Option<f64>,
    same_l3: Option<f64>,
    far: Option<f64>,
    halted: Option<f64>,
}

/// A workload under two views.
#[derive(Serialize)]
struct Contrasted {
    workload: String,
    contrast: String,
    ratio: Range,
    sign: Sign,
}

/// A test of the article's.
#[derive(Serialize)]
struct Found {
    test: &'static str,
    c6_on_percent: f64,
    c6_off_percent: f64,
    beyond_noise: bool,
    measured_sign: Sign,
    predicted_sign: Sign,
    tree: Range,
    flag: Range,
    both: Range,
    predicted_percent: f64,
    size_holds: Option<bool>,
    verdict: &'static str,
}

impl<'a> Predicted<'a> {
    fn of(prediction: &'a Prediction, first: Option<&Prediction>) -> Self {
        let ratio = first.and_then(|first| prediction.over(first));
        let stats = &prediction.stats;
        let wakes: u64 = stats.wakes.iter().sum();
        let share = |count: u64| (wakes > 0).then(|| count as f64 / wakes as f64);
        let [same_cpu, same_l2, same_l3, far] = stats.wakes.map(share);
        Self {
            workload: prediction.workload.name(),
            topology: &prediction.view,
            per_s: prediction.rate(),
            ratio,
            sign: ratio.map(|ratio| ratio.sign()),
            wakes: Wakes { same_cpu, same_l2, same_l3, far, halted: share(stats.halted) },
        }
    }
}

impl Found {
    fn of(finding: &Finding) -> Self {
        let [c6_on_percent, c6_off_percent] = finding.measured.percent();
        Self {
            test: finding.measured.test,
            c6_on_percent,
            c6_off_percent,
            beyond_noise: finding.measured.beyond_noise,
            measured_sign: finding.measured_sign(),
            predicted_sign: finding.both.sign(),
            tree: finding.tree,
            flag: finding.flag,
            both: finding.both,
            predicted_percent: 100.0 * (finding.both.median - 1.0),
            size_holds: finding.size_holds(),
            verdict: finding.verdict().words(),
        }
    }
}

impl Outcome {
    fn contrasts(&self) -> Vec<Contrasted> {
        let contrasted = |over: &str, under: &str, prediction: &Prediction| {
            let ratio = prediction.over(self.under(prediction, under)?)?;
            let contrast = format!("{over}/{under}");
            Some(Contrasted { workload: prediction.workload.name(), contrast, ratio, sign: ratio.sign() })
        };
        let of_ratio = |Ratio { over, under }| {
            self.of_view(over).filter_map(move |prediction| contrasted(over, under, prediction))
        };
        self.ratios().into_iter().flat_map(of_ratio).collect()
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = self.views.first().map_or("", |view| view.name.as_str());
        let predicted = |prediction| Predicted::of(prediction, self.under(prediction, first));
        Report {
            machine: &self.machine,
            topologies: &self.views,
            predictions: self.predictions.iter().map(predicted).collect(),
            contrasts: self.contrasts(),
            findings: self.findings.iter().map(Found::of).collect(),
            check: &self.checked,
            method: Method {
                runs: self.runs,
                seed: self.seed,
                measured_pairs: self.measured_pairs.0,
                pairs: self.measured_pairs.1,
                condition: self.condition.as_deref(),
                costs: &self.costs,
                not_available: &self.not_available,
            },
        }
        .serialize(serializer)
    }
}
