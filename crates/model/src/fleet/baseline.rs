//! An earlier report's figures, to stand beside those of now.

use std::collections::{HashMap, HashSet};

use coho_profile::{Estimate, SECTIONS};
use serde::Deserialize;

use super::change::{Change, compare};
use super::gathered::Fleet;
use crate::chance::{Family, Order};
use crate::stats;

/// The figures of `fleet.jsonl` by which machines are told apart.
#[derive(Debug)]
pub struct Baseline {
    /// The keys of these figures.
    keys: HashSet<&'static str>,
    figures: HashMap<(String, String), (String, Estimate)>,
}

/// A line of `fleet.jsonl`, as far as it is needed.
#[derive(Deserialize)]
struct Line {
    machine: String,
    survey: Option<String>,
    key: String,
    parameters: String,
    value: f64,
    low: f64,
    high: f64,
    n: u64,
}

impl Default for Baseline {
    fn default() -> Self {
        let quantities = SECTIONS.iter().flat_map(|section| (section.quantities)());
        let keys = quantities.filter(|quantity| quantity.headline).map(|quantity| quantity.key).collect();
        Self { keys, figures: HashMap::new() }
    }
}

impl Baseline {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is no figure.
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    /// Reads a line of `fleet.jsonl`. Of several surveys of a machine the latest counts.
    ///
    /// # Errors
    /// If it is not such a line.
    pub fn add(&mut self, line: &str) -> Result<(), serde_json::Error> {
        let Line { machine, survey, key, parameters, value, low, high, n } = serde_json::from_str(line)?;
        if !self.keys.contains(key.as_str()) {
            return Ok(());
        }
        let figure = if parameters.is_empty() { key } else { format!("{key} {parameters}") };
        let estimate = Estimate { low, high, min: low, n, ..Estimate::exact(value) };
        let date = survey.unwrap_or_default();
        let known = self.figures.entry((machine, figure)).or_insert_with(|| (date.clone(), estimate.clone()));
        if known.0 <= date {
            *known = (date, estimate);
        }
        Ok(())
    }

    /// The figures that changed on any machine beyond the chance of so many comparisons, or on the machines together; those
    /// that changed on most machines first.
    pub(super) fn changes(&self, fleet: &Fleet) -> Vec<Change> {
        let mut pairs = HashMap::<u32, Vec<(Estimate, Estimate)>>::new();
        let mut asked = HashMap::<u32, String>::new();
        for machine in &fleet.machines {
            let name = fleet.names.text(machine.name).to_owned();
            for now in machine.latest().into_iter().flat_map(|latest| &latest.values) {
                let figure = asked.entry(now.figure).or_insert_with(|| fleet.name_of(now.figure));
                if let Some((_, then)) = self.figures.get(&(name.clone(), figure.clone())) {
                    pairs.entry(now.figure).or_default().push((then.clone(), now.estimate()));
                }
            }
        }
        let family = Family::of(pairs.values().map(Vec::len).sum());
        let together = Family::of(pairs.len());
        let change = |(figure, pairs): (u32, Vec<(Estimate, Estimate)>)| {
            let orders: Vec<Order> = pairs.iter().map(|(then, now)| compare(family, now, then)).collect();
            let count = |order| orders.iter().filter(|one| **one == order).count();
            let (then, now): (Vec<f64>, Vec<f64>) =
                pairs.iter().map(|(then, now)| (then.median, now.median)).unzip();
            let ratios =
                then.iter().zip(&now).map(|(then, now)| now / then).filter(|ratio| ratio.is_finite());
            Some(Change {
                figure: fleet.name_of(figure),
                machines: pairs.len(),
                more: count(Order::More),
                less: count(Order::Less),
                ratio: stats::median(&mut Some(ratios.collect::<Vec<f64>>()).filter(|all| !all.is_empty())?),
                together: together.rounds(&then, &now).differs(),
            })
        };
        let mut changes: Vec<Change> = pairs.into_iter().filter_map(change).collect();
        changes.retain(|change| change.together || change.more + change.less > 0);
        let size = |change: &Change| (change.more.max(change.less), change.ratio.ln().abs());
        changes.sort_by(|one, other| {
            let ((more, by), (than, least)) = (size(one), size(other));
            than.cmp(&more).then(least.total_cmp(&by)).then_with(|| one.figure.cmp(&other.figure))
        });
        changes
    }
}
