//! Learning what is usual in a fleet.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::FACTS;
use super::gathered::{Fleet, Kept, Survey};
use super::group::Group;
use super::limits::{FigureLimits, GroupLimits, Limits, SCHEMA};
use super::modes;
use super::outlier;
use super::row::SEVERAL;
use crate::stats::median;

/// The fewest values that show how much a figure scatters.
pub(super) const FEWEST: usize = 10;
/// The parameters of all figures of a key together.
const TOGETHER: &str = "of=all";

impl Fleet {
    /// What is usual, by groups of machines that are equal in these facts, and what was left out of it, in words. Machines that
    /// are odd in their group teach nothing, nor do figures that something else disturbed.
    pub fn learn(&self, by: &[&'static str]) -> (Limits, Vec<String>) {
        let groups = Group::all(self, by);
        let odd: BTreeSet<usize> = outlier::all(self, &groups).iter().map(|one| one.at).collect();
        let mut left_out: Vec<String> = odd
            .iter()
            .map(|at| format!("{} is left out: it is odd in its group", self.machine_name(*at)))
            .collect();
        let mut learned = Vec::new();
        for group in groups {
            let members: Vec<usize> = group.members.iter().copied().filter(|at| !odd.contains(at)).collect();
            let (surveys, figures) = self.limits(&members);
            if figures.is_empty() {
                left_out.push(format!(
                    "group {}: limits take {FEWEST} surveys that nothing disturbed and that have the same figure; it has {surveys}: \
                     only its facts were learned",
                    group.id
                ));
            }
            if !figures.is_empty() && self.is_of_one_day(&members) {
                left_out.push(format!(
                    "group {}: its surveys are of one machine and one day; what its host does on others will be odd to \
                     `coho check`: add surveys of several days",
                    group.id
                ));
            }
            let facts = self.agreed(&members);
            learned.push(GroupLimits { id: group.id, machines: members.len(), surveys, facts, figures });
        }
        let group_by = by.iter().map(|name| (*name).to_owned()).collect();
        (Limits { schema: SCHEMA.into(), group_by, groups: learned }, left_out)
    }

    /// Whether all surveys are of one machine and one day, so that they may have seen its host in one state alone.
    fn is_of_one_day(&self, members: &[usize]) -> bool {
        let [only] = members else { return false };
        let days: BTreeSet<Option<&str>> =
            self.machines[*only].surveys.iter().map(|survey| survey.date.get(..10)).collect();
        days.len() == 1 && !days.contains(&None)
    }

    /// The facts in which all surveys of these machines agree, as far as they have them.
    fn agreed(&self, members: &[usize]) -> BTreeMap<String, String> {
        let of = |(place, (name, _)): (usize, &super::facts::Fact)| {
            let surveys = members.iter().flat_map(|at| &self.machines[*at].surveys);
            let facts: BTreeSet<&str> = surveys.filter_map(|one| one.fact(place, &self.names)).collect();
            let mut facts = facts.into_iter();
            match (facts.next(), facts.next()) {
                (Some(only), None) => Some(((*name).to_owned(), only.to_owned())),
                _ => None,
            }
        };
        FACTS.iter().enumerate().filter_map(of).collect()
    }

    /// How many surveys taught something, and the limits of the figures that tell machines apart.
    fn limits(&self, members: &[usize]) -> (usize, Vec<FigureLimits>) {
        let surveys = members.iter().flat_map(|at| &self.machines[*at].surveys);
        let usable = |survey: &Survey| -> Vec<Kept> {
            let all = survey.values.iter().filter(|kept| !kept.is_disturbed && kept.value > 0.0);
            all.copied().collect()
        };
        let surveys: Vec<Vec<Kept>> = surveys.map(usable).filter(|values| !values.is_empty()).collect();
        let mut values = BTreeMap::<u32, Vec<Kept>>::new();
        for kept in surveys.iter().flatten() {
            values.entry(kept.figure).or_default().push(*kept);
        }
        values.retain(|_, values| values.len() >= FEWEST);
        let together = self.together(&values);
        let looked_at = values.len() + together.len();
        let several: BTreeSet<String> = together.iter().map(|one| one.key.clone()).collect();
        let single = values.into_iter().map(|(figure, values)| {
            let kind = &self.figures[figure as usize];
            let (key, parameters) = (kind.quantity.key.into(), self.names.text(kind.parameters).into());
            // Of many figures, some leave the ranges in which few surveys saw them; all together show what happened.
            let modes = match several.contains(kind.quantity.key) {
                true => modes::of(&values, looked_at),
                false => modes::or_range(&values, looked_at),
            };
            FigureLimits { key, parameters, medians: BTreeMap::new(), modes }
        });
        let together = together.into_iter().map(|one| {
            let values = surveys.iter().filter_map(|survey| {
                let of_key =
                    survey.iter().filter(|kept| self.figures[kept.figure as usize].quantity.key == one.key);
                let named = of_key
                    .map(|kept| (self.names.text(self.figures[kept.figure as usize].parameters), kept.value));
                let value = one.together(named)?;
                Some(Kept { value, low: value, high: value, ..*survey.first()? })
            });
            let values: Vec<Kept> = values.collect();
            FigureLimits { modes: modes::or_range(&values, looked_at), ..one }
        });
        (surveys.len(), single.chain(together).filter(|one| !one.modes.is_empty()).collect())
    }

    /// The keys with several figures, of which each alone scatters far more than all together, without limits yet.
    fn together(&self, values: &BTreeMap<u32, Vec<Kept>>) -> Vec<FigureLimits> {
        let mut by_key = BTreeMap::<&str, BTreeMap<String, f64>>::new();
        for (figure, values) in values {
            let kind = &self.figures[*figure as usize];
            let middle = median(&mut values.iter().map(|kept| kept.value).collect::<Vec<_>>());
            let parameters = self.names.text(kind.parameters).to_owned();
            by_key.entry(kind.quantity.key).or_default().insert(parameters, middle);
        }
        by_key.retain(|_, medians| medians.len() >= SEVERAL);
        let of = |(key, medians): (&str, BTreeMap<String, f64>)| FigureLimits {
            key: key.into(),
            parameters: TOGETHER.into(),
            medians,
            modes: Vec::new(),
        };
        by_key.into_iter().map(of).collect()
    }
}
