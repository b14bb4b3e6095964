//! Groups ranks that are near each other, by the machine's topology.

use coho_topology::{CpuSet, Level, Topology};

use super::groups::{Groups, Layout, Tier, USUAL_NS};

/// The assumed one-way time between CPUs that share at least this level, in ns. Only rough ratios between these times
/// matter.
fn usual_ns(level: Level) -> f64 {
    match level {
        Level::Core => 10.0,
        Level::Module | Level::L2 => 20.0,
        Level::L3 => 30.0,
        Level::Die => 60.0,
        Level::Numa => 80.0,
        _ => 100.0,
    }
}

/// How near the CPUs of the ranks are to each other.
pub(super) fn layout(topology: &Topology, cpus: &[u32]) -> Layout {
    let common =
        Level::OUTWARD.into_iter().find(|&level| partition(&topology.partition(level), cpus).len() == 1);
    Layout { tiers: tiers(topology, cpus), usual_ns: common.map_or(USUAL_NS, usual_ns) }
}

fn tiers(topology: &Topology, cpus: &[u32]) -> Vec<Tier> {
    let mut tiers: Vec<Tier> = Vec::new();
    for level in Level::OUTWARD {
        let groups = partition(&topology.partition(level), cpus);
        let coarser = match tiers.last().map(|tier| &tier.groups) {
            None => groups.len() < cpus.len(),
            Some(last) => groups.len() < last.len() && last.iter().all(|part| nests(part, &groups)),
        };
        if coarser && groups.len() > 1 {
            tiers.push(Tier { usual_ns: usual_ns(level), groups });
        }
    }
    tiers
}

fn nests(part: &[usize], groups: &Groups) -> bool {
    groups.iter().any(|group| part.iter().all(|rank| group.contains(rank)))
}

/// Groups in the order of their first ranks; a rank whose CPU is in no object is alone.
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

#[cfg(test)]
mod tests {
    use coho_topology::Unit;

    use super::super::groups::blocks;
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
        // Spread: neighbours in rank are not neighbours on the machine.
        let spread = Tier { usual_ns: usual_ns(Level::Die), groups: vec![vec![0, 2], vec![1, 3]] };
        assert_eq!(tiers(&machine(), &[0, 8, 1, 9]), [spread]);
        assert_eq!(tiers(&machine(), &[0, 1]), []);
        assert_eq!(layout(&Topology::default(), &cpus), Layout::UNKNOWN);
        let usual = |cpus: &[u32]| layout(&machine(), cpus).usual_ns;
        assert_eq!(usual(&[0, 1]), usual_ns(Level::Die));
        assert_eq!(usual(&[0, 4]), usual_ns(Level::Package));
        assert_eq!(usual(&[0, 8]), USUAL_NS);
    }
}
