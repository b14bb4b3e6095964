//! Sets of CPUs nested into a tree by inclusion: common to the printed tree, hwloc's XML and FreeBSD's groups.

use std::collections::HashMap;

use crate::CpuSet;

/// A set of CPUs, what it represents, and the sets inside it.
#[derive(Debug, Clone)]
pub(crate) struct Nest<T> {
    pub(crate) item: T,
    pub(crate) cpus: CpuSet,
    pub(crate) children: Vec<Nest<T>>,
}

/// Nests `parts` below a root; of equal sets the earlier part is the outer one. Children are ordered by
/// first CPU.
///
/// Also returns the parts that no tree can hold: empty ones, and those that cross a larger or earlier one.
pub(crate) fn nest<T>(root: T, cpus: CpuSet, mut parts: Vec<(T, CpuSet)>) -> (Nest<T>, Vec<(T, CpuSet)>) {
    parts.sort_by_key(|(_, set)| std::cmp::Reverse(set.len()));
    // The innermost placed part around each CPU; 0 is the root.
    let mut around: HashMap<u32, usize> = cpus.iter().map(|cpu| (cpu, 0)).collect();
    let mut placed = vec![(root, cpus, usize::MAX)];
    let mut left_over = Vec::new();
    for (item, set) in parts {
        let parent = set.first().and_then(|cpu| around.get(&cpu).copied());
        match parent {
            Some(parent) if set.iter().all(|cpu| around.get(&cpu) == Some(&parent)) => {
                around.extend(set.iter().map(|cpu| (cpu, placed.len())));
                placed.push((item, set, parent));
            }
            _ => left_over.push((item, set)),
        }
    }
    (assemble(placed), left_over)
}

/// Turns parents' indices, which always point backwards, into a tree.
fn assemble<T>(placed: Vec<(T, CpuSet, usize)>) -> Nest<T> {
    let mut waiting: Vec<Vec<Nest<T>>> = placed.iter().map(|_| Vec::new()).collect();
    let mut root = None;
    for (index, (item, cpus, parent)) in placed.into_iter().enumerate().rev() {
        let mut children = std::mem::take(&mut waiting[index]);
        children.sort_by_key(|child: &Nest<T>| child.cpus.first());
        let nest = Nest { item, cpus, children };
        match waiting.get_mut(parent) {
            Some(siblings) => siblings.push(nest),
            None => root = Some(nest),
        }
    }
    root.expect("the first part placed is the root")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn interleaved_sets_nest_and_crossing_ones_are_handed_back() {
        let parts = ["0-2,4,6", "1,3,5,7", "0", "0,2,4,6", "", "9"].map(|text| (text, set(text)));
        let (tree, left) = nest("all", set("0-7"), parts.to_vec());
        let outer: Vec<_> = tree.children.iter().map(|child| child.item).collect();
        assert_eq!(outer, ["0-2,4,6"]);
        assert_eq!(tree.children[0].children[0].item, "0,2,4,6");
        assert_eq!(tree.children[0].children[0].children[0].item, "0");
        assert_eq!(left.iter().map(|part| part.0).collect::<Vec<_>>(), ["1,3,5,7", "9", ""]);
    }

    #[test]
    fn of_equal_sets_the_earlier_is_outside() {
        let (tree, _) = nest("all", set("0-1"), vec![("L2", set("0-1")), ("L1", set("0-1"))]);
        assert_eq!(tree.children[0].item, "L2");
        assert_eq!(tree.children[0].children[0].item, "L1");
    }
}
