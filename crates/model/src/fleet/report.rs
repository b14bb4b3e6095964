//! What there is to say of a fleet.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::Quantity;
use serde::Serialize;

use super::baseline::Baseline;
use super::change::{Change, Drift, drift};
use super::gathered::{Fleet, Machine};
use super::group::Group;
use super::outlier::{self, Outlier};
use super::robust::FEWEST;

/// How many groups have their distributions kept.
const SHOWN_GROUPS: usize = 4;

/// A fleet, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// How many machines there are.
    pub machines: usize,
    /// Groups of equal machines, the largest first.
    pub groups: Vec<Group>,
    /// What is odd, the most urgent first.
    pub outliers: Vec<Outlier>,
    /// Profiles that were left out.
    pub skipped: Vec<Skipped>,
    /// Hosts of a job's survey that have no profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingHost>,
    /// Figures of single machines that changed over their surveys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Drift>,
    /// Figures that changed since the report that this one is compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What is worth knowing of names, dates and limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// How many surveys there are.
    #[serde(skip)]
    pub surveys: usize,
    /// The fewest machines of a group of which any is called odd.
    #[serde(skip)]
    pub fewest: usize,
    /// How the main figures of the largest groups are distributed.
    #[serde(skip)]
    pub distributions: Vec<Distribution>,
    /// Machines with something odd, in the order of [`outliers`](Self::outliers), each with all of it.
    #[serde(skip)]
    pub odd: Vec<(String, Vec<usize>)>,
}

/// A profile that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The file.
    pub file: String,
    /// The reason.
    pub why: String,
}

/// A host that a job was to survey, and that has no profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingHost {
    /// What it calls itself.
    pub host: String,
    /// The file that lists it.
    pub file: String,
    /// What is known of its survey.
    pub why: String,
}

/// Something worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Of which machine; empty for all.
    pub machine: String,
    /// What.
    pub text: String,
}

/// The values that a group's machines have of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// The group's [`id`](Group::id).
    pub group: String,
    /// The figure's key.
    pub key: &'static str,
    /// What it is, for people.
    pub label: &'static str,
    /// Which of the key's figures: the one that most machines have.
    pub parameters: String,
    /// Its unit.
    pub unit: &'static str,
    /// In ascending order.
    pub values: Vec<f64>,
}

/// The latest values of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Latest<'a> {
    /// What it is of.
    pub quantity: &'static Quantity,
    /// Which of the quantity's figures.
    pub parameters: &'a str,
    /// Each machine that has it, with its value.
    pub values: Vec<(&'a str, f64)>,
}

impl Fleet {
    /// Judges the machines, grouped by these of [`FACTS`](super::FACTS), beside an earlier report if there is one.
    pub fn report(&self, by: &[&'static str], skipped: Vec<Skipped>, baseline: Option<&Baseline>) -> Report {
        let mut groups = Group::all(self, by);
        let outliers = outlier::all(self, &groups);
        let mut order = Vec::<usize>::new();
        let mut of_machine = BTreeMap::<usize, Vec<usize>>::new();
        for (index, one) in outliers.iter().enumerate() {
            let known = of_machine.entry(one.at).or_default();
            if known.is_empty() {
                order.push(one.at);
            }
            known.push(index);
        }
        let is_odd: BTreeSet<usize> = of_machine.keys().copied().collect();
        for group in &mut groups {
            group.odd = group.members.iter().filter(|at| is_odd.contains(at)).count();
        }
        let odd =
            order.into_iter().map(|at| (self.machine_name(at), of_machine.remove(&at).unwrap_or_default()));
        let mut notes = self.notes.clone();
        if self.left_out() > 0 {
            let text = format!(
                "{} figures are of too many kinds to be compared; the tables have them",
                self.left_out()
            );
            notes.push(Note { machine: String::new(), text });
        }
        let unjudged = self.machines.iter().filter_map(Machine::latest);
        let unjudged = unjudged.filter(|latest| latest.values.iter().any(|kept| kept.is_disturbed)).count();
        if unjudged > 0 {
            let whose = match unjudged {
                1 => "1 machine in its latest survey".to_owned(),
                n => format!("{n} machines in their latest surveys"),
            };
            let text = format!(
                "something else had the CPUs of {whose}; the figures that it disturbed are not judged"
            );
            notes.push(Note { machine: String::new(), text });
        }
        Report {
            machines: self.machines.len(),
            distributions: groups
                .iter()
                .take(SHOWN_GROUPS)
                .flat_map(|group| self.distributions(group))
                .collect(),
            drift: drift(self),
            changes: baseline.map(|baseline| baseline.changes(self)).unwrap_or_default(),
            notes,
            surveys: self.machines.iter().map(|machine| machine.surveys.len()).sum(),
            fewest: FEWEST,
            odd: odd.collect(),
            groups,
            outliers,
            skipped,
            missing: self.missing.clone(),
        }
    }

    /// Of each key, the figure that most machines of the group have.
    fn distributions(&self, group: &Group) -> Vec<Distribution> {
        let mut values = BTreeMap::<u32, Vec<f64>>::new();
        for kept in
            group.members.iter().filter_map(|at| self.machines[*at].latest()).flat_map(|one| &one.values)
        {
            values.entry(kept.figure).or_default().push(kept.value);
        }
        let mut by_key = BTreeMap::<&str, (u32, Vec<f64>)>::new();
        for (figure, values) in values {
            let known = by_key.entry(self.figures[figure as usize].quantity.key).or_default();
            if known.1.len() < values.len() {
                *known = (figure, values);
            }
        }
        let mut all: Vec<(u32, Vec<f64>)> = by_key.into_values().collect();
        // Figures are numbered in the order of the sections.
        all.sort_by_key(|(figure, _)| *figure);
        let distribution = |(figure, mut values): (u32, Vec<f64>)| {
            values.sort_unstable_by(f64::total_cmp);
            let kind = &self.figures[figure as usize];
            let (quantity, parameters) = (kind.quantity, self.names.text(kind.parameters).to_owned());
            Distribution {
                group: group.id.clone(),
                key: quantity.key,
                label: quantity.label,
                parameters,
                unit: quantity.unit,
                values,
            }
        };
        all.into_iter().map(distribution).collect()
    }

    /// Each machine's latest main figures, figure by figure.
    pub fn latest(&self) -> Vec<Latest<'_>> {
        let mut all: Vec<Vec<(&str, f64)>> = self.figures.iter().map(|_| Vec::new()).collect();
        for machine in &self.machines {
            let name = self.names.text(machine.name);
            for kept in machine.latest().into_iter().flat_map(|latest| &latest.values) {
                all[kept.figure as usize].push((name, kept.value));
            }
        }
        let kinds = self.figures.iter().map(|kind| (kind.quantity, self.names.text(kind.parameters)));
        kinds
            .zip(all)
            .map(|((quantity, parameters), values)| Latest { quantity, parameters, values })
            .collect()
    }
}
