//! Every recorded CPUID dump, decoded, against the counts and sets recorded for it.

use coho_testing::data;
use coho_topology::{CacheKind, CpuSet, Level, Topology, cpuid};
use serde_json::Value;

use crate::cpuid_support;

fn decode(name: &str) -> Topology {
    let dump = cpuid::read(&data(&format!("cpuid/{name}.cpuid"))).unwrap();
    let topology = cpuid::decode(&dump).unwrap();
    cpuid_support::assert_consistent(&topology);
    topology
}

/// The sets that the record names as hwloc does; L1i caches among them.
fn sets<'a>(topology: &'a Topology, object: &str) -> Vec<&'a CpuSet> {
    let level = match object {
        "Package" => Level::Package,
        "Die" => Level::Die,
        "L3Cache" => Level::L3,
        "L2Cache" => Level::L2,
        "L1Cache" => Level::L1,
        "Core" => Level::Core,
        "L1iCache" => {
            let l1i = topology.caches.iter().filter(|cache| cache.kind == CacheKind::Instruction);
            return l1i.map(|cache| &cache.cpus).collect();
        }
        other => panic!("the record names {other}"),
    };
    topology.partition(level)
}

fn recorded_sets(list: &Value) -> Vec<CpuSet> {
    let set = |cpus: &Value| -> CpuSet {
        cpus.as_array().unwrap().iter().map(|cpu| cpu.as_u64().unwrap() as u32).collect()
    };
    let mut sets: Vec<_> = list.as_array().unwrap().iter().map(set).collect();
    sets.sort();
    sets
}

#[test]
fn dumps_decode_to_the_recorded_counts_sets_and_kinds() {
    let text = std::fs::read_to_string(data("cpuid/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (name, record) in expected.as_object().unwrap() {
        let topology = decode(name);
        assert_eq!(topology.cpu.brand.as_deref(), record["brand"].as_str(), "{name}");
        assert_eq!(topology.pus.len() as u64, record["expected"]["PU"], "{name}: PU");
        for object in ["Package", "Die", "L3Cache", "L2Cache", "L1Cache", "L1iCache", "Core"] {
            let found = sets(&topology, object);
            assert_eq!(found.len() as u64, record["expected"][object], "{name}: {object}");
            if let Some(list) = record["sets"].get(object) {
                let found: Vec<_> = found.into_iter().cloned().collect();
                assert_eq!(found, recorded_sets(list), "{name}: {object}");
            }
        }
        let kinds: Vec<_> =
            topology.kinds.iter().map(|kind| (kind.name.clone(), kind.cpus.clone())).collect();
        let mut recorded: Vec<_> = record["cpukinds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|kind| {
                let cpus = &recorded_sets(&Value::from(vec![kind["cpus"].clone()]))[0];
                (kind["CoreType"].as_str().unwrap().to_string(), cpus.clone())
            })
            .collect();
        recorded.sort_by(|a, b| a.1.cmp(&b.1));
        assert_eq!(kinds, recorded, "{name}: kinds");

        let nodes = record["raw"].get("amd_node_ids").map_or(1, |count| count.as_u64().unwrap());
        assert_eq!(topology.numa_nodes.len() as u64, nodes, "{name}: NUMA nodes");
        let units = record["raw"].get("amd_(node,unit)").filter(|_| topology.cpu.family == Some(0x15));
        let units = units.map_or(0, |count| count.as_u64().unwrap());
        assert_eq!(topology.modules.len() as u64, units, "{name}: modules");
    }
}

/// The single processors beside the record: (file, packages, L3, L2, modules, cores, CPUs). Units and sharing after
/// AMD's manuals of families 12h, 15h and 16h.
#[test]
fn single_processors_decode_to_their_known_shape() {
    for (name, counts) in [
        ("AMD-A10-6800K", [1, 0, 2, 2, 4, 4]),
        ("AMD-A12-9800", [1, 0, 2, 2, 4, 4]),
        ("AMD-FX-8150", [1, 1, 4, 4, 8, 8]),
        ("AMD-Jaguar-5350", [1, 0, 1, 0, 4, 4]),
        ("AMD-Llano-A8-3850", [1, 0, 4, 0, 4, 4]),
    ] {
        let found = decode(name).counts();
        let found = [found.package, found.l3, found.l2, found.module, found.core, found.pu];
        assert_eq!(found, counts, "{name}");
    }
}

#[test]
fn a_leaf_that_answers_against_its_feature_bit_is_noted() {
    let topology = decode("AMD-A12-9800");
    let module = topology.facts.iter().find(|fact| fact.level == Level::Module).unwrap();
    assert!(module.by.contains("TopologyExtensions is clear"), "{}", module.by);
}

#[test]
fn printing_a_dump_and_parsing_it_gives_the_same_dump() {
    for entry in std::fs::read_dir(data("cpuid")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cpuid") {
            let dump = cpuid::read(&path).unwrap();
            assert_eq!(cpuid::parse(&dump.to_string()).unwrap(), dump, "{}", path.display());
        }
    }
}

/// A dump that lacks the leaves about cores, or is truncated in one CPU's answers, says so; a complete one does not.
#[test]
fn leaves_that_were_not_recorded_are_noted() {
    let folder = coho_testing::data("cpuid");
    let notes_on = |text: &str| cpuid::decode(&cpuid::parse(text).unwrap()).unwrap().notes;
    let unknown = |notes: &[String]| {
        notes.iter().any(|note| note.contains("lacks leaf") || note.contains("not recorded"))
    };
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cpuid") {
            let notes = notes_on(&std::fs::read_to_string(&path).unwrap());
            assert!(!unknown(&notes), "{}: {notes:?}", path.display());
        }
    }
    let text = std::fs::read_to_string(folder.join("Intel-Nehalem-2xXeon-X5550.cpuid")).unwrap();
    let without = |leaves: &[&str]| -> String {
        let kept =
            text.lines().filter(|line| !line.split(' ').nth(2).is_some_and(|leaf| leaves.contains(&leaf)));
        kept.map(|line| format!("{line}\n")).collect()
    };
    let coreless = notes_on(&without(&["0x00000004", "0x0000000b"]));
    assert!(
        coreless.iter().any(|note| note.contains("cores and shared caches are not known")),
        "{coreless:?}"
    );
    let cut = text.rfind("0x8000000").unwrap();
    let short = notes_on(&text[..text[..cut].rfind('\n').unwrap()]);
    assert!(short.iter().any(|note| note.starts_with("CPU 15 lacks leaf 0x8000000")), "{short:?}");
}
