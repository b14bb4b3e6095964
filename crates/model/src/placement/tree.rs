//! The groups of CPUs that ULE decides by, and its searches for a lightly or heavily loaded CPU among them.

use coho_topology::freebsd::{Flag, Group, Spec};
use fastrand::Rng;

/// The weight of one task in a comparison of loads; chance breaks ties within less than a quarter of it.
const TASK: i64 = 256;
const TIE: i64 = 64;

/// A tree of CPU groups over CPUs numbered from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    groups: Vec<Node>,
    /// The smallest group around each CPU.
    leaf: Vec<usize>,
}

/// A group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    children: Vec<usize>,
    pub(super) cpus: Vec<usize>,
    /// The cache that its CPUs share; 0 for none.
    pub(super) level: u8,
    /// Whether its CPUs are flagged as threads of a core.
    pub(super) threads: bool,
}

/// The best CPU so far, and its load.
struct Found {
    cpu: usize,
    group: i64,
    load: i64,
}

impl Tree {
    /// The tree of a `topology_spec`, with its CPUs numbered in order.
    pub fn new(spec: &Spec) -> Self {
        let numbers: Vec<u32> = spec.root.cpus.iter().collect();
        let mut tree = Self { groups: Vec::new(), leaf: vec![0; numbers.len()] };
        tree.add(&spec.root, None, &numbers);
        tree
    }

    fn add(&mut self, group: &Group, parent: Option<usize>, numbers: &[u32]) -> usize {
        let at = self.groups.len();
        let place = |cpu: u32| numbers.binary_search(&cpu).ok();
        let cpus: Vec<usize> = group.cpus.iter().filter_map(place).collect();
        cpus.iter().for_each(|&cpu| self.leaf[cpu] = at);
        let threads = group.flags.iter().any(|flag| matches!(flag, Flag::Htt | Flag::Thread | Flag::Smt));
        self.groups.push(Node { parent, children: Vec::new(), cpus, level: group.cache_level, threads });
        for child in &group.children {
            let child = self.add(child, Some(at), numbers);
            self.groups[at].children.push(child);
        }
        at
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.leaf.len()
    }

    /// Whether there are no CPUs: never, as a spec has at least one.
    pub fn is_empty(&self) -> bool {
        self.leaf.is_empty()
    }

    /// The smallest group around a CPU.
    pub(super) fn leaf(&self, cpu: usize) -> &Node {
        &self.groups[self.leaf[cpu]]
    }

    pub(super) fn node(&self, at: usize) -> &Node {
        &self.groups[at]
    }

    /// The groups around a CPU by number, innermost first.
    pub(super) fn around(&self, cpu: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(self.leaf[cpu]), |&at| self.groups[at].parent)
    }

    /// The least loaded CPU of a group that `may` be chosen. The search descends into the least loaded part at every
    /// level. A preferred CPU counts a quarter of a task less, and chance breaks ties.
    pub(super) fn lowest(
        &self,
        group: usize,
        loads: &[usize],
        prefer: Option<usize>,
        rng: &mut Rng,
        may: &impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let load = |cpu: usize| TASK * loads[cpu] as i64 - if prefer == Some(cpu) { TIE } else { 0 };
        self.search(group, &load, rng, may).1.map(|found| found.cpu)
    }

    /// The most loaded CPU of a group that `may` be chosen.
    pub(super) fn highest(
        &self,
        group: usize,
        loads: &[usize],
        rng: &mut Rng,
        may: &impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let load = |cpu: usize| -TASK * loads[cpu] as i64;
        self.search(group, &load, rng, may).1.map(|found| found.cpu)
    }

    /// The load of the whole group, and its CPU with the least load.
    fn search(
        &self,
        group: usize,
        load: &impl Fn(usize) -> i64,
        rng: &mut Rng,
        may: &impl Fn(usize) -> bool,
    ) -> (i64, Option<Found>) {
        let node = &self.groups[group];
        let (mut total, mut best): (i64, Option<Found>) = (0, None);
        let mut offer = |part: i64, found: Option<(usize, i64)>| {
            total += part;
            if let Some((cpu, load)) = found
                && best.as_ref().is_none_or(|best| (part, load) < (best.group, best.load))
            {
                best = Some(Found { cpu, group: part, load });
            }
        };
        if node.children.is_empty() {
            for &cpu in node.cpus.iter().rev() {
                let part = load(cpu);
                offer(part, may(cpu).then(|| (cpu, part - rng.i64(0..TIE))));
            }
        }
        for &child in node.children.iter().rev() {
            let (part, found) = self.search(child, load, rng, may);
            offer(part, found.map(|found| (found.cpu, found.load)));
        }
        (total, best)
    }
}

#[cfg(test)]
mod tests {
    use coho_topology::freebsd::parse;

    use super::*;

    fn pairs() -> Tree {
        let pair = |cpus: &str, mask: &str| {
            format!(
                "<group level=\"2\" cache-level=\"2\"><cpu count=\"2\" mask=\"{mask}\">{cpus}</cpu></group>"
            )
        };
        let text = format!(
            "<groups><group level=\"1\" cache-level=\"0\"><cpu count=\"4\" mask=\"f\">0, 1, 2, 3</cpu><children>{}{}</children></group></groups>",
            pair("0, 1", "3"),
            pair("2, 3", "c")
        );
        Tree::new(&parse(&text).unwrap())
    }

    #[test]
    fn the_less_loaded_part_is_searched_first() {
        let tree = pairs();
        for seed in 0..32 {
            let mut rng = Rng::with_seed(seed);
            // CPU 1 is as idle as CPUs 2 and 3, but its neighbour runs something.
            let found = tree.lowest(0, &[1, 0, 0, 0], None, &mut rng, &|_| true).unwrap();
            assert!(found >= 2);
            assert_eq!(tree.lowest(0, &[1, 1, 1, 0], Some(0), &mut rng, &|_| true), Some(3));
            assert_eq!(tree.lowest(0, &[1, 1, 1, 1], Some(0), &mut rng, &|_| true), Some(0));
            assert_eq!(tree.highest(0, &[1, 2, 0, 4], &mut rng, &|cpu| cpu < 2), Some(1));
            assert_eq!(tree.lowest(0, &[1, 0, 0, 0], None, &mut rng, &|_| false), None);
        }
        assert_eq!(tree.around(3).collect::<Vec<_>>(), [2, 0]);
    }

    #[test]
    fn chance_breaks_ties() {
        let tree = pairs();
        let found: std::collections::BTreeSet<_> = (0..64)
            .filter_map(|seed| tree.lowest(0, &[0; 4], None, &mut Rng::with_seed(seed), &|_| true))
            .collect();
        assert_eq!(found.len(), 4);
    }
}
