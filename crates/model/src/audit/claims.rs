//! What the topology claims about each pair of CPUs.

use std::collections::HashMap;

use coho_topology::{CpuSet, Level, Topology};

/// The levels that bring CPUs nearer to each other, innermost first, with the words for one object of each.
const INWARD: [(Level, &str); 7] = [
    (Level::Core, "a core"),
    (Level::Module, "a module"),
    (Level::L2, "an L2"),
    (Level::L3, "an L3"),
    (Level::Die, "a die"),
    (Level::Numa, "a NUMA node"),
    (Level::Package, "a package"),
];

/// How near a topology claims two CPUs to be: the rank of the innermost level that they share; [`BEYOND`] if none.
pub(super) type Rank = usize;

/// The rank of CPUs that share nothing.
pub(super) const BEYOND: Rank = INWARD.len();

/// The topology, arranged for queries about pairs.
pub(super) struct Claims<'a> {
    /// The objects of each level.
    units: Vec<Vec<&'a CpuSet>>,
    /// For each CPU the index of its object at each level.
    units_of: HashMap<u32, [Option<usize>; BEYOND]>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(topology: &'a Topology) -> Self {
        let units: Vec<Vec<&CpuSet>> = INWARD.iter().map(|(level, _)| topology.partition(*level)).collect();
        let mut units_of: HashMap<u32, [Option<usize>; BEYOND]> = HashMap::new();
        for (rank, sets) in units.iter().enumerate() {
            for (index, set) in sets.iter().enumerate() {
                for cpu in set.iter() {
                    units_of.entry(cpu).or_default()[rank].get_or_insert(index);
                }
            }
        }
        Self { units, units_of }
    }

    /// Whether the topology knows a CPU.
    pub(super) fn knows(&self, cpu: u32) -> bool {
        self.units_of.contains_key(&cpu)
    }

    /// The innermost level that two CPUs share.
    pub(super) fn rank(&self, a: u32, b: u32) -> Rank {
        (0..BEYOND)
            .find(|&rank| self.unit(rank, a).is_some() && self.unit(rank, a) == self.unit(rank, b))
            .unwrap_or(BEYOND)
    }

    /// The index of a CPU's object at a level.
    pub(super) fn unit(&self, rank: Rank, cpu: u32) -> Option<usize> {
        *self.units_of.get(&cpu)?.get(rank)?
    }

    /// The CPUs of an object.
    pub(super) fn members(&self, rank: Rank, unit: usize) -> &CpuSet {
        self.units[rank][unit]
    }
}

/// `an L3`; `something` for what brings no CPUs together.
pub(crate) fn a(level: Level) -> &'static str {
    INWARD.iter().find(|(known, _)| *known == level).map_or("something", |(_, words)| words)
}

/// `an L3`; `nothing` beyond all levels.
pub(super) fn of_rank(rank: Rank) -> &'static str {
    INWARD.get(rank).map_or("nothing", |(_, words)| words)
}

/// The level of a rank.
pub(super) fn level(rank: Rank) -> Option<Level> {
    INWARD.get(rank).map(|(level, _)| *level)
}

/// `CPUs 0 and 1`, `CPUs 0-7`, `CPU 3`.
pub(super) fn name(cpus: &[u32]) -> String {
    match cpus {
        [cpu] => format!("CPU {cpu}"),
        [a, b] => format!("CPUs {a} and {b}"),
        many => format!("CPUs {}", many.iter().copied().collect::<CpuSet>()),
    }
}
