//! Which CPUs a team runs on, and in which order (Nakamura et al., Fig. 4-4).

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use super::Machine;
use crate::Error;

/// Ranks on CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mapping {
    /// Fill the nearest first.
    Sequential,
    /// Spread over the farthest groups first, then over the groups within them.
    BinaryTree,
}

impl Mapping {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::BinaryTree];

    /// The machine's CPUs, by index, in the order in which ranks are put on them.
    ///
    /// ```
    /// use coho_model::barrier::{Machine, Mapping, Tier};
    /// let machine = Machine::hierarchical(&[Tier { cpus: 2, ns: 10.0 }, Tier { cpus: 4, ns: 90.0 }])?;
    /// assert_eq!(Mapping::Sequential.order(&machine), [0, 1, 2, 3]);
    /// assert_eq!(Mapping::BinaryTree.order(&machine), [0, 2, 1, 3]);
    /// # Ok::<(), coho_model::Error>(())
    /// ```
    pub fn order(self, machine: &Machine) -> Vec<usize> {
        let levels: Vec<Vec<usize>> = machine
            .levels()
            .iter()
            .rev()
            .map(|groups| {
                let mut of = vec![0; machine.len()];
                for (index, group) in groups.iter().enumerate() {
                    group.iter().for_each(|&cpu| of[cpu] = index);
                }
                of
            })
            .collect();
        self.arrange((0..machine.len()).collect(), &levels)
    }

    /// Arranges CPUs by the groups that they are in at each level, coarsest first.
    fn arrange(self, cpus: Vec<usize>, levels: &[Vec<usize>]) -> Vec<usize> {
        let Some((group_of, finer)) = levels.split_first() else { return cpus };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut number = HashMap::new();
        for cpu in cpus {
            let at = *number.entry(group_of[cpu]).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Vec::new());
            }
            groups[at].push(cpu);
        }
        let groups: Vec<Vec<usize>> = groups.into_iter().map(|group| self.arrange(group, finer)).collect();
        match self {
            Self::Sequential => groups.concat(),
            Self::BinaryTree => {
                let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
                (0..longest)
                    .flat_map(|at| groups.iter().filter_map(move |group| group.get(at).copied()))
                    .collect()
            }
        }
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sequential => "sequential",
            Self::BinaryTree => "binary-tree",
        })
    }
}

impl FromStr for Mapping {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|mapping| mapping.to_string() == text).ok_or_else(|| {
            Error::new(format!("'{text}' is no mapping; there are sequential and binary-tree"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::*;

    /// The papers' node: CPUs 0 and 1 share a chip, 0 to 7 a module.
    #[test]
    fn the_papers_orders() {
        let tiers = [(2, 1.0), (8, 2.0), (16, 3.0)].map(|(cpus, ns)| Tier { cpus, ns });
        let machine = Machine::hierarchical(&tiers).unwrap();
        assert_eq!(Mapping::Sequential.order(&machine), (0..16).collect::<Vec<_>>());
        let spread = Mapping::BinaryTree.order(&machine);
        assert_eq!(spread[..2], [0, 8]);
        assert!(spread[..8].iter().all(|cpu| cpu % 2 == 0), "{spread:?}");
    }

    #[test]
    fn siblings_with_distant_numbers_come_together() {
        let matrix = crate::Matrix::parse_csv("\n90\n10,91\n92,11,93\n").unwrap();
        let machine = Machine::from_matrix(&matrix).unwrap();
        assert_eq!(Mapping::Sequential.order(&machine), [0, 2, 1, 3]);
        assert_eq!(Mapping::BinaryTree.order(&machine), [0, 1, 2, 3]);
        assert_eq!("binary-tree".parse(), Ok(Mapping::BinaryTree));
        assert!("tree".parse::<Mapping>().is_err());
    }
}
