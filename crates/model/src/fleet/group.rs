//! Groups of equal machines.

use std::collections::BTreeMap;

use serde::Serialize;

use super::facts::FACTS;
use super::gathered::Fleet;

/// Machines that are equal in the facts by which they are grouped.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The same in every report on machines that are equal in these facts.
    pub id: String,
    /// How many there are.
    pub machines: usize,
    /// How many of them are odd in it.
    pub odd: usize,
    /// In what they are equal; a fact that is not known is left out.
    pub facts: BTreeMap<&'static str, String>,
    /// What tells it from the largest group that it resembles; empty if it resembles none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub differs: String,
    /// The machines' places in the fleet.
    #[serde(skip)]
    pub(super) members: Vec<usize>,
}

impl Group {
    /// All groups, the largest first. A machine belongs where its latest survey does.
    pub(super) fn all(fleet: &Fleet, by: &[&'static str]) -> Vec<Self> {
        let places: Vec<usize> =
            by.iter().filter_map(|name| FACTS.iter().position(|(known, _)| known == name)).collect();
        let mut members = BTreeMap::<Vec<Option<&str>>, Vec<usize>>::new();
        for (at, machine) in fleet.machines.iter().enumerate() {
            let Some(latest) = machine.latest() else { continue };
            let key = places.iter().map(|place| latest.fact(*place, &fleet.names)).collect();
            members.entry(key).or_default().push(at);
        }
        let group = |(key, members): (Vec<Option<&str>>, Vec<usize>)| {
            let facts =
                places.iter().zip(&key).filter_map(|(at, fact)| Some((FACTS[*at].0, (*fact)?.to_owned())));
            Self {
                id: super::surveyed::group_id(key.iter().map(|fact| fact.unwrap_or_default())),
                machines: members.len(),
                odd: 0,
                facts: facts.collect(),
                differs: String::new(),
                members,
            }
        };
        let mut groups: Vec<Self> = members.into_iter().map(group).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.machines));
        for at in 1..groups.len() {
            groups[at].differs =
                groups[..at].iter().find_map(|larger| groups[at].but_for(larger)).unwrap_or_default();
        }
        groups
    }

    /// `as 1a2b3c4d but for kernel`, if a group of more machines differs in one fact only.
    fn but_for(&self, larger: &Self) -> Option<String> {
        let names = self.facts.keys().chain(larger.facts.keys());
        let mut differing: Vec<&str> =
            names.copied().filter(|name| self.facts.get(name) != larger.facts.get(name)).collect();
        differing.dedup();
        differing.sort_unstable();
        differing.dedup();
        match differing[..] {
            [only] if larger.machines > self.machines => Some(format!("as {} but for {only}", larger.id)),
            _ => None,
        }
    }
}
