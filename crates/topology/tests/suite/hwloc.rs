//! hwloc's XML: written for lstopo, read back, and hostile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use coho_testing::{Capability, data, needs};
use coho_topology::{CpuSet, Level, NumaNode, Topology, hwloc, load};

fn dumps() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data("cpuid")).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cpuid"))
        .collect()
}

const LEVELS: [Level; 8] =
    [Level::Package, Level::Die, Level::Numa, Level::L3, Level::L2, Level::L1, Level::Module, Level::Core];

#[test]
fn a_topology_survives_writing_and_reading() {
    for path in dumps() {
        let topology = load(&path).unwrap().topology;
        let again = hwloc::parse(&hwloc::write(&topology)).unwrap();
        assert_eq!(again.counts(), topology.counts(), "{}", path.display());
        for level in LEVELS {
            assert_eq!(again.partition(level), topology.partition(level), "{}: {level}", path.display());
        }
        assert_eq!(again.caches, topology.caches, "{}", path.display());
        assert_eq!(again.kinds, topology.kinds, "{}", path.display());
        assert_eq!(again.cpu.brand, topology.cpu.brand, "{}", path.display());
    }
}

/// What lstopo makes of a file: objects by type, after hwloc's own checks.
fn lstopo_counts(xml: &str) -> BTreeMap<String, usize> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("topology.xml");
    std::fs::write(&file, xml).unwrap();
    let output = Command::new("lstopo-no-graphics")
        .args(["--no-io", "--of", "xml", "-i"])
        .arg(&file)
        .env("HWLOC_DEBUG_CHECK", "1")
        .env("HWLOC_XML_VERBOSE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && complaints.is_empty(), "lstopo: {complaints}\n{xml}");
    let mut counts = BTreeMap::new();
    for kind in text.split("<object type=\"").skip(1) {
        *counts.entry(kind.split('"').next().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

fn assert_lstopo_agrees(topology: &Topology, what: &str) {
    let counts = lstopo_counts(&hwloc::write(topology));
    let own = topology.counts();
    let count = |kind: &str| counts.get(kind).copied().unwrap_or(0);
    for (kind, expected) in [
        ("Package", own.package),
        ("Die", own.die),
        ("NUMANode", own.numa),
        ("L3Cache", own.l3),
        ("L2Cache", own.l2),
        ("L1Cache", topology.partition(Level::L1).len()),
        ("Core", own.core),
        ("PU", own.pu),
    ] {
        assert_eq!(count(kind), expected, "{what}: {kind}");
    }
    assert!(count("Group") >= own.module, "{what}: {} groups for {} modules", count("Group"), own.module);
}

#[test]
fn lstopo_counts_the_same_objects() {
    needs!(Capability::Lstopo);
    for path in dumps() {
        assert_lstopo_agrees(&load(&path).unwrap().topology, &path.display().to_string());
    }
    assert_lstopo_agrees(&awkward(), "awkward");
}

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// Two nodes across one package, one of memory alone, distances, an offline CPU.
fn awkward() -> Topology {
    let mut topology = hwloc::parse(
        r#"<topology version="2.0"><object type="Machine" cpuset="0xf" complete_cpuset="0x1f">
        <object type="Package" os_index="0" cpuset="0xf">
        <object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/>
        <object type="PU" os_index="2" cpuset="0x4"/><object type="PU" os_index="3" cpuset="0x8"/>
        </object></object></topology>"#,
    )
    .unwrap();
    let node = |os, cpus: &str, distances: [u32; 3]| NumaNode {
        os,
        cpus: set(cpus),
        memory_bytes: Some(1 << 30),
        distances: distances.to_vec(),
        ..NumaNode::default()
    };
    topology.numa_nodes =
        vec![node(0, "0-1", [10, 20, 30]), node(1, "2-3", [20, 10, 40]), node(4, "", [30, 40, 10])];
    topology.finish();
    topology
}

#[test]
fn nodes_distances_and_offline_cpus_survive() {
    let topology = awkward();
    assert_eq!(topology.offline, set("4"));
    let again = hwloc::parse(&hwloc::write(&topology)).unwrap();
    assert_eq!(again.numa_nodes, topology.numa_nodes);
    assert_eq!(again.offline, topology.offline);
}

#[test]
fn one_kind_of_cores_is_none() {
    let kind = |cpus| format!("<cpukind cpuset=\"{cpus}\"><info name=\"CoreType\" value=\"A\"/></cpukind>");
    let with = |kinds: &str| {
        let text = machine(PUS).replace("</topology>", &format!("{kinds}</topology>"));
        hwloc::parse(&text).unwrap().kinds.len()
    };
    assert_eq!(with(&kind("0x3")), 0);
    assert_eq!(with(&(kind("0x1") + &kind("0x2"))), 2);
}

#[test]
fn version_1_is_read() {
    let topology = hwloc::parse(
        r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc.dtd"><topology>
        <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f">
        <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
        <latency value="1.0"/><latency value="2.1"/><latency value="2.1"/><latency value="1.0"/></distances>
        <object type="NUMANode" os_index="0" cpuset="0x3" local_memory="1024"><object type="Socket" os_index="0" cpuset="0x3">
        <info name="CPUModel" value="Opteron &amp; co"/>
        <object type="Cache" cpuset="0x3" cache_size="2097152" depth="2" cache_linesize="64" cache_associativity="-1">
        <object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
        <object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
        </object></object></object>
        <object type="NUMANode" os_index="1" cpuset="0xc"><object type="Socket" os_index="1" cpuset="0xc">
        <object type="Core" os_index="0" cpuset="0x4"><object type="PU" os_index="2" cpuset="0x4"/></object>
        <object type="Core" os_index="1" cpuset="0x8"><object type="PU" os_index="3" cpuset="0x8"/></object>
        </object></object></object></topology>"#,
    )
    .unwrap();
    let counts = topology.counts();
    assert_eq!((counts.package, counts.numa, counts.l2, counts.core, counts.pu), (2, 2, 1, 4, 4));
    assert_eq!(topology.caches[0].ways, Some(0), "fully associative");
    assert_eq!(topology.cpu.brand.as_deref(), Some("Opteron & co"));
    assert_eq!(topology.numa_nodes[0].distances, [10, 21]);
    assert_eq!(topology.numa_nodes[1].distances, [21, 10]);
    assert_eq!(topology.pu(3).unwrap().name, "P1.C1");
}

fn machine(inside: &str) -> String {
    format!(
        "<topology version=\"2.0\">\n<object type=\"Machine\" cpuset=\"0x3\">\n{inside}\n</object></topology>"
    )
}

const PUS: &str =
    "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\"/><object type=\"PU\" os_index=\"1\" cpuset=\"0x2\"/>";

#[test]
fn hostile_files_are_errors_that_name_the_line() {
    let nested = "<object type=\"Group\" cpuset=\"0x1\">".repeat(1_000_000);
    let many_pus: String =
        (0..70_000).map(|os| format!("<object type=\"PU\" os_index=\"{os}\"/>\n")).collect();
    let objects = "<object type=\"Misc\"/>".repeat(600_000);
    let wide_masks = {
        let mask = format!("0x1{}", ",0x0".repeat(2047));
        format!("<object type=\"Core\" cpuset=\"{mask}\"/>\n").repeat(20_000)
    };
    let attributes: String = (0..100_000).map(|n| format!(" a{n}=\"\"")).collect();
    let bomb =
        "<!DOCTYPE topology [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>\n<topology>&b;</topology>";
    for (text, line, part) in [
        (machine(&nested), 3, "nest deeper"),
        (machine(&many_pus), 3 + 65_536, "beyond"),
        (machine(&objects), 3, "more than"),
        (machine(&wide_masks), 3 + 4092, "more objects and CPUs"),
        (machine(&format!("<object type=\"PU\"{attributes}/>")), 3, "attributes"),
        (bomb.to_owned(), 1, "entities"),
        (machine("<info name=\"x\" value=\"&bomb;\"/>"), 3, "bad attribute value"),
        (machine("<object type=\"Core\"/>"), 3, "no cpuset"),
        (machine("<object type=\"Core\" cpuset=\"0xf...f\"/>"), 3, "infinite"),
        (machine("<object type=\"PU\" os_index=\"-1\"/>"), 3, "not a number"),
        (machine("<object type=\"L7Cache\" depth=\"7\" cpuset=\"0x1\"/>"), 3, "level from 1 to 4"),
        (machine(&format!("{PUS}<object type=\"PU\" os_index=\"1\"/>")), 4, "twice"),
        (machine(""), 4, "no PU"),
        (
            machine(&format!(
                "{PUS}<object type=\"Core\" cpuset=\"0x1\"/><object type=\"Core\" cpuset=\"0x3\"/>"
            )),
            4,
            "overlap",
        ),
        ("<topology>".to_owned(), 1, "ends inside"),
        ("<html></html>".to_owned(), 1, "<html>"),
        (String::new(), 1, "no <topology>"),
    ] {
        let error = hwloc::parse(&text).unwrap_err();
        assert!(error.to_string().contains(part), "expected '{part}': {error}");
        assert_eq!(error.line(), Some(line), "{error}");
    }
}

#[test]
fn nodes_of_memory_alone_name_the_cpus_near_them() {
    let node = |os: u32, cpuset: &str, complete: &str| {
        format!(
            "<object type=\"NUMANode\" os_index=\"{os}\" cpuset=\"{cpuset}\" complete_cpuset=\"{complete}\"/>"
        )
    };
    let read = |nodes: &str| hwloc::parse(&machine(&format!("{PUS}{nodes}"))).unwrap();
    let sets = |topology: &Topology| {
        topology.numa_nodes.iter().map(|node| node.cpus.to_string()).collect::<Vec<_>>()
    };
    // As hwloc writes HBM beside the nodes of the CPUs, and CXL memory beside both.
    let both = read(
        &(node(2, "0x3", "0x3") + &node(0, "0x1", "0x1") + &node(1, "0x2", "0x2") + &node(3, "0x1", "0x1")),
    );
    assert_eq!(sets(&both), ["0", "1", "", ""]);
    assert!(both.notes[0].contains("nodes 2-3"), "{:?}", both.notes);
    assert_eq!(both.disagreements, []);
    // A node keeps the CPUs that no smaller one names, and that is said.
    let part = read(&(node(0, "0x1", "0x1") + &node(1, "0x3", "0x3")));
    assert_eq!((sets(&part), part.disagreements.len()), (vec!["0".into(), "1".into()], 1));
    // Under a cpuset, the CPUs of another node are hidden, which does not make it memory alone.
    let masked = read(&(node(0, "0x3", "0x3") + &node(1, "0x0", "0xc")));
    assert_eq!(masked.numa_nodes[1].unseen, set("2-3"));
    let drawn = coho_topology::tree::render(&masked, 80);
    assert!(drawn.contains("node 1: CPUs 2-3 are offline or hidden") && !drawn.contains("alone"), "{drawn}");
}

#[test]
fn the_recorded_nodes_of_memory_alone() {
    let topology = load(&data("topology/memory-only-nodes.xml")).unwrap().topology;
    let counts = topology.counts();
    assert_eq!((counts.numa, counts.package, counts.core, counts.pu), (6, 2, 12, 24));
}
