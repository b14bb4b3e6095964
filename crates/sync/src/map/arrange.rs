//! The order of ranks on CPUs by what the CPUs share: the one function behind every mapping.

use std::collections::{HashMap, HashSet};

use super::Mapping;

/// The object that each CPU is in, by the CPU's index; CPUs in no object form one group.
pub type Objects = Vec<Option<usize>>;

impl Mapping {
    /// CPUs by index in the order in which ranks take them. `cores` holds the core of each CPU, whose hardware threads
    /// come after the first ones of all cores; a CPU without one is a core of its own. `inward` holds the other levels
    /// that divide the machine, from the outside inwards.
    ///
    /// ```
    /// use coho_sync::Mapping;
    /// // Two packages of two cores of two threads: 0 and 4 are one core, 0 and 1 one package.
    /// let cores = [0, 1, 2, 3, 0, 1, 2, 3].map(Some);
    /// let packages = [0, 0, 1, 1, 0, 0, 1, 1].map(Some).to_vec();
    /// assert_eq!(Mapping::Sequential.arrange(&cores, &[packages.clone()]), [0, 1, 2, 3, 4, 5, 6, 7]);
    /// assert_eq!(Mapping::BinaryTree.arrange(&cores, &[packages]), [0, 2, 1, 3, 4, 6, 5, 7]);
    /// ```
    ///
    /// # Panics
    /// If a level covers fewer CPUs than `cores`.
    pub fn arrange(self, cores: &[Option<usize>], inward: &[Objects]) -> Vec<usize> {
        let mut rest: Vec<usize> = (0..cores.len()).collect();
        let mut order = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            // One hardware thread from each core that has any left.
            let mut taken = HashSet::new();
            let (turn, siblings) =
                rest.into_iter().partition(|&cpu| cores[cpu].is_none_or(|core| taken.insert(core)));
            rest = siblings;
            let compact = compact(turn, inward);
            order.extend(match self {
                Self::Sequential => compact,
                Self::BinaryTree => spread(&compact, inward),
            });
        }
        order
    }
}

/// Sorts CPUs so that those that share something are adjacent.
fn compact(cpus: Vec<usize>, inward: &[Objects]) -> Vec<usize> {
    let Some((objects, inner)) = inward.split_first() else { return cpus };
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut part_of = HashMap::new();
    for cpu in cpus {
        let part = *part_of.entry(objects[cpu]).or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[part].push(cpu);
    }
    parts.into_iter().flat_map(|cpus| compact(cpus, inner)).collect()
}

/// Takes CPUs from the two halves in turn, from each half in the same way.
fn spread(cpus: &[usize], inward: &[Objects]) -> Vec<usize> {
    if cpus.len() < 3 {
        return cpus.to_vec();
    }
    let (left, right) = cpus.split_at(middle(cpus, inward));
    let (mut left, mut right) = (spread(left, inward).into_iter(), spread(right, inward).into_iter());
    let mut order = Vec::with_capacity(cpus.len());
    while left.len() + right.len() > 0 {
        order.extend(left.next());
        order.extend(right.next());
    }
    order
}

/// Where to halve sorted CPUs: at the border of an outermost object that is nearest to the middle.
fn middle(cpus: &[usize], inward: &[Objects]) -> usize {
    let half = cpus.len().div_ceil(2);
    let nearest = |objects: &Objects| {
        let borders = (1..cpus.len()).filter(|&at| objects[cpus[at - 1]] != objects[cpus[at]]);
        borders.min_by_key(|at| at.abs_diff(half))
    };
    inward.iter().find_map(nearest).unwrap_or(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_levels_cpus_are_taken_by_number_but_siblings_last() {
        let cores = [Some(0), Some(0), Some(1), Some(1), None];
        assert_eq!(Mapping::Sequential.arrange(&cores, &[]), [0, 2, 4, 1, 3]);
        assert_eq!(Mapping::BinaryTree.arrange(&[None; 4], &[]), [0, 2, 1, 3]);
        assert_eq!(Mapping::Sequential.arrange(&[], &[]), Vec::<usize>::new());
    }
}
