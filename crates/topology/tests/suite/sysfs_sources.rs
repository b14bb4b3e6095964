//! Facts that a tree tells several times: which one is taken, and that the others are said.

use coho_topology::{Disagreement, Level, Source, Topology, sysfs};

use crate::sysfs_support::{Machine, Tree};

fn read(tree: &Tree) -> Topology {
    sysfs::read(tree.path()).unwrap()
}

fn sets(topology: &Topology, level: Level) -> Vec<String> {
    topology.partition(level).iter().map(ToString::to_string).collect()
}

fn found<'a>(topology: &'a Topology, what: &str) -> &'a Disagreement {
    let all = &topology.disagreements;
    all.iter().find(|found| found.what == what).unwrap_or_else(|| panic!("nothing on {what}: {all:?}"))
}

/// Four cores, of which each two share an L2.
fn pairs() -> Tree {
    let tree = Machine { packages: 1, dies: 1, cores: 4, threads: 1 }.build();
    for cpu in 0..4 {
        tree.write(&l2(cpu, "list"), if cpu < 2 { "0-1" } else { "2-3" });
        tree.write(&l2(cpu, "map"), if cpu < 2 { "3" } else { "c" });
    }
    tree
}

fn l2(cpu: u32, form: &str) -> String {
    format!("cpu/cpu{cpu}/cache/index2/shared_cpu_{form}")
}

#[test]
fn the_form_is_taken_whose_sets_fit_together() {
    assert_eq!(read(&pairs()).disagreements, []);
    for (form, wrong, other) in
        [("list", "2", "map"), ("map", "4", "list"), ("list", "0-2", "map"), ("map", "f", "list")]
    {
        let tree = pairs();
        tree.write(&l2(1, form), wrong);
        let topology = read(&tree);
        assert_eq!(sets(&topology, Level::L2), ["0-1", "2-3"], "{form} {wrong}");
        let found = found(&topology, "L2");
        assert_eq!(found.taken, format!("shared_cpu_{other}"), "{found}");
        assert!(found.sources.iter().any(|said| said.contains("0-1 (CPU 1)")), "{found}");
        assert!(found.to_string().starts_with("sources disagree on L2: shared_cpu_list: "), "{found}");
    }
}

#[test]
fn of_two_partitions_that_is_taken_which_divides_no_core() {
    let tree = Machine { packages: 1, dies: 1, cores: 2, threads: 2 }.build();
    for cpu in 0..4 {
        tree.write(&l2(cpu, "list"), &cpu.to_string());
        tree.write(&l2(cpu, "map"), if cpu % 2 == 0 { "5" } else { "a" });
    }
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::L2), ["0,2", "1,3"]);
    assert_eq!(found(&topology, "L2").taken, "shared_cpu_map");
    // Where neither does, the list comes first.
    let tree = pairs();
    for cpu in 0..4 {
        tree.write(&l2(cpu, "map"), &format!("{:x}", 1 << cpu));
    }
    let topology = read(&tree);
    assert_eq!(
        (sets(&topology, Level::L2).len(), found(&topology, "L2").taken.as_str()),
        (2, "shared_cpu_list")
    );
}

#[test]
fn a_list_that_leaves_out_its_own_cpu_is_completed_and_said() {
    let tree = pairs();
    for (cpu, list) in [(0, "1"), (1, "0"), (2, "3"), (3, "2")] {
        tree.write(&l2(cpu, "list"), list);
        tree.remove(&l2(cpu, "map"));
    }
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::L2), ["0-1", "2-3"]);
    assert!(found(&topology, "L2").taken.contains("with the CPU itself"));
}

/// Sets each CPU's package id, siblings and core id.
fn packages(told: &[(&str, &str, &str)]) -> Tree {
    let tree = Tree::new();
    for (cpu, (id, siblings, core)) in told.iter().enumerate() {
        tree.write(&format!("cpu/cpu{cpu}/topology/physical_package_id"), id);
        tree.write(&format!("cpu/cpu{cpu}/topology/core_siblings_list"), siblings);
        tree.write(&format!("cpu/cpu{cpu}/topology/core_id"), core);
        tree.write(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &cpu.to_string());
    }
    tree
}

#[test]
fn an_id_that_would_make_cores_one_yields_to_the_siblings() {
    let topology = read(&packages(&[("0", "0", "0"), ("0", "1", "0"), ("1", "2", "0"), ("1", "3", "0")]));
    assert_eq!(sets(&topology, Level::Package), ["0", "1", "2", "3"]);
    assert_eq!(found(&topology, "package").taken, "core_siblings_list");
    // With core ids of their own, the siblings are only divided further.
    let topology = read(&packages(&[("0", "0", "0"), ("0", "1", "1"), ("1", "2", "0"), ("1", "3", "1")]));
    assert_eq!(sets(&topology, Level::Package), ["0-1", "2-3"]);
    assert_eq!(found(&topology, "package").taken, "physical_package_id");
}

#[test]
fn siblings_that_do_not_fit_together_yield_to_the_ids() {
    let topology = read(&packages(&[("0", "0-2", "0"), ("0", "1", "1"), ("1", "2-3", "0"), ("1", "3", "1")]));
    assert_eq!(sets(&topology, Level::Package), ["0-1", "2-3"]);
    assert_eq!(topology.disagreements.iter().filter(|found| found.what == "package").count(), 1);
}

#[test]
fn a_package_that_divides_a_cache_yields() {
    let tree = packages(&[("0", "0-1", "0"), ("1", "0-1", "0"), ("2", "2-3", "0"), ("3", "2-3", "0")]);
    for cpu in 0..4 {
        let dir = format!("cpu/cpu{cpu}/cache/index3");
        tree.write(&format!("{dir}/level"), "3");
        tree.write(&format!("{dir}/shared_cpu_list"), if cpu < 2 { "0-1" } else { "2-3" });
    }
    let topology = read(&tree);
    assert_eq!(sets(&topology, Level::Package), ["0-1", "2-3"]);
    assert!(found(&topology, "package").why.contains("divides"), "{:?}", topology.disagreements);
}

#[test]
fn an_unknown_package_is_assumed_and_said() {
    let assumed = |topology: &Topology| {
        topology.facts.iter().any(|fact| fact.level == Level::Package && fact.source == Source::Assumed)
    };
    let unknown = [("-1", "0", "0"), ("-1", "1", "1"), ("-1", "2", "2")];
    let topology = read(&packages(&unknown));
    assert_eq!((sets(&topology, Level::Package), assumed(&topology)), (vec!["0-2".into()], true));
    assert!(topology.notes[0].contains("physical_package_id is -1"), "{:?}", topology.notes);
    // On a mainframe, one core id for all shows that they are not cores of one package.
    let same_core = packages(&unknown.map(|(id, siblings, _)| (id, siblings, "0")));
    assert_eq!(sets(&read(&same_core), Level::Package), ["0-2"]);
    same_core.write_root("proc/cpuinfo", "vendor_id       : IBM/S390\n");
    let topology = read(&same_core);
    assert_eq!(
        (sets(&topology, Level::Package).len(), assumed(&topology), topology.notes.len()),
        (3, true, 1)
    );
    // So do caches that no two share.
    let same_core = packages(&unknown.map(|(id, siblings, _)| (id, siblings, "0")));
    for cpu in 0..3 {
        same_core.write(&format!("cpu/cpu{cpu}/cache/index2/level"), "2");
        same_core.write(&format!("cpu/cpu{cpu}/cache/index2/shared_cpu_list"), &cpu.to_string());
    }
    assert_eq!(sets(&read(&same_core), Level::Package).len(), 3);
    // One CPU with siblings shows that the kernel knows the others' as well.
    let topology = read(&packages(&[("-1", "0-1", "0"), ("-1", "0-1", "1"), ("-1", "2", "2")]));
    assert_eq!(
        (sets(&topology, Level::Package), assumed(&topology)),
        (vec!["0-1".into(), "2".into()], false)
    );
}

#[test]
fn a_die_or_cluster_of_minus_one_is_none() {
    let tree = Machine { packages: 2, dies: 1, cores: 2, threads: 1 }.build();
    for cpu in 0..4 {
        tree.write(&format!("cpu/cpu{cpu}/topology/die_id"), "-1");
        tree.write(&format!("cpu/cpu{cpu}/topology/die_cpus_list"), &cpu.to_string());
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_id"), "-1");
        tree.write(&format!("cpu/cpu{cpu}/topology/cluster_cpus_list"), &cpu.to_string());
    }
    tree.write("cpu/cpu0/topology/book_id", "-1");
    let topology = read(&tree);
    assert_eq!((topology.counts().die, topology.counts().module, topology.notes), (0, 0, vec![]));
}

#[test]
fn cpus_without_a_topology_folder_are_where_others_say_or_said_to_be_nowhere() {
    let told = [("0", "0-1", "0"), ("0", "0-1", "1"), ("1", "2-3", "0"), ("1", "2-3", "1")];
    let without = |cpus: &[u32]| {
        let tree = packages(&told);
        tree.write("cpu/online", "0-3");
        cpus.iter().for_each(|cpu| tree.remove(&format!("cpu/cpu{cpu}/topology")));
        read(&tree)
    };
    let one = without(&[3]);
    assert_eq!(sets(&one, Level::Package), ["0-1", "2-3"], "CPU 2 names it");
    assert_eq!((sets(&one, Level::Core).len(), one.notes.len()), (4, 1));
    let whole = without(&[2, 3]);
    assert_eq!(sets(&whole, Level::Package), ["0-3"]);
    assert!(whole.notes.iter().any(|note| note.contains("only package known")), "{:?}", whole.notes);
    let tree = packages(&told);
    tree.write("cpu/online", "0-4");
    let beyond = read(&tree);
    assert_eq!(sets(&beyond, Level::Package), ["0-1", "2-3"]);
    assert!(
        beyond.notes.iter().any(|note| note.contains("CPUs 4") && note.contains("no package")),
        "{:?}",
        beyond.notes
    );
}

#[test]
fn levels_that_cannot_both_be_true_are_said() {
    let tree = Machine { packages: 2, dies: 1, cores: 2, threads: 1 }.build();
    for cpu in 0..4 {
        tree.write(&format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), "0-3");
    }
    let topology = read(&tree);
    let found = found(&topology, "L3 and package");
    assert_eq!(found.sources, ["one L3: 0-3", "several package: 0-1 | 2-3"]);
    let drawn = coho_topology::tree::render(&topology, 200);
    assert!(drawn.contains(&found.to_string()), "{drawn}");
}

#[test]
fn nodes_that_overlap_lose_no_node_and_repeated_ones_are_left_out() {
    let nodes = |first: &str, second: &str| {
        let tree = Machine { packages: 2, dies: 1, cores: 2, threads: 1 }.build();
        tree.write("node/node0/cpulist", first);
        tree.write("node/node1/cpulist", second);
        let topology = read(&tree);
        assert_eq!(
            topology
                .disagreements
                .iter()
                .filter(|found| ["NUMA node", "NUMA nodes"].contains(&&*found.what))
                .count(),
            1
        );
        sets(&topology, Level::Numa)
    };
    assert_eq!(nodes("0-1", "0-3"), ["0-1", "2-3"]);
    assert_eq!(nodes("0-2", "1-3"), ["0-2", "3"]);
    assert_eq!(nodes("0-3", "0-3"), ["0-3"]);
}

#[test]
fn a_node_of_hidden_cpus_is_not_memory_alone() {
    let tree = Machine { packages: 2, dies: 1, cores: 2, threads: 1 }.build();
    tree.write("cpu/online", "0-1");
    let topology = read(&tree);
    assert_eq!(topology.numa_nodes[1].unseen.to_string(), "2-3");
    let drawn = coho_topology::tree::render(&topology, 80);
    assert!(drawn.contains("CPUs 2-3 are offline or hidden") && !drawn.contains("memory alone"), "{drawn}");
}

#[test]
fn packages_on_arm_are_clusters_unless_something_knows_packages() {
    let pairs = |ids: [&'static str; 2]| {
        let [first, second] = ids;
        let tree =
            packages(&[(first, "0-1", "0"), (first, "0-1", "1"), (second, "2-3", "0"), (second, "2-3", "1")]);
        tree.write_root("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
        tree
    };
    let counted = |tree: &Tree| {
        let topology = read(tree);
        let said = topology.notes.iter().filter(|note| note.contains("cluster")).count();
        let is_assumed =
            |fact: &coho_topology::Fact| fact.level == Level::Package && fact.source == Source::Assumed;
        (topology.packages.len(), topology.modules.len(), said, topology.facts.iter().any(is_assumed))
    };
    let phone = || pairs(["0", "1"]);
    assert_eq!(counted(&phone()), (1, 2, 1, true));

    // Packages are believed where each has a node of its own, or where an id is an offset into ACPI's table.
    let nodes = phone();
    nodes.write("node/node0/cpulist", "0-1");
    nodes.write("node/node1/cpulist", "2-3");
    assert_eq!(counted(&nodes), (2, 0, 1, false));
    assert_eq!(counted(&pairs(["36", "3004"])), (2, 0, 1, false));

    let acpi = phone();
    acpi.write_root("sys/firmware/acpi/tables/PPTT", "");
    assert_eq!(counted(&acpi), (2, 0, 0, false));
    let newer = phone();
    for cpu in 0..4 {
        newer.write(&format!("cpu/cpu{cpu}/topology/cluster_id"), "0");
    }
    assert_eq!(counted(&newer), (2, 0, 0, false));
}
