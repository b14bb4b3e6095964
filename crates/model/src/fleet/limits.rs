//! What is usual in a fleet: between which limits the figures of each group's machines lie, mode by mode, and in which facts
//! they agree.

use std::collections::BTreeMap;
use std::fmt;

use coho_profile::Profile;
use serde::{Deserialize, Serialize};

use super::facts::{self, FACTS};
use super::surveyed::group_id;
use crate::stats::median;

pub(super) const SCHEMA: &str = "coho-fleet/1";

/// What is usual in a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub(super) schema: String,
    /// The facts in which the machines of a group are equal.
    pub(super) group_by: Vec<String>,
    pub(super) groups: Vec<GroupLimits>,
}

/// What is usual in a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupLimits {
    pub(super) id: String,
    /// How many machines it was learned from.
    pub(super) machines: usize,
    /// How many of their surveys were undisturbed.
    pub(super) surveys: usize,
    /// The facts in which all of them agree.
    pub(super) facts: BTreeMap<String, String>,
    /// The figures that show where a machine is another than these.
    pub(super) figures: Vec<FigureLimits>,
}

/// Between which limits a figure lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FigureLimits {
    pub(super) key: String,
    pub(super) parameters: String,
    /// Of several figures of one key taken together, the median of each: what lies between limits is then the median of their
    /// ratios to these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) medians: BTreeMap<String, f64>,
    /// The most frequent first: a host that moves its machines' CPUs gives a figure several.
    pub(super) modes: Vec<Limit>,
}

/// The limits of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Limit {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Of how many surveys.
    pub(super) surveys: usize,
}

/// Why what is usual cannot be read.
#[derive(Debug)]
pub enum NoLimits {
    /// Another version of coho reads it.
    Other(String),
    /// `coho fleet learn` has not written it.
    Broken(serde_json::Error),
}

impl fmt::Display for NoLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(schema) => {
                write!(f, "its schema is '{schema}', but this version of coho reads '{SCHEMA}'")
            }
            Self::Broken(error) => write!(f, "not what `coho fleet learn` writes: {error}"),
        }
    }
}

impl std::error::Error for NoLimits {}

/// Where a machine belongs.
#[derive(Debug, Clone, PartialEq)]
pub enum Place<'a> {
    /// It is a machine of this group.
    In(&'a GroupLimits),
    /// It would be one, but for these facts.
    But(&'a GroupLimits, Vec<Differing>),
    /// It resembles no group; the reason in words.
    Nowhere(String),
}

/// A fact in which a machine differs from its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// Its name.
    pub name: &'static str,
    /// What the machine has.
    pub has: String,
    /// What the group has.
    pub group: String,
}

/// Facts in which a machine that differs is another machine, or runs other software, rather than one with a fault.
const OTHERS: [&str; 5] = ["cpu", "architecture", "kernel", "os", "coho"];

impl FigureLimits {
    /// The median ratio of some of its figures to their medians; `None` if fewer than half of them are there.
    pub(super) fn together<'a>(&self, values: impl IntoIterator<Item = (&'a str, f64)>) -> Option<f64> {
        let ratio = |(parameters, value): (&str, f64)| Some(value / self.medians.get(parameters)?);
        let mut ratios: Vec<f64> = values.into_iter().filter_map(ratio).collect();
        (!ratios.is_empty() && 2 * ratios.len() >= self.medians.len()).then(|| median(&mut ratios))
    }
}

impl Limits {
    /// Reads what `coho fleet learn` wrote.
    ///
    /// # Errors
    /// [`NoLimits`].
    pub fn parse(text: &str) -> Result<Self, NoLimits> {
        #[derive(Deserialize)]
        struct Named {
            schema: String,
        }
        let Named { schema } = serde_json::from_str(text).map_err(NoLimits::Broken)?;
        if schema != SCHEMA {
            return Err(NoLimits::Other(schema));
        }
        serde_json::from_str(text).map_err(NoLimits::Broken)
    }

    /// The group that a machine belongs to, by its facts.
    pub fn place(&self, machine: &Profile) -> Place<'_> {
        let has: BTreeMap<&str, String> = FACTS
            .iter()
            .zip(facts::of(machine))
            .filter_map(|((name, _), fact)| Some((*name, fact?)))
            .collect();
        let fact = |name: &String| has.get(name.as_str()).map_or("", String::as_str);
        let id = group_id(self.group_by.iter().map(fact));
        if let Some(group) = self.groups.iter().find(|group| group.id == id) {
            let differing = group.differing(&has);
            return if differing.is_empty() { Place::In(group) } else { Place::But(group, differing) };
        }
        // One fact that is another is that machine's; of two, nobody knows whose it is.
        let but_for_one = |group: &GroupLimits| {
            let grouped = self
                .group_by
                .iter()
                .filter(|name| group.facts.get(*name).map_or("", String::as_str) != fact(name));
            let grouped: Vec<&String> = grouped.collect();
            matches!(&grouped[..], [only] if !OTHERS.contains(&only.as_str()))
        };
        let nearest = self.groups.iter().filter(|group| but_for_one(group)).max_by_key(|group| group.surveys);
        match nearest.map(|group| (group, group.differing(&has))) {
            Some((group, differing)) if !differing.is_empty() => Place::But(group, differing),
            _ => Place::Nowhere(format!(
                "no group was learned whose machines have this one's {}",
                self.group_by.join(", ")
            )),
        }
    }
}

impl GroupLimits {
    /// The facts that are known of both and differ.
    fn differing(&self, has: &BTreeMap<&str, String>) -> Vec<Differing> {
        let of = |(name, _): &facts::Fact| {
            let (has, group) = (has.get(name)?, self.facts.get(*name)?);
            (has != group && !OTHERS.contains(name)).then(|| Differing {
                name,
                has: has.clone(),
                group: group.clone(),
            })
        };
        FACTS.iter().filter_map(of).collect()
    }
}
