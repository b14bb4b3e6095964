//! What is usual in a fleet: between which limits the figures of each group's machines lie, mode by mode, and in which facts
//! they agree.

use std::collections::BTreeMap;
use std::fmt;

use coho_profile::Profile;
use serde::{Deserialize, Serialize};

use super::facts::{self, FACTS};
use super::gathered::MOST_FIGURES;
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
    /// Nor does it write such limits.
    Wrong(String),
}

impl fmt::Display for NoLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(schema) => {
                write!(f, "its schema is '{schema}', but this version of coho reads '{SCHEMA}'")
            }
            Self::Broken(error) => write!(f, "not what `coho fleet learn` writes: {error}"),
            Self::Wrong(what) => write!(f, "not what `coho fleet learn` writes: {what}"),
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

/// A mode of fewer than one in so many surveys is none in which a group's machines usually are.
const USUAL_ONE_IN: usize = 4;

/// Facts in which a machine that differs is another machine, or runs other software, rather than one with a fault.
const OTHERS: [&str; 5] = ["cpu", "architecture", "kernel", "os", "coho"];

impl FigureLimits {
    /// Whether a mode that so many surveys saw is usual: it is the most frequent one, or not rare, as the modes of a host that
    /// keeps moving its machines' CPUs.
    pub(super) fn is_usual(&self, surveys: usize) -> bool {
        let all = self.modes.iter().map(|limit| limit.surveys);
        all.clone().max() <= Some(surveys)
            || surveys.saturating_mul(USUAL_ONE_IN) >= all.fold(0, usize::saturating_add)
    }

    /// The median ratio of some of its figures to their medians; `None` if fewer than half of them are there.
    pub(super) fn together<'a>(&self, values: impl IntoIterator<Item = (&'a str, f64)>) -> Option<f64> {
        let ratio = |(parameters, value): (&str, f64)| Some(value / self.medians.get(parameters)?);
        let mut ratios: Vec<f64> = values.into_iter().filter_map(ratio).collect();
        (!ratios.is_empty() && 2 * ratios.len() >= self.medians.len()).then(|| median(&mut ratios))
    }
}

impl Differing {
    /// What the machine has and its group has not, and the other way round: of a fact that lists several things, only those.
    pub(super) fn apart(&self) -> (String, String) {
        let (has, group) = (parts(&self.has), parts(&self.group));
        let without = |of: &[&str], other: &[&str]| {
            let only: Vec<&str> = of.iter().filter(|part| !other.contains(part)).copied().collect();
            if only.is_empty() { "not that".into() } else { only.join("; ") }
        };
        (without(&has, &group), without(&group, &has))
    }
}

/// The things that a fact lists, as `meltdown: Mitigation: PTI; mds: Mitigation: Clear CPU buffers; SMT vulnerable` two.
fn parts(fact: &str) -> Vec<&str> {
    let begins = |(at, _): &(usize, &str)| {
        let name = fact[at + 2..].split(':').next().unwrap_or_default();
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        fact[at + 2..].contains(": ") && !name.is_empty() && name.chars().all(is_of_name)
    };
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in fact.match_indices("; ").filter(begins) {
        parts.push(&fact[from..at]);
        from = at + 2;
    }
    parts.push(&fact[from..]);
    parts
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
        let limits: Self = serde_json::from_str(text).map_err(NoLimits::Broken)?;
        limits.checked().map_err(NoLimits::Wrong)
    }

    /// Refuses a figure without modes, a mode without two ends, and more figures than a check has time for.
    fn checked(self) -> Result<Self, String> {
        for group in &self.groups {
            if group.figures.len() > MOST_FIGURES {
                return Err(format!("a group has {} figures, more than {MOST_FIGURES}", group.figures.len()));
            }
            let is_usable =
                |limit: &Limit| 0.0 < limit.low && limit.low <= limit.high && limit.high.is_finite();
            let has_modes = |one: &&FigureLimits| !one.modes.is_empty() && one.modes.iter().all(is_usable);
            if let Some(wrong) = group.figures.iter().find(|one| !has_modes(one)) {
                return Err(format!("{} has no limits, or its limits have no ends", wrong.key));
            }
        }
        Ok(self)
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
