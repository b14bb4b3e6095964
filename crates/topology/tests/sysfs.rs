//! Sysfs trees made up: shapes of machines, holes, contradictions, hostility.

mod sysfs_support;

use std::path::Path;

use coho_topology::{CpuSet, Level, Source, Topology, sysfs};
use sysfs_support::{Machine, Tree};

fn read(tree: &Tree) -> Topology {
    sysfs::read(tree.path()).unwrap()
}

fn sets(topology: &Topology, level: Level) -> Vec<String> {
    topology.partition(level).iter().map(ToString::to_string).collect()
}

#[test]
fn two_packages_of_two_dies_with_smt() {
    // CPU numbers as Linux gives them on x86: first threads first.
    let machine = Machine { packages: 2, dies: 2, cores: 2, threads: 2 };
    let topology = read(&machine.build());
    let counts = topology.counts();
    assert_eq!((counts.package, counts.die, counts.numa, counts.l3), (2, 4, 2, 4));
    assert_eq!((counts.l2, counts.core, counts.pu), (8, 8, 16));
    assert_eq!(sets(&topology, Level::Package), ["0-3,8-11", "4-7,12-15"]);
    assert_eq!(sets(&topology, Level::Die)[0], "0-1,8-9");
    assert_eq!(sets(&topology, Level::Core)[0], "0,8");
    assert_eq!(topology.pu(12).unwrap().name, "P1.C0.T1");
    assert_eq!(topology.numa_nodes[1].memory_bytes, Some(1024 * 1024));
    assert_eq!(topology.numa_nodes[1].distances, [21, 10]);
    assert_eq!(topology.caches.iter().find(|cache| cache.level == 3).unwrap().size_bytes, 32 << 20);
    assert_eq!(topology.cpu.brand.as_deref(), Some("Made Up 9000"));
    assert_eq!(topology.disagreements, []);
}

#[test]
fn a_die_for_each_package_is_no_level() {
    let topology = read(&Machine { packages: 2, dies: 1, cores: 2, threads: 1 }.build());
    assert_eq!((topology.counts().package, topology.counts().die), (2, 0));
}

#[test]
fn every_layout_of_a_copied_tree_is_found() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    for below in ["", "sys", "sys/devices/system"] {
        assert_eq!(sysfs::read(&tree.path().join(below)).unwrap().counts().pu, 2, "{below}");
    }
    let error = sysfs::read(&tree.path().join("proc")).unwrap_err();
    assert!(error.to_string().contains("no sysfs tree"), "{error}");
}

#[test]
fn offline_cpus_and_holes() {
    let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
    tree.write("cpu/online", "0,2-3");
    tree.write("cpu/present", "0-3,7");
    tree.remove("cpu/cpu1");
    let topology = read(&tree);
    assert_eq!(topology.cpus().to_string(), "0,2-3");
    assert_eq!(topology.offline.to_string(), "1,7");
    assert_eq!(sets(&topology, Level::L3), ["0,2-3"]);
    assert_eq!(sets(&topology, Level::Numa), ["0,2-3"]);
    assert_eq!(topology.pu(3).unwrap().name, "C2");
}

#[test]
fn without_lists_the_directories_tell() {
    let tree = Machine { packages: 1, dies: 1, cores: 3, threads: 1 }.build();
    tree.remove("cpu/online");
    tree.remove("cpu/present");
    tree.write("cpu/cpu2/online", "0");
    let topology = read(&tree);
    assert_eq!(topology.cpus().to_string(), "0-1");
    assert_eq!(topology.offline.to_string(), "2");
}

#[test]
fn what_is_missing_stays_untold() {
    let tree = Tree::new();
    tree.write("cpu/online", "0-3");
    let topology = read(&tree);
    let counts = topology.counts();
    assert_eq!((counts.package, counts.numa, counts.core, counts.l2, counts.pu), (1, 1, 0, 0, 4));
    let assumed: Vec<Level> =
        topology.facts.iter().filter(|fact| fact.source == Source::Assumed).map(|fact| fact.level).collect();
    assert_eq!(assumed, [Level::Package, Level::Numa]);
    assert_eq!(topology.pu(3).unwrap().name, "CPU3");
}

#[test]
fn a_node_of_memory_alone() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.write("node/online", "0,2");
    tree.write("node/node0/distance", "10 17");
    tree.write("node/node2/cpulist", "");
    tree.write("node/node2/distance", "17 10");
    tree.write("node/node2/meminfo", "Node 2 MemTotal:       2048 kB\nNode 2 MemFree: 1 kB");
    let topology = read(&tree);
    let node = &topology.numa_nodes[1];
    assert_eq!((node.os, node.cpus.is_empty(), node.memory_bytes), (2, true, Some(2 << 20)));
    assert_eq!(topology.numa_nodes[0].distances, [10, 17]);
}

#[test]
fn arm_clusters_and_capacities() {
    let tree = Tree::new();
    tree.write_root("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n");
    tree.write("cpu/online", "0-5");
    for cpu in 0..6 {
        let (cluster, list, capacity) = if cpu < 4 { (0, "0-3", 400) } else { (1, "4-5", 1024) };
        tree.write(&format!("cpu/cpu{cpu}/topology/physical_package_id"), "0");
        tree.write(&format!("cpu/cpu{cpu}/topology/die_id"), "-1");
        tree.write(&format!("cpu/cpu{cpu}/topology/core_id"), &cpu.to_string());
        tree.write(&format!("cpu/cpu{cpu}/topology/core_cpus_list"), &cpu.to_string());
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_id"), &cluster.to_string());
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_cpus_list"), list);
        tree.write(&format!("cpu/cpu{cpu}/cpu_capacity"), &capacity.to_string());
    }
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::Module), ["0-3", "4-5"]);
    assert_eq!(sets(&topology, Level::Kind), ["0-3", "4-5"]);
    assert_eq!(topology.counts().die, 0);
    assert_eq!(topology.cpu.vendor.as_deref(), Some("ARM"));
}

#[test]
fn unknown_packages_are_assumed_to_be_one() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    for cpu in 0..2 {
        tree.write(&format!("cpu/cpu{cpu}/topology/physical_package_id"), "-1");
        tree.write(&format!("cpu/cpu{cpu}/topology/die_id"), "-1");
    }
    assert_eq!(sets(&read(&tree), Level::Package), ["0-1"]);
}

#[test]
fn family_15h_modules_are_not_cores() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 2 }.build();
    tree.write_root("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 21\n");
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::Module), ["0,2", "1,3"]);
    assert_eq!(sets(&topology, Level::Core), ["0", "1", "2", "3"]);
}

#[test]
fn x86_clusters_that_repeat_the_l2_are_no_modules() {
    let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
    for cpu in 0..4 {
        let list = if cpu < 2 { "0-1" } else { "2-3" };
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_id"), "1");
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_cpus_list"), list);
        tree.write(&format!("cpu/cpu{cpu}/cache/index2/shared_cpu_list"), list);
    }
    assert_eq!(read(&tree).counts().module, 0);
}

#[test]
fn hybrid_kinds() {
    let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
    tree.write_root("sys/devices/cpu_core/cpus", "0-1");
    tree.write_root("sys/devices/cpu_atom/cpus", "2-3");
    let kinds: Vec<(String, String)> =
        read(&tree).kinds.into_iter().map(|kind| (kind.name, kind.cpus.to_string())).collect();
    assert_eq!(kinds, [("IntelCore".into(), "0-1".into()), ("IntelAtom".into(), "2-3".into())]);
}

#[test]
fn contradictions_within_the_tree_are_reported_and_the_first_is_believed() {
    let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
    tree.write("cpu/cpu0/topology/core_cpus_list", "0-1");
    tree.write("cpu/cpu1/topology/core_cpus_list", "1-2");
    tree.write("cpu/cpu3/cache/index3/shared_cpu_list", "3");
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::Core), ["0-1", "2", "3"]);
    assert_eq!(sets(&topology, Level::L3), ["0-3"]);
    let reported: Vec<Level> = topology.disagreements.iter().map(|d| d.level).collect();
    assert_eq!(reported, [Level::L3, Level::Core]);
    assert_eq!(topology.disagreements[1].claims[1].says, "1-2");
}

fn assert_error(tree: &Tree, file: &str, part: &str) {
    let error = sysfs::read(tree.path()).unwrap_err();
    assert!(error.to_string().contains(part), "expected '{part}': {error}");
    assert!(error.file().unwrap().ends_with(file), "expected {file}: {error}");
}

#[test]
fn hostile_files_are_errors_that_name_the_file() {
    let machine = Machine { packages: 1, dies: 1, cores: 2, threads: 1 };
    let huge = "1".repeat(1 << 20);
    for (file, text, part) in [
        ("cpu/online", "0-999999", "beyond"),
        ("cpu/online", "0-45520", "more objects and CPUs"),
        ("cpu/online", "5-+9", "'+9'"),
        ("cpu/online", "", "no online CPU"),
        ("cpu/online", "5-1", "backwards"),
        ("cpu/online", &huge, "larger"),
        ("cpu/cpu1/topology/core_cpus_list", "banana", "banana"),
        ("cpu/cpu0/topology/core_id", "-2", "no id"),
        ("cpu/cpu0/topology/physical_package_id", "99999999999999999999", "no number"),
        ("cpu/cpu0/cache/index0/level", "9", "level 9"),
        ("cpu/cpu0/cache/index0/type", "Imaginary", "type of cache"),
        ("cpu/cpu0/cache/index0/size", "99999999999999999999K", "no size"),
        ("node/node0/distance", "10 20 30", "3 distances"),
        ("node/node0/distance", "near", "no number"),
        ("node/node0/meminfo", "Node 0 MemTotal: much", "MemTotal"),
    ] {
        let tree = machine.build();
        tree.write(file, text);
        assert_error(&tree, file, part);
    }
    let tree = machine.build();
    tree.write_bytes("cpu/online", b"0-\xff\xfe1");
    assert_error(&tree, "cpu/online", "UTF-8");
}

#[test]
fn eight_thousand_cpus_are_no_more_than_a_machine_has() {
    let tree = Tree::new();
    tree.write("cpu/online", "0-8191");
    assert_eq!(read(&tree).counts().pu, 8192);
}

#[test]
fn links_that_go_nowhere_or_round_are_errors_or_absent() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.link("cpu/online", "online");
    assert_error(&tree, "cpu/online", "");
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.link("cpu/cpu0/topology/core_id", "/dev/zero");
    assert_error(&tree, "cpu/cpu0/topology/core_id", "larger");
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.link("cpu/cpu0/topology/die_id", "nowhere");
    assert_eq!(read(&tree).counts().package, 1);
}

#[test]
fn a_directory_beyond_the_largest_cpu_is_an_error() {
    let tree = Tree::new();
    tree.write("cpu/cpu1000000/online", "1");
    assert_error(&tree, "cpu/cpu1000000", "beyond");
}

#[test]
fn the_live_tree_if_there_is_one() {
    if !Path::new("/sys/devices/system/cpu/online").exists() {
        eprintln!("skipped: no /sys here");
        return;
    }
    let topology = sysfs::read(Path::new("/sys")).unwrap();
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    assert_eq!(topology.cpus(), online.parse::<CpuSet>().unwrap());
}
