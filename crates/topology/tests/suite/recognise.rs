//! One function for every description of a machine.

use std::path::Path;

use coho_testing::data;
use coho_topology::{Level, Source, load, load_text};

#[test]
fn each_kind_of_file_is_recognised() {
    for (file, source, has_dump) in [
        ("cpuid/AMD-FX-8150.cpuid", Source::Cpuid, true),
        ("freebsd/cpuinfo172-8cpu-4core-smt.xml", Source::FreebsdSpec, false),
    ] {
        let loaded = load(&data(file)).unwrap();
        assert_eq!(loaded.dump.is_some(), has_dump, "{file}");
        assert!(loaded.topology.facts.iter().any(|fact| fact.source == source), "{file}");
        assert_eq!(loaded.topology.counts().pu, 8, "{file}");
    }
    let loaded = load(&data("cpuid/AMD-FX-8150.cpuid")).unwrap();
    let xml = coho_topology::hwloc::write(&loaded.topology);
    assert_eq!(load_text(&xml).unwrap().topology.counts(), loaded.topology.counts());
}

#[test]
fn xml_is_told_by_its_root_element() {
    let groups =
        r#"<groups><group level="1" cache-level="3"><cpu count="2" mask="3">0, 1</cpu></group></groups>"#;
    let hwloc = r#"<topology version="2.0"><object type="Machine" cpuset="0x1">
        <object type="PU" os_index="0" cpuset="0x1"/></object></topology>"#;
    let header = "<?xml version=\"1.0\"?>\n";
    for before in ["", header, "\u{feff}", "\n  <!-- not <groups, not <topology -->\n", "<!-- <a> -->"] {
        for (text, source, cpus) in [(groups, Source::FreebsdSpec, 2), (hwloc, Source::HwlocXml, 1)] {
            let topology = load_text(&format!("{before}{text}")).unwrap().topology;
            assert_eq!(topology.facts[0].source, source, "after {before:?}");
            assert_eq!(topology.counts().pu, cpus, "after {before:?}");
        }
    }
    let noted = hwloc.replace("><object type=\"Machine\"", "><!-- <groups> --><object type=\"Machine\"");
    assert_eq!(load_text(&noted).unwrap().topology.counts().pu, 1);
    let sysctl = format!("kern.sched.topology_spec: {header}{groups}");
    assert_eq!(load_text(&sysctl).unwrap().topology.counts().pu, 2);

    let error = load_text("<svg></svg>").unwrap_err().to_string();
    assert!(error.contains("<svg>") && error.contains("<groups>"), "{error}");
    let error = load_text("<?xml version=\"1.0\"?>\n<!-- none -->\n").unwrap_err();
    assert!(error.to_string().contains("no element"), "{error}");
}

#[cfg(feature = "serde")]
#[test]
fn the_json_of_a_topology_is_read_back_whole() {
    let topology = load(&data("cpuid/AMD-17h-Zen-2xEpyc-7451.cpuid")).unwrap().topology;
    let json = serde_json::to_string(&topology).unwrap();
    assert_eq!(load_text(&json).unwrap().topology, topology);
}

#[cfg(feature = "serde")]
#[test]
fn a_profile_is_read_by_its_topology() {
    let xml = r#"<topology version="2.0"><object type="Machine" cpuset="0x3">
        <object type="Core" cpuset="0x3"><object type="PU" os_index="0" cpuset="0x1"/>
        <object type="PU" os_index="1" cpuset="0x2"/></object></object></topology>"#;
    let topology = load_text(xml).unwrap().topology;
    let mut section = serde_json::to_value(&topology).unwrap();
    section["counts"] = serde_json::to_value(topology.counts()).unwrap();
    // More arrays of large numbers than a topology may hold.
    let samples = vec![[4_000_000_000_u64]; 5000];
    let mut profile = serde_json::json!({"schema": "coho-profile/1", "topology": section, "coherence": samples, "later": {}});
    assert_eq!(load_text(&profile.to_string()).unwrap().topology, topology);
    assert_eq!(load_text(&section.to_string()).unwrap().topology, topology);

    let refused = |profile: &serde_json::Value, part: &str| {
        let error = load_text(&profile.to_string()).unwrap_err().to_string();
        assert!(error.contains(part), "expected '{part}': {error}");
    };
    profile["topology"]["packages"] = serde_json::json!([]);
    refused(&profile, "no package");
    profile["topology"]["packages"] = vec![serde_json::json!({"id": 0, "cpus": [65535]}); 20_000].into();
    refused(&profile, "more objects and CPUs");
    profile["topology"] = serde_json::Value::Null;
    refused(&profile, "the profile has no topology");
    profile.as_object_mut().unwrap().remove("topology");
    refused(&profile, "the profile has no topology");
    profile["schema"] = "coho-profile/2".into();
    refused(&profile, "\"coho-profile/2\"");
}

#[cfg(feature = "serde")]
#[test]
fn json_that_contradicts_itself_is_refused() {
    let unit = |cpus: &str| format!(r#"{{"id":0,"cpus":[{cpus}]}}"#);
    let json = |pus: &str, packages: &str, caches: &str| {
        format!(
            r#"{{"pus":[{pus}],"packages":[{packages}],"caches":[{caches}],
            "numa_nodes":[{{"os":0,"cpus":[0],"memory_bytes":null,"distances":[]}}]}}"#
        )
    };
    let pu = r#"{"os":0,"apic_id":null,"name":""}"#;
    let cache = r#"{"level":77,"kind":"data","size_bytes":1,"line_bytes":null,"ways":null,"cpus":[0]}"#;
    assert_eq!(load_text(&json(pu, &unit("0"), "")).unwrap().topology.counts().pu, 1);
    for (text, part) in [
        (json("", &unit("0"), ""), "no CPU"),
        (json(&format!("{pu},{pu}"), &unit("0"), ""), "twice"),
        (json(pu, "", ""), "no package"),
        (json(pu, &unit("0,1"), ""), "not described"),
        (json(pu, &format!("{},{}", unit("0"), unit("0")), ""), "overlap"),
        (json(pu, &unit("0"), cache), "level 77"),
        (json(r#"{"os":70000,"apic_id":null,"name":""}"#, &unit("0"), ""), "beyond"),
        (json(pu, &unit("4000000000"), ""), "beyond"),
        (json(pu, &vec![unit("65535"); 20_000].join(","), ""), "more objects and CPUs"),
        ("{".to_owned(), "not the JSON"),
    ] {
        let error = load_text(&text).unwrap_err().to_string();
        assert!(error.contains(part), "expected '{part}': {error}");
    }
}

#[test]
fn what_is_nothing_of_these_says_what_was_expected() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes.txt");
    for bytes in ["hello".as_bytes(), b"", b"\x7fELF\x00\xff"] {
        std::fs::write(&file, bytes).unwrap();
        let error = load(&file).unwrap_err();
        assert_eq!(error.file(), Some(file.as_path()));
    }
    let error = load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("sysfs") && error.contains("hwloc"), "{error}");
    assert!(load(Path::new("/no/such/file")).unwrap_err().to_string().contains("/no/such/file"));
    let error = load(Path::new("/dev/zero")).unwrap_err().to_string();
    assert!(error.contains("larger"), "{error}");
}

#[test]
fn this_machine() {
    let loaded = coho_topology::detect_with_dump().unwrap();
    let topology = &loaded.topology;
    let counts = topology.counts();
    assert!(counts.pu > 0 && counts.package > 0 && counts.numa > 0);
    for level in [Level::Package, Level::Core, Level::L2] {
        assert!(topology.partition(level).iter().all(|cpus| cpus.is_subset(&topology.cpus())));
    }
}

#[cfg(feature = "serde")]
#[test]
fn disagreements_of_json_are_sentences() {
    let json = |disagreement: &str| {
        format!(
            r#"{{"pus":[{{"os":0,"apic_id":null,"name":"C0"}}],"packages":[{{"id":null,"cpus":[0]}}],
            "numa_nodes":[{{"os":0,"cpus":[0],"memory_bytes":null,"distances":[]}}],"disagreements":[{disagreement}]}}"#
        )
    };
    let read = |disagreement: &str| load_text(&json(disagreement)).unwrap().topology.disagreements.remove(0);
    let now = r#"{"what":"L3","sources":["a: 0-1","b: 0"],"taken":"a","why":"it fits"}"#;
    assert_eq!(read(now).to_string(), "sources disagree on L3: a: 0-1; b: 0; taken: a, as it fits");
    assert_eq!(serde_json::to_string(&read(now)).unwrap(), now);
}
