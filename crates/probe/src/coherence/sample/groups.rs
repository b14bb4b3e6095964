//! Partitions that are proposed.

use std::collections::BTreeSet;

/// One in this many CPUs of a group may have an odd figure.
const ODD: usize = 8;

/// Disjoint groups that hold every CPU, by rank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Groups {
    groups: Vec<Vec<usize>>,
    /// The group of each CPU.
    of: Vec<usize>,
}

impl Groups {
    /// CPUs in none of the given groups are alone.
    pub(super) fn new(n: usize, given: &[Vec<usize>]) -> Self {
        let mut groups = Vec::new();
        let mut left: BTreeSet<usize> = (0..n).collect();
        for group in given {
            let group: BTreeSet<usize> = group.iter().copied().filter(|cpu| left.remove(cpu)).collect();
            groups.push(Vec::from_iter(group));
        }
        groups.extend(left.into_iter().map(|cpu| vec![cpu]));
        groups.retain(|group| !group.is_empty());
        groups.sort();
        let mut of = vec![0; n];
        for (index, group) in groups.iter().enumerate() {
            group.iter().for_each(|&cpu| of[cpu] = index);
        }
        Self { groups, of }
    }

    /// The group of CPU 0 again and again, by the CPUs' numbers, until all are in one; `None` if it does not fit.
    pub(super) fn repeated(n: usize, first: &[usize]) -> Option<Self> {
        let mut taken = vec![false; n];
        let mut groups = Vec::new();
        for from in 0..n {
            if taken[from] {
                continue;
            }
            let group: Vec<usize> = first.iter().map(|step| from + step).collect();
            for &cpu in &group {
                if cpu >= n || taken[cpu] {
                    return None;
                }
                taken[cpu] = true;
            }
            groups.push(group);
        }
        Some(Self::new(n, &groups))
    }

    /// Whether it divides the CPUs, and not into single ones.
    pub(super) fn tell(&self) -> bool {
        self.groups.len() > 1 && self.groups.len() < self.of.len()
    }

    pub(super) fn pairs_within(&self) -> usize {
        self.groups.iter().map(|group| group.len() * (group.len() - 1) / 2).sum()
    }

    pub(super) fn group(&self, cpu: usize) -> &[usize] {
        &self.groups[self.of[cpu]]
    }

    pub(super) fn same(&self, a: usize, b: usize) -> bool {
        self.of[a] == self.of[b]
    }

    /// Whether these are the CPUs in one's group, but for a few odd ones.
    pub(super) fn are_about(&self, one: usize, cpus: &[usize]) -> bool {
        let group = self.group(one);
        let common = group.iter().filter(|cpu| cpus.contains(cpu)).count();
        ODD * (group.len() + cpus.len() - 2 * common) <= group.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.groups.iter().map(Vec::as_slice)
    }

    /// Each CPU with two others of its group, in a ring; neighbours are in different groups of the finer partitions as far
    /// as that can be.
    pub(super) fn rings(&self, all: &[Self]) -> Vec<(usize, usize)> {
        let finer: Vec<&Self> =
            all.iter().filter(|other| other.pairs_within() < self.pairs_within()).collect();
        let mut pairs = Vec::new();
        for group in &self.groups {
            let mut order = group.clone();
            for finer in &finer {
                order = dealt(&order, finer);
            }
            let next = order.iter().cycle().skip(1);
            pairs.extend(order.iter().copied().zip(next.copied()).filter(|(a, b)| a != b));
        }
        pairs
    }
}

/// The CPUs in another order: the first of each group, then the second of each, and so on.
fn dealt(order: &[usize], groups: &Groups) -> Vec<usize> {
    let mut seen = vec![0; groups.groups.len()];
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(order.len());
    for &cpu in order {
        let nth = &mut seen[groups.of[cpu]];
        places.push((*nth, cpu));
        *nth += 1;
    }
    places.sort_by_key(|&(nth, _)| nth);
    places.into_iter().map(|(_, cpu)| cpu).collect()
}
