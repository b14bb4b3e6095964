//! Figures that changed: of one machine over its surveys, and of many between two reports.

use coho_profile::Estimate;
use serde::Serialize;

use super::gathered::{Fleet, Kept, Survey};
use crate::chance::{Family, Order};

/// A figure of a machine that is another in its latest survey than in its first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The machine.
    pub machine: String,
    /// A figure's key and parameters.
    pub figure: String,
    /// The date of the first survey that has it.
    pub since: String,
    /// Its value then.
    pub first: f64,
    /// Its value in the latest survey.
    pub latest: f64,
    /// How many surveys have it.
    pub surveys: usize,
}

/// A figure that changed between an earlier report and this one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// A figure's key and parameters.
    pub figure: String,
    /// On how many machines both reports have it.
    pub machines: usize,
    /// On how many of these it grew beyond chance.
    pub more: usize,
    /// On how many it fell.
    pub less: usize,
    /// The median of its ratios, now over then.
    pub ratio: f64,
    /// Whether it changed on the machines taken together: more of them grew, or fell, than chance allows.
    pub together: bool,
}

/// Whether two figures of different runs differ.
pub(super) fn compare(family: Family, one: &Estimate, other: &Estimate) -> Order {
    family.of_different_runs().of_passes(one.passes, other.passes).compare(one, other)
}

/// What each machine's first and latest surveys differ in, beyond the chance of so many comparisons; the largest first.
pub(super) fn drift(fleet: &Fleet) -> Vec<Drift> {
    let mut pairs: Vec<(usize, Kept, Kept, &str, usize)> = Vec::new();
    for (at, machine) in fleet.machines.iter().enumerate() {
        let [earlier @ .., latest] = &machine.surveys[..] else { continue };
        for now in &latest.values {
            let had = |survey: &Survey| survey.values.iter().find(|one| one.figure == now.figure).copied();
            let mut earlier = earlier.iter().filter_map(|survey| Some((had(survey)?, survey.date.as_str())));
            if let Some((first, date)) = earlier.next() {
                pairs.push((at, first, *now, date, 2 + earlier.count()));
            }
        }
    }
    let family = Family::of(pairs.len());
    pairs.retain(|(_, first, now, ..)| compare(family, &now.estimate(), &first.estimate()).differs());
    let by = |first: &Kept, now: &Kept| (now.value / first.value).ln().abs();
    pairs.sort_by(|one, other| by(&other.1, &other.2).total_cmp(&by(&one.1, &one.2)));
    let drift = |(at, first, now, date, surveys): (usize, Kept, Kept, &str, usize)| Drift {
        machine: fleet.machine_name(at),
        figure: fleet.name_of(now.figure),
        since: date.to_owned(),
        first: first.value,
        latest: now.value,
        surveys,
    };
    pairs.into_iter().map(drift).collect()
}
