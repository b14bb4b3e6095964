//! Which ranks lie near to each other.

use coho_topology::{CpuSet, Level, Topology};

/// A partition of the ranks.
pub(super) type Groups = Vec<Vec<usize>>;

/// The levels at which CPUs share something, from the nearest outwards.
const OUTWARD: [Level; 7] =
    [Level::Core, Level::Module, Level::L2, Level::L3, Level::Die, Level::Numa, Level::Package];

/// Partitions of the ranks on these CPUs, each coarser than the one before; neither single ranks nor all together.
pub(super) fn levels(topology: &Topology, cpus: &[u32]) -> Vec<Groups> {
    let mut levels: Vec<Groups> = Vec::new();
    for level in OUTWARD {
        let groups = partition(&topology.partition(level), cpus);
        let coarser = match levels.last() {
            None => groups.len() < cpus.len(),
            Some(last) => groups.len() < last.len() && last.iter().all(|part| nests(part, &groups)),
        };
        if coarser && groups.len() > 1 {
            levels.push(groups);
        }
    }
    levels
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

/// The level for a grid: that whose two rounds read the fewest lines; blocks of about the square root where there is
/// none.
pub(super) fn grid(levels: &[Groups], threads: usize) -> Groups {
    let lines = |groups: &Groups| groups.len() + groups.iter().map(Vec::len).max().unwrap_or(0);
    let square = || blocks(threads, threads.isqrt().max(1));
    levels.iter().min_by_key(|groups| lines(groups)).cloned().unwrap_or_else(square)
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
        let found = levels(&machine(), &cpus);
        assert_eq!(found, [blocks(16, 4), blocks(16, 8)]);
        assert_eq!(grid(&found, 16), blocks(16, 4));
        // Spread: neighbours in rank are not neighbours on the machine.
        assert_eq!(levels(&machine(), &[0, 8, 1, 9]), [vec![vec![0, 2], vec![1, 3]]]);
        assert_eq!(levels(&machine(), &[0, 1]), Vec::<Groups>::new());
        assert_eq!(levels(&Topology::default(), &cpus), Vec::<Groups>::new());
    }

    #[test]
    fn blocks_without_a_topology() {
        assert_eq!(grid(&[], 5), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(grid(&[], 1), [vec![0]]);
    }
}
