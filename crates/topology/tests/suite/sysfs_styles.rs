//! The same machine under kernels of all ages gives one topology, which agrees with lstopo.

use std::collections::BTreeMap;
use std::process::Command;

use coho_testing::{Capability, data, needs};
use coho_topology::{CpuSet, Level, Topology, hwloc, sysfs};
use proptest::prelude::*;

use crate::sysfs_support::{Machine, Style, Tree};

fn machines() -> impl Strategy<Value = Machine> {
    (1..3u32, 1..3u32, 1..4u32, 1..4u32).prop_map(|(packages, dies, cores, threads)| Machine {
        packages,
        dies,
        cores,
        threads,
    })
}

/// Kernels that write lists, maps or both, with all CPUs online.
fn styles() -> impl Strategy<Value = Style> {
    let forms = prop::sample::select(vec![(true, false), (false, true), (true, true)]);
    (forms, any::<[bool; 3]>(), 0..5usize, 0..3u32, 1..4u32).prop_map(
        |((lists, maps), [old_names, nuls, summaries], spare_words, first_index, index_step)| Style {
            lists,
            maps,
            old_names,
            nuls,
            spare_words,
            first_index,
            index_step,
            summaries,
            offline: CpuSet::new(),
        },
    )
}

/// Some CPUs, never all.
fn some(cpus: u32, choice: u64) -> CpuSet {
    (1..cpus).filter(|cpu| choice >> (cpu % 64) & 1 == 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_tells_the_same(machine in machines(), style in styles(), choice in any::<u64>()) {
        let offline = some(machine.cpus(), choice & choice >> 1);
        let today = Style { offline: offline.clone(), ..Style::default() };
        let style = Style { offline, ..style };
        let expected = sysfs::read(machine.build_as(&today).path()).unwrap();
        prop_assert_eq!(&expected.notes, &Vec::<String>::new());
        prop_assert_eq!(sysfs::read(machine.build_as(&style).path()).unwrap(), expected);
    }
}

const LEVELS: [(&str, Level); 6] = [
    ("Package", Level::Package),
    ("NUMANode", Level::Numa),
    ("L3Cache", Level::L3),
    ("L2Cache", Level::L2),
    ("L1dCache", Level::L1),
    ("Core", Level::Core),
];

fn own_sets(topology: &Topology, level: Level) -> Vec<CpuSet> {
    let mut sets: Vec<CpuSet> = topology.partition(level).into_iter().cloned().collect();
    sets.sort();
    sets
}

/// The CPUs of each object that lstopo prints, by type. Objects stand inside by indentation; a memory node's CPUs are its
/// parent's.
fn sets_of_console(text: &str) -> BTreeMap<String, Vec<CpuSet>> {
    let mut objects: Vec<(usize, String, CpuSet, Option<usize>)> = Vec::new();
    for line in text.lines().take_while(|line| !line.starts_with("depth")) {
        let depth = line.len() - line.trim_start().len();
        let kind = line.trim_start().split(' ').next().unwrap().to_owned();
        let parent = objects.iter().rposition(|object| object.0 < depth && object.1 != "NUMANode");
        if kind == "PU" {
            let number = line.split("P#").nth(1).unwrap().split(')').next().unwrap().parse().unwrap();
            let mut above = parent;
            while let Some(at) = above {
                objects[at].2.insert(number);
                above = objects[at].3;
            }
        }
        objects.push((depth, kind, CpuSet::new(), parent));
    }
    let mut sets = BTreeMap::<String, Vec<CpuSet>>::new();
    for (_, kind, cpus, parent) in &objects {
        let cpus = if kind == "NUMANode" { &objects[parent.unwrap()].2 } else { cpus };
        sets.entry(kind.clone()).or_default().push(cpus.clone());
    }
    sets.values_mut().for_each(|sets| sets.sort());
    sets
}

fn assert_same_sets(topology: &Topology, console: &str, what: &str) {
    let sets = sets_of_console(console);
    assert_eq!(topology.pus.len(), sets["PU"].len(), "{what}: PU");
    for (kind, level) in LEVELS {
        assert_eq!(own_sets(topology, level), *sets.get(kind).unwrap_or(&Vec::new()), "{what}: {kind}");
    }
}

#[test]
fn recorded_trees_are_what_lstopo_says_they_are() {
    for name in ["16em64t-4s2c2t", "96em64t-4no4pa3ca2co"] {
        let topology = sysfs::read(Tree::recorded(name).path()).unwrap();
        let console = std::fs::read_to_string(data(&format!("sysfs/{name}.console"))).unwrap();
        assert_same_sets(&topology, &console, name);
        assert_eq!((topology.notes, topology.disagreements), (vec![], vec![]), "{name}");
    }
}

#[test]
fn sizes_and_distances_of_the_recorded_trees() {
    let topology = sysfs::read(Tree::recorded("96em64t-4no4pa3ca2co").path()).unwrap();
    let size = |level| topology.caches.iter().find(|cache| cache.level == level).unwrap();
    assert_eq!([1, 2, 3].map(|level| size(level).size_bytes >> 10), [32, 3072, 16384]);
    assert_eq!([1, 2, 3].map(|level| size(level).ways), [Some(8), Some(12), Some(16)]);
    assert_eq!(topology.numa_nodes[1].distances, [26, 10, 26, 26]);
    assert_eq!(topology.numa_nodes[3].memory_bytes.map(|bytes| bytes >> 30), Some(126));
}

/// What lstopo reads of a tree, as its own XML, which it writes with CPU sets.
fn lstopo(tree: &Tree) -> Topology {
    let output = Command::new("lstopo-no-graphics")
        .args(["--no-io", "--of", "xml"])
        .env("HWLOC_FSROOT", tree.path())
        .env("HWLOC_THISSYSTEM", "0")
        .env("HWLOC_COMPONENTS", "linux,stop")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    hwloc::parse(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

#[test]
fn lstopo_reads_the_same_of_any_kernel() {
    needs!(Capability::Lstopo);
    let machines = [
        Machine { packages: 1, dies: 1, cores: 3, threads: 1 },
        Machine { packages: 2, dies: 1, cores: 4, threads: 2 },
        Machine { packages: 3, dies: 2, cores: 3, threads: 2 },
    ];
    // lstopo reads only maps.
    let maps = Style { maps: true, ..Style::default() };
    for machine in machines {
        for style in [
            maps.clone(),
            Style { old_names: true, lists: false, ..maps.clone() },
            Style { old_names: true, lists: false, summaries: false, spare_words: 3, ..maps.clone() },
            Style { first_index: 1, index_step: 2, ..maps.clone() },
            Style { offline: some(machine.cpus(), 0b10110), ..maps.clone() },
            Style {
                offline: some(machine.cpus(), 0b1101000),
                lists: false,
                summaries: false,
                ..maps.clone()
            },
        ] {
            let tree = machine.build_as(&style);
            // It finds packages by their CPUs.
            for (cpu, package) in packages(&sysfs::read(tree.path()).unwrap()) {
                let name = if style.old_names { "core_siblings" } else { "package_cpus" };
                tree.write(&format!("cpu/cpu{cpu}/topology/{name}"), &mask(&package));
            }
            let (own, theirs) = (sysfs::read(tree.path()).unwrap(), lstopo(&tree));
            for (kind, level) in LEVELS {
                assert_eq!(own_sets(&own, level), own_sets(&theirs, level), "{machine:?}, {style:?}: {kind}");
            }
            assert_eq!(own.cpus(), theirs.cpus(), "{machine:?}, {style:?}");
        }
    }
}

/// Each CPU with those of its package.
fn packages(topology: &Topology) -> Vec<(u32, CpuSet)> {
    let packages = topology.partition(Level::Package).into_iter();
    packages.flat_map(|package| package.iter().map(move |cpu| (cpu, package.clone()))).collect()
}

fn mask(cpus: &CpuSet) -> String {
    let words =
        cpus.words().iter().rev().map(|word| format!("{:08x},{:08x}", word >> 32, word & 0xFFFF_FFFF));
    words.collect::<Vec<_>>().join(",")
}
