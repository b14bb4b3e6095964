//! What holds for every topology, whatever it was decoded from.

use coho_topology::{CpuSet, Level, Topology};

/// Checks that every set lies within the topology's CPUs and is not empty, that every level is a partition, that
/// packages, cores and memory nodes hold every CPU, that cores and dies lie in one package each, and that every PU is
/// named.
pub fn assert_consistent(topology: &Topology) {
    let cpus = topology.cpus();
    assert!(!cpus.is_empty(), "no CPU");
    assert_eq!(cpus.len(), topology.pus.len(), "a CPU occurs twice");
    let levels = [
        Level::Core,
        Level::Module,
        Level::L1,
        Level::L2,
        Level::L3,
        Level::L4,
        Level::Numa,
        Level::Die,
        Level::Package,
        Level::Kind,
    ];
    for level in levels {
        let sets = topology.partition(level);
        let union = assert_disjoint(level, &sets);
        assert!(union.is_subset(&cpus), "{level}: {union} is not within {cpus}");
        if matches!(level, Level::Core | Level::Package | Level::Numa) {
            assert_eq!(union, cpus, "{level} does not hold every CPU");
        }
        if matches!(level, Level::Core | Level::Die) {
            let packages = topology.partition(Level::Package);
            for set in sets {
                assert!(
                    packages.iter().any(|package| set.is_subset(package)),
                    "{level} {set} spans packages"
                );
            }
        }
    }
    for cache in &topology.caches {
        assert!(cache.level > 0 && !cache.cpus.is_empty() && cache.cpus.is_subset(&cpus), "{cache:?}");
    }
    let mut names: Vec<_> = topology.pus.iter().map(|pu| &pu.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), topology.pus.len(), "two PUs of one name");
}

fn assert_disjoint(level: Level, sets: &[&CpuSet]) -> CpuSet {
    let mut union = CpuSet::new();
    for set in sets {
        assert!(!set.is_empty(), "{level}: an empty set");
        assert!(!union.intersects(set), "{level}: {set} overlaps others");
        union = union.union(set);
    }
    union
}
