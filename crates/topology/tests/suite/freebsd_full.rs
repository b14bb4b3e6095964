//! `full` groups hold all that FreeBSD's XML can, so a topology survives them.

use coho_testing::data;
use coho_topology::freebsd::{Variant, parse, predict, to_topology};
use coho_topology::{CpuSet, Level, Topology, load, sysfs};

use crate::sysfs_support::{Machine, Tree};

const LEVELS: [Level; 9] = [
    Level::Package,
    Level::Die,
    Level::Numa,
    Level::L4,
    Level::L3,
    Level::Module,
    Level::L2,
    Level::L1,
    Level::Core,
];

fn assert_survives(topology: &Topology, what: &str) {
    let spec = predict(Variant::Full, topology, None).unwrap();
    let again = to_topology(&parse(&spec.to_xml(16).unwrap()).unwrap());
    let sets = |topology: &Topology, level| {
        let mut sets: Vec<CpuSet> = topology.partition(level).into_iter().cloned().collect();
        sets.retain(|set| !set.is_empty());
        sets.sort();
        sets
    };
    for level in LEVELS {
        assert_eq!(sets(&again, level), sets(topology, level), "{what}: {level}");
    }
}

#[test]
fn recorded_machines_survive() {
    let entries =
        [data("cpuid"), data("cpuid/odd"), data("cpuid/libcpuid")].map(|dir| std::fs::read_dir(dir).unwrap());
    let files = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        files.filter(|path| path.is_file() && path.extension().is_none_or(|name| name != "json")).collect();
    assert!(files.len() > 25);
    for file in files {
        assert_survives(&load(&file).unwrap().topology, &file.display().to_string());
    }
}

#[test]
fn trees_survive() {
    for (name, _, tree) in Tree::all_recorded("lscpu.trees") {
        let topology = sysfs::read(tree.path()).unwrap();
        // What has no cores gets one for each CPU.
        if !topology.cores.is_empty() {
            assert_survives(&topology, &name);
        }
    }
}

#[test]
fn every_shape_survives() {
    for (packages, dies, cores, threads) in
        [(1, 1, 1, 1), (1, 1, 1, 2), (1, 1, 4, 1), (4, 1, 1, 1), (2, 2, 1, 1), (2, 2, 2, 2), (3, 1, 1, 2)]
    {
        let machine = Machine { packages, dies, cores, threads };
        let topology = sysfs::read(machine.build().path()).unwrap();
        assert_survives(&topology, &format!("{machine:?}"));
    }
}

/// An L2 beside CPUs without one, and modules of which one has a core left.
#[test]
fn unlike_cpus_survive() {
    let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
    tree.remove("cpu/cpu3/cache/index2");
    for (cpu, cluster) in [(0, "0-1"), (1, "0-1"), (2, "2"), (3, "3")] {
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_id"), "1");
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_cpus_list"), cluster);
    }
    let topology = sysfs::read(tree.path()).unwrap();
    assert_eq!((topology.counts().l2, topology.counts().module), (3, 3));
    assert_survives(&topology, "unlike CPUs");
}
