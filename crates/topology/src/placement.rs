//! Where to put work on a machine: which CPUs several copies, threads or jobs take, in which order.

use std::fmt;
use std::str::FromStr;

use crate::{CpuSet, Level, Topology};

/// Which CPUs are taken first.
///
/// ```
/// use coho_topology::{CpuSet, Placement, Topology, Unit};
/// let cores = ["0-1", "2-3", "4-5", "6-7"].map(|cpus| Unit { id: None, cpus: cpus.parse().unwrap() });
/// let packages = ["0-3", "4-7"].map(|cpus| Unit { id: None, cpus: cpus.parse().unwrap() });
/// let topology = Topology { cores: cores.into(), packages: packages.into(), ..Topology::default() };
/// let first = |placement: &str| placement.parse::<Placement>().unwrap().order(&topology, &CpuSet::up_to(8)).unwrap();
/// assert_eq!(first("compact")[..3], [0, 1, 2]);
/// assert_eq!(first("spread")[..3], [0, 4, 2]);
/// assert_eq!(first("smt")[..3], [0, 1, 2]);
/// assert_eq!(first("package")[..3], [0, 2, 1]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Those that share the nearest cache first.
    Compact,
    /// Those that share the least first.
    Spread,
    /// All within one object of this level, farthest first there, before the next object.
    Level(Level),
    /// Wherever the scheduler puts them.
    None,
}

/// What a machine is divided by, from the outside inwards.
const INWARD: [Level; 8] =
    [Level::Package, Level::Numa, Level::Die, Level::L4, Level::L3, Level::L2, Level::Module, Level::Core];

/// The words that name a level: the usual one for the threads of a core is `smt`.
const WORDS: [(&str, Level); 8] = [
    ("smt", Level::Core),
    ("module", Level::Module),
    ("L2", Level::L2),
    ("L3", Level::L3),
    ("L4", Level::L4),
    ("die", Level::Die),
    ("numa", Level::Numa),
    ("package", Level::Package),
];

impl Placement {
    /// The allowed CPUs in the order in which they are taken; `None` for [`Placement::None`], which takes none, and for
    /// a level of which no object holds two of them.
    pub fn order(self, topology: &Topology, allowed: &CpuSet) -> Option<Vec<u32>> {
        let cpus: Vec<u32> = allowed.iter().collect();
        match self {
            Self::Compact => Some(side_by_side(topology, cpus, &INWARD)),
            Self::Spread => Some(farthest_first(topology, &side_by_side(topology, cpus, &INWARD))),
            Self::Level(level) => {
                let mut objects: Vec<CpuSet> = topology
                    .partition(level)
                    .into_iter()
                    .map(|set| set.intersection(allowed))
                    .filter(|cpus| cpus.len() > 1)
                    .collect();
                if objects.is_empty() {
                    return None;
                }
                // CPUs that share nothing at this level come last.
                let inside = objects.iter().fold(CpuSet::default(), |all, object| all.union(object));
                objects.push(allowed.difference(&inside));
                let order = |object: &CpuSet| {
                    farthest_first(topology, &side_by_side(topology, object.iter().collect(), &INWARD))
                };
                Some(objects.iter().flat_map(order).collect())
            }
            Self::None => None,
        }
    }

    /// Every placement that differs on these CPUs: `none`, `compact`, `spread` and each level that some of them share
    /// but not all the same ones as a nearer level, nearest first.
    pub fn all(topology: &Topology, allowed: &CpuSet) -> Vec<Self> {
        let mut shared: Vec<Vec<CpuSet>> = Vec::new();
        let levels = INWARD.into_iter().rev().filter(|&level| {
            let mut sets: Vec<CpuSet> = topology
                .partition(level)
                .into_iter()
                .map(|set| set.intersection(allowed))
                .filter(|set| set.len() > 1)
                .collect();
            sets.sort();
            let new = !sets.is_empty() && !shared.contains(&sets);
            shared.push(sets);
            new
        });
        [Self::None, Self::Compact, Self::Spread].into_iter().chain(levels.map(Self::Level)).collect()
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compact => f.write_str("compact"),
            Self::Spread => f.write_str("spread"),
            Self::None => f.write_str("none"),
            Self::Level(level) => match WORDS.iter().find(|(_, of)| of == level) {
                Some((word, _)) => f.write_str(word),
                None => write!(f, "{level}"),
            },
        }
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "compact" => Ok(Self::Compact),
            "spread" => Ok(Self::Spread),
            "none" => Ok(Self::None),
            _ => WORDS
                .iter()
                .find(|(word, _)| word.eq_ignore_ascii_case(text))
                .map(|&(_, level)| Self::Level(level))
                .ok_or_else(|| {
                    let words: Vec<_> = WORDS.iter().map(|(word, _)| *word).collect();
                    format!("placements are compact, spread, none and the levels {}", words.join(", "))
                }),
        }
    }
}

/// Sorts CPUs so that those that share something lie side by side.
fn side_by_side(topology: &Topology, mut cpus: Vec<u32>, levels: &[Level]) -> Vec<u32> {
    let objects: Vec<_> = levels.iter().map(|&level| topology.partition(level)).collect();
    let place = |cpu: u32| -> Vec<Option<usize>> {
        objects.iter().map(|sets| sets.iter().position(|set| set.contains(cpu))).collect()
    };
    // Objects are ordered by their first CPUs, so that CPUs keep their order where nothing else decides.
    cpus.sort_by_cached_key(|&cpu| (place(cpu), cpu));
    cpus
}

/// Takes the CPU next whose company so far is least, from the outermost level inwards.
fn farthest_first(topology: &Topology, cpus: &[u32]) -> Vec<u32> {
    let objects: Vec<_> = INWARD.iter().map(|&level| topology.partition(level)).collect();
    let place = |&cpu: &u32| -> Vec<Option<usize>> {
        objects.iter().map(|sets| sets.iter().position(|set| set.contains(cpu))).collect()
    };
    let mut left: Vec<(u32, Vec<Option<usize>>)> = cpus.iter().map(|cpu| (*cpu, place(cpu))).collect();
    let mut taken: Vec<Vec<usize>> = objects.iter().map(|sets| vec![0; sets.len()]).collect();
    let mut order = Vec::with_capacity(cpus.len());
    while !left.is_empty() {
        let company = |place: &[Option<usize>]| -> Vec<usize> {
            place.iter().zip(&taken).map(|(object, taken)| object.map_or(0, |object| taken[object])).collect()
        };
        let next = (0..left.len()).min_by_key(|&at| company(&left[at].1)).expect("some are left");
        let (cpu, place) = left.remove(next);
        for (object, taken) in place.into_iter().zip(&mut taken) {
            if let Some(object) = object {
                taken[object] += 1;
            }
        }
        order.push(cpu);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, CacheKind, Unit};

    fn units(lists: &[&str]) -> Vec<Unit> {
        lists.iter().map(|list| Unit { id: None, cpus: list.parse().unwrap() }).collect()
    }

    /// An A10-6800K: two modules of two cores, a level-2 cache each.
    fn piledriver() -> Topology {
        let l2 = |cpus: &str| Cache {
            level: 2,
            kind: CacheKind::Unified,
            size_bytes: 2 << 20,
            line_bytes: None,
            ways: None,
            cpus: cpus.parse().unwrap(),
        };
        Topology {
            packages: units(&["0-3"]),
            modules: units(&["0-1", "2-3"]),
            cores: units(&["0", "1", "2", "3"]),
            caches: vec![l2("0-1"), l2("2-3")],
            ..Topology::default()
        }
    }

    #[test]
    fn modules_are_filled_or_spared() {
        let (topology, all) = (piledriver(), CpuSet::up_to(4));
        let order = |placement: Placement| placement.order(&topology, &all);
        assert_eq!(order(Placement::Compact).unwrap(), [0, 1, 2, 3]);
        assert_eq!(order(Placement::Spread).unwrap(), [0, 2, 1, 3]);
        assert_eq!(order(Placement::Level(Level::Module)).unwrap(), [0, 1, 2, 3]);
        assert_eq!(order(Placement::Level(Level::Package)).unwrap(), [0, 2, 1, 3]);
        // No core has two threads, and there is no level-3 cache.
        assert_eq!((order(Placement::Level(Level::Core)), order(Placement::Level(Level::L3))), (None, None));
        assert_eq!(order(Placement::None), None);
    }

    #[test]
    fn only_allowed_cpus_are_taken() {
        let allowed: CpuSet = "1-3".parse().unwrap();
        let order = |placement: Placement| placement.order(&piledriver(), &allowed).unwrap();
        assert_eq!(order(Placement::Spread), [1, 2, 3]);
        // CPU 1 has lost its neighbour.
        assert_eq!(order(Placement::Level(Level::Module)), [2, 3, 1]);
    }

    #[test]
    fn levels_that_are_the_same_are_one() {
        let all =
            |cpus| Placement::all(&piledriver(), &CpuSet::up_to(cpus)).into_iter().map(|p| p.to_string());
        assert_eq!(all(4).collect::<Vec<_>>(), ["none", "compact", "spread", "module", "package"]);
        assert_eq!(all(2).collect::<Vec<_>>(), ["none", "compact", "spread", "module"]);
        assert_eq!(all(1).collect::<Vec<_>>(), ["none", "compact", "spread"]);
    }

    #[test]
    fn names_are_read_back() {
        for word in ["compact", "spread", "none"].into_iter().chain(WORDS.map(|(word, _)| word)) {
            assert_eq!(word.parse::<Placement>().unwrap().to_string(), word);
        }
        assert_eq!("l3".parse(), Ok(Placement::Level(Level::L3)));
        assert!("scatter".parse::<Placement>().unwrap_err().contains("spread"));
    }

    #[test]
    fn second_threads_are_near_for_compact_and_last_for_spread() {
        // Linux's usual numbering: packages interleaved, second threads at the end.
        let topology = Topology {
            packages: units(&["0,2,4,6", "1,3,5,7"]),
            cores: units(&["0,4", "1,5", "2,6", "3,7"]),
            ..Topology::default()
        };
        let order = |placement: Placement| placement.order(&topology, &CpuSet::up_to(8)).unwrap();
        assert_eq!(order(Placement::Compact), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(order(Placement::Spread), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(Placement::Level(Level::Package)), [0, 2, 4, 6, 1, 3, 5, 7]);
    }
}
