//! Which ranks lie near to each other.

use coho_topology::{CpuSet, Level, Topology};

/// A partition of the ranks.
pub(super) type Groups = Vec<Vec<usize>>;

/// A partition of the ranks by a level of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tier {
    pub(super) level: Level,
    pub(super) groups: Groups,
}

/// The levels at which CPUs share something, from the nearest outwards.
const OUTWARD: [Level; 7] =
    [Level::Core, Level::Module, Level::L2, Level::L3, Level::Die, Level::Numa, Level::Package];

/// Partitions of the ranks on these CPUs, each coarser than the one before; neither single ranks nor all together.
pub(super) fn tiers(topology: &Topology, cpus: &[u32]) -> Vec<Tier> {
    let mut tiers: Vec<Tier> = Vec::new();
    for level in OUTWARD {
        let groups = partition(&topology.partition(level), cpus);
        let coarser = match tiers.last().map(|tier| &tier.groups) {
            None => groups.len() < cpus.len(),
            Some(last) => groups.len() < last.len() && last.iter().all(|part| nests(part, &groups)),
        };
        if coarser && groups.len() > 1 {
            tiers.push(Tier { level, groups });
        }
    }
    tiers
}

/// The nearest that all these CPUs share.
pub(super) fn common(topology: &Topology, cpus: &[u32]) -> Option<Level> {
    OUTWARD.into_iter().find(|&level| partition(&topology.partition(level), cpus).len() == 1)
}

fn nests(part: &[usize], groups: &Groups) -> bool {
    groups.iter().any(|group| part.iter().all(|rank| group.contains(rank)))
}

/// Groups in the order of their first ranks; a rank whose CPU no object holds is alone.
fn partition(objects: &[&CpuSet], cpus: &[u32]) -> Groups {
    let mut groups: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    for (rank, &cpu) in cpus.iter().enumerate() {
        let object = objects.iter().position(|set| set.contains(cpu));
        match groups.iter_mut().find(|(of, _)| object.is_some() && *of == object) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((object, vec![rank])),
        }
    }
    groups.into_iter().map(|(_, ranks)| ranks).collect()
}

/// Neighbouring ranks in blocks of at most `size`.
pub(super) fn blocks(threads: usize, size: usize) -> Groups {
    (0..threads).collect::<Vec<_>>().chunks(size).map(<[usize]>::to_vec).collect()
}

/// The groups of a grid: of the given size, that of a level if there is such a one; else the level whose two rounds read
/// the fewest lines, or blocks of about the square root where there is none.
pub(super) fn grid(levels: &[Groups], size: Option<usize>, threads: usize) -> Groups {
    let largest = |groups: &Groups| groups.iter().map(Vec::len).max().unwrap_or(0);
    let level = match size {
        Some(size) => levels.iter().find(|groups| largest(groups) == size),
        None => levels.iter().min_by_key(|groups| groups.len() + largest(groups)),
    };
    level.cloned().unwrap_or_else(|| blocks(threads, size.unwrap_or(threads.isqrt()).max(1)))
}

#[cfg(test)]
mod tests {
    use coho_topology::Unit;

    use super::*;

    fn machine() -> Topology {
        let unit = |list: &str| Unit { id: None, cpus: list.parse().unwrap() };
        Topology {
            packages: vec![unit("0-7"), unit("8-15")],
            dies: vec![unit("0-3"), unit("4-7"), unit("8-11"), unit("12-15")],
            cores: (0..16).map(|cpu| unit(&cpu.to_string())).collect(),
            ..Topology::default()
        }
    }

    #[test]
    fn levels_nest_from_the_nearest_outwards() {
        let cpus: Vec<_> = (0..16).collect();
        let found: Vec<_> = tiers(&machine(), &cpus).into_iter().map(|tier| tier.groups).collect();
        assert_eq!(found, [blocks(16, 4), blocks(16, 8)]);
        assert_eq!(grid(&found, None, 16), blocks(16, 4));
        assert_eq!(grid(&found, Some(8), 16), blocks(16, 8));
        assert_eq!(grid(&found, Some(2), 16), blocks(16, 2));
        // Spread: neighbours in rank are not neighbours on the machine.
        let spread = Tier { level: Level::Die, groups: vec![vec![0, 2], vec![1, 3]] };
        assert_eq!(tiers(&machine(), &[0, 8, 1, 9]), [spread]);
        assert_eq!(tiers(&machine(), &[0, 1]), []);
        assert_eq!(tiers(&Topology::default(), &cpus), []);
        assert_eq!(common(&machine(), &[0, 1]), Some(Level::Die));
        assert_eq!(common(&machine(), &[0, 4]), Some(Level::Package));
        assert_eq!(common(&machine(), &[0, 8]), None);
    }

    #[test]
    fn blocks_without_a_topology() {
        assert_eq!(grid(&[], None, 5), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(grid(&[], None, 1), [vec![0]]);
    }
}
