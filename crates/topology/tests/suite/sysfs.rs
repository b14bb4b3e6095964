//! Made-up sysfs trees: shapes of machines, holes, contradictions, hostile contents.

use std::path::Path;

use coho_topology::{CpuSet, Level, Source, Topology, sysfs};

use crate::sysfs_support::{Machine, Tree};

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
    let whole = read(&tree);
    assert_eq!(whole.cpu.brand.as_deref(), Some("Made Up 9000"));
    for below in ["sys", "sys/devices", "sys/devices/system"] {
        assert_eq!(sysfs::read(&tree.path().join(below)).unwrap(), whole, "{below}");
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
    let reported: Vec<&str> = topology.disagreements.iter().map(|found| found.what.as_str()).collect();
    assert_eq!(reported, ["core", "L3", "core and L1", "core and L2"]);
    assert_eq!(
        topology.disagreements[0].sources,
        ["core_cpus_list of CPU 2: 2", "core_cpus_list of CPU 1: 1-2"]
    );
    assert_eq!(
        (topology.disagreements[1].taken.as_str(), sets(&topology, Level::L3)),
        ("0-3", vec!["0-3".into()])
    );
}

/// Asserts that one file is noted, perhaps with what is left out because of it, and that no CPU is lost.
fn assert_noted(tree: &Tree, file: &str, part: &str) -> Topology {
    let topology = read(tree);
    let [note, rest @ ..] = topology.notes.as_slice() else { panic!("{file}: no note") };
    assert!(
        rest.len() < 2 && rest.iter().all(|note| note.contains("left out") || note.contains("assumed")),
        "{file}: {rest:?}"
    );
    assert!(note.contains(part) && note.contains(file), "expected '{part}' of {file}: {note}");
    assert_eq!(topology.counts().pu, 2, "{file}");
    topology
}

fn assert_error(tree: &Tree, file: &str, part: &str) {
    let error = sysfs::read(tree.path()).unwrap_err();
    assert!(error.to_string().contains(part), "expected '{part}': {error}");
    assert!(error.file().unwrap().ends_with(file), "expected {file}: {error}");
}

#[test]
fn broken_files_are_noted_and_the_rest_is_read() {
    let machine = Machine { packages: 1, dies: 1, cores: 2, threads: 1 };
    let huge = "1".repeat(1 << 20);
    for (file, text, part) in [
        ("cpu/online", "0-999999", "beyond"),
        ("cpu/online", "5-+9", "'+9'"),
        ("cpu/online", "5-1", "backwards"),
        ("cpu/online", &huge, "larger"),
        ("cpu/cpu1/topology/core_cpus_list", "banana", "banana"),
        ("cpu/cpu0/topology/core_id", "-2", "not an id"),
        ("cpu/cpu0/topology/physical_package_id", "99999999999999999999", "not a number"),
        ("cpu/cpu0/cache/index0/level", "9", "level 9"),
        ("cpu/cpu0/cache/index0/type", "Imaginary", "cache type"),
        ("cpu/cpu0/cache/index0/size", "99999999999999999999K", "not a size"),
        ("node/node0/distance", "10 20 30", "3 distances"),
        ("node/node0/distance", "near", "not a number"),
        ("node/node0/meminfo", "Node 0 MemTotal: much", "MemTotal"),
    ] {
        let tree = machine.build();
        tree.write(file, text);
        assert_noted(&tree, file, part);
    }
    let tree = machine.build();
    tree.write_bytes("cpu/online", b"0-\xff\xfe1");
    assert_noted(&tree, "cpu/online", "UTF-8");
}

#[test]
fn a_broken_file_costs_what_it_tells_and_no_more() {
    let machine = Machine { packages: 2, dies: 1, cores: 1, threads: 1 };
    let whole = read(&machine.build());
    let broken = |file: &str, text: &str| {
        let tree = machine.build();
        tree.write(file, text);
        assert_noted(&tree, file.rsplit_once('/').unwrap().0, "")
    };
    let node = broken("node/node1/cpulist", "banana");
    assert_eq!(
        (sets(&node, Level::Numa), node.numa_nodes[0].distances.clone()),
        (vec!["0".into()], vec![10])
    );
    let far = broken("node/node0/distance", "10");
    assert_eq!([&far.numa_nodes[0].distances[..], &far.numa_nodes[1].distances], [&[][..], &[21, 10]]);
    assert_eq!(broken("node/node0/meminfo", "MemTotal: much").numa_nodes[0].memory_bytes, None);
    let cache = broken("cpu/cpu1/cache/index2/level", "x");
    assert_eq!(
        (sets(&cache, Level::L2), sets(&cache, Level::L3)),
        (vec!["0".into()], sets(&whole, Level::L3))
    );
    for other in [node, far, cache] {
        assert_eq!((other.cores, other.packages), (whole.cores.clone(), whole.packages.clone()));
    }
}

#[test]
fn a_tree_all_broken_has_few_notes() {
    let tree = Machine { packages: 1, dies: 1, cores: 16, threads: 2 }.build();
    for cpu in 0..32 {
        tree.write(&format!("cpu/cpu{cpu}/topology/core_id"), "x");
    }
    let notes = read(&tree).notes;
    assert_eq!((notes.len(), notes[16].as_str()), (17, "16 more files could not be read or believed"));
}

#[test]
fn more_cpus_than_any_machine_has_are_refused() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.write("cpu/online", "0-45520");
    assert_error(&tree, "cpu/online", "more objects and CPUs");
}

#[test]
fn eight_thousand_cpus_are_no_more_than_a_machine_has() {
    let tree = Tree::new();
    tree.write("cpu/online", "0-8191");
    assert_eq!(read(&tree).counts().pu, 8192);
}

#[test]
fn links_that_go_nowhere_or_round_are_noted_or_absent() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.link("cpu/online", "online");
    assert_noted(&tree, "cpu/online", "");
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.link("cpu/cpu0/topology/core_id", "/dev/zero");
    assert_noted(&tree, "cpu/cpu0/topology/core_id", "larger");
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
fn the_live_tree_is_read_or_refused_by_name() {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online");
    match (sysfs::read(Path::new("/sys")), online) {
        (Ok(topology), Ok(online)) => assert_eq!(topology.cpus(), online.parse::<CpuSet>().unwrap()),
        // A sandbox without /sys.
        (Err(error), Err(_)) => assert!(error.to_string().contains("/sys"), "{error}"),
        (topology, online) => panic!("{topology:?}, but {online:?}"),
    }
}

#[test]
fn packages_without_ids_are_told_by_their_siblings() {
    let pairs = |ids: [&str; 4]| {
        let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
        for (cpu, id) in ids.into_iter().enumerate() {
            tree.write(&format!("cpu/cpu{cpu}/topology/physical_package_id"), id);
            tree.write(&format!("cpu/cpu{cpu}/topology/core_siblings"), if cpu < 2 { "3" } else { "c" });
        }
        let packages = read(&tree).packages;
        packages.into_iter().map(|unit| (unit.id, unit.cpus.to_string())).collect::<Vec<_>>()
    };
    let of = |id, cpus: &str| (id, cpus.to_owned());
    assert_eq!(pairs(["-1"; 4]), [of(None, "0-1"), of(None, "2-3")]);
    // A broken file: its CPU is where its siblings are.
    assert_eq!(pairs(["0", "x", "1", "1"]), [of(Some(0), "0-1"), of(Some(1), "2-3")]);
    // Some kernels divide a package's siblings by memory nodes; its id does not divide.
    assert_eq!(pairs(["0"; 4]), [of(Some(0), "0-3")]);
}

#[test]
fn cores_are_told_by_ids_where_siblings_are_missing() {
    let tree = Machine { packages: 2, dies: 1, cores: 2, threads: 2 }.build();
    let cores = sets(&read(&tree), Level::Core);
    for cpu in 0..8 {
        tree.remove(&format!("cpu/cpu{cpu}/topology/core_cpus_list"));
    }
    assert_eq!(sets(&read(&tree), Level::Core), cores);
}

#[test]
fn caches_of_unknown_sharers_are_left_out_and_of_none_are_the_cores() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 2 }.build();
    for cpu in 0..4 {
        tree.write(&format!("cpu/cpu{cpu}/cache/index2/shared_cpu_list"), "");
        tree.write(&format!("cpu/cpu{cpu}/cache/index2/shared_cpu_map"), "00000000");
        tree.remove(&format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"));
    }
    let topology = read(&tree);
    assert_eq!((sets(&topology, Level::L2), topology.counts().l3), (vec!["0,2".into(), "1,3".into()], 0));
    assert!(topology.notes[0].contains("which CPUs share"), "{:?}", topology.notes);
}

#[test]
fn cpuinfo_tells_what_an_old_sysfs_does_not() {
    let tree = Tree::new();
    let mut cpuinfo = String::new();
    for cpu in 0..4 {
        tree.write(&format!("cpu/cpu{cpu}/crash_notes"), "1f000");
        cpuinfo +=
            &format!("processor\t: {cpu}\nphysical id\t: {}\ncore id\t\t: 0\ncpu cores\t: 1\n\n", cpu % 2);
    }
    tree.write_root("proc/cpuinfo", &cpuinfo);
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::Package), ["0,2", "1,3"]);
    assert_eq!(sets(&topology, Level::Core), ["0,2", "1,3"]);
    // Before it printed core ids, it counted cores.
    tree.write_root("proc/cpuinfo", &cpuinfo.replace("core id\t\t: 0\n", ""));
    assert_eq!(sets(&read(&tree), Level::Core), ["0,2", "1,3"]);
    tree.write_root("proc/cpuinfo", &cpuinfo.replace("core id\t\t: 0\ncpu cores\t: 1\n", ""));
    assert_eq!((read(&tree).counts().package, read(&tree).counts().core), (2, 0));
}

#[test]
fn kinds_that_divide_a_core_or_leave_one_out_are_noted() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 2 }.build();
    tree.write_root("sys/devices/cpu_core/cpus", "0-1");
    tree.write_root("sys/devices/cpu_atom/cpus", "1-3");
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::Kind), ["0-1", "2-3"]);
    assert!(topology.notes[0].contains("CPUs 1 are of two kinds"), "{:?}", topology.notes);
    assert!(topology.notes[1].contains("CPUs 0,2 are one core"), "{:?}", topology.notes);

    let tree = Tree::new();
    tree.write("cpu/online", "0-2");
    for (cpu, capacity) in [(0, "400"), (1, "1024")] {
        tree.write(&format!("cpu/cpu{cpu}/cpu_capacity"), capacity);
    }
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::Kind), ["0", "1"]);
    assert!(topology.notes[0].contains("CPUs 2 have no capacity file"), "{:?}", topology.notes);
}

#[test]
fn books_of_mainframes_are_noted() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 1 }.build();
    tree.write("cpu/cpu0/topology/book_id", "0");
    assert!(read(&tree).notes[0].contains("books"));
}
