//! Which CPUs share what, arranged for questions about many pairs.

use std::collections::HashMap;

use crate::{Level, Topology};

/// Answers [`Topology::closest_shared`] for many pairs: it looks at the objects of two CPUs rather than at all objects.
///
/// ```
/// use coho_topology::{Level, Sharing, Topology, Unit};
///
/// let package = Unit { id: None, cpus: "0-3".parse()? };
/// let topology = Topology { packages: vec![package], ..Topology::default() };
/// let sharing = Sharing::of(&topology);
/// assert_eq!(sharing.closest(0, 3), Some(Level::Package));
/// assert_eq!(sharing.closest(0, 4), None);
/// # Ok::<(), coho_topology::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sharing {
    /// The objects that hold each CPU, from the inside outwards: a level, and the number of the object within it.
    objects: HashMap<u32, Vec<(Level, usize)>>,
}

impl Sharing {
    /// Arranges a topology.
    pub fn of(topology: &Topology) -> Self {
        let mut objects = HashMap::<u32, Vec<(Level, usize)>>::new();
        for level in Level::OUTWARD {
            for (number, cpus) in topology.partition(level).into_iter().enumerate() {
                for cpu in cpus.iter() {
                    objects.entry(cpu).or_default().push((level, number));
                }
            }
        }
        Self { objects }
    }

    /// The smallest level whose object holds both CPUs, as [`Topology::closest_shared`] has it.
    pub fn closest(&self, a: u32, b: u32) -> Option<Level> {
        let (a, b) = (self.objects.get(&a)?, self.objects.get(&b)?);
        a.iter().find(|object| b.contains(object)).map(|(level, _)| *level)
    }

    /// What the topology claims that both CPUs share, as [`Topology::claimed`] has it.
    pub fn claimed(&self, a: u32, b: u32) -> String {
        claimed(self.closest(a, b))
    }
}

/// A claim's words.
pub(crate) fn claimed(closest: Option<Level>) -> String {
    closest.map_or_else(|| "system".to_owned(), |level| level.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NumaNode, Unit};

    #[test]
    fn many_pairs_are_answered_like_one() {
        let units = |sets: &[&str]| -> Vec<Unit> {
            sets.iter().map(|cpus| Unit { id: None, cpus: cpus.parse().unwrap() }).collect()
        };
        // Modules that overlap, a CPU outside every core, and a node without CPUs.
        let topology = Topology {
            packages: units(&["0-5", "6-9"]),
            modules: units(&["0-3", "2-5"]),
            cores: units(&["0,4", "1", "2-3", "6,8", "7"]),
            numa_nodes: vec![
                NumaNode::default(),
                NumaNode { cpus: "0-9".parse().unwrap(), ..NumaNode::default() },
            ],
            ..Topology::default()
        };
        let sharing = Sharing::of(&topology);
        for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
            assert_eq!(sharing.closest(a, b), topology.closest_shared(a, b), "{a} and {b}");
            assert_eq!(sharing.claimed(a, b), topology.claimed(a, b));
        }
    }
}
