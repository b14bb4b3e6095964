//! Everything that is predicted for a machine under several topologies.

use super::{Checked, Costs, Finding, Prediction, Unchecked, View};

/// How often each workload runs by default, each time with other costs from their ranges.
pub const RUNS: u32 = 16;
/// The default seed of these runs.
pub const SEED: u64 = 1;

/// What a scheduler's idea of a machine does to programs.
#[derive(Debug)]
pub struct Outcome {
    /// The machine's name.
    pub machine: String,
    /// The number of pairs of CPUs whose line time is measured, and of all pairs.
    pub measured_pairs: (usize, usize),
    /// The condition under which those times hold.
    pub condition: Option<String>,
    /// What the kernels believe about it.
    pub views: Vec<View>,
    /// Each workload under each view.
    pub predictions: Vec<Prediction>,
    /// Comparison with what Kimoto measured, on that machine.
    pub findings: Vec<Finding>,
    /// Comparison of the simulator with the machine's own programs, or why there is none.
    pub checked: Result<Checked, Unchecked>,
    /// What each step is assumed to cost.
    pub costs: Costs,
    /// How often each workload ran.
    pub runs: u32,
    /// Seed of costs and random choices.
    pub seed: u64,
    /// Views that are not available, and why.
    pub not_available: Vec<(String, String)>,
}

/// Two views whose rates are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio<'a> {
    /// The view in the numerator.
    pub over: &'a str,
    /// The view in the denominator.
    pub under: &'a str,
}

impl Outcome {
    /// The predictions under a view.
    pub fn of_view(&self, name: &str) -> impl Iterator<Item = &Prediction> {
        self.predictions.iter().filter(move |prediction| prediction.view == name)
    }

    /// A prediction's workload under another view.
    pub fn under(&self, prediction: &Prediction, view: &str) -> Option<&Prediction> {
        self.of_view(view).find(|other| other.workload == prediction.workload)
    }

    /// The views to divide; the patch's effect splits in two where the control is known.
    pub fn ratios(&self) -> Vec<Ratio<'_>> {
        let names: Vec<&str> = self.views.iter().map(|view| view.name.as_str()).collect();
        let Some((&first, others)) = names.split_first() else { return Vec::new() };
        let mut ratios: Vec<Ratio<'_>> =
            others.iter().map(|&view| Ratio { over: view, under: first }).collect();
        if first == "stock" && names.contains(&"control") && names.contains(&"patched") {
            ratios.insert(1.min(ratios.len()), Ratio { over: "patched", under: "control" });
        }
        ratios
    }
}
