//! FreeBSD's rules against the article's listings and the recorded predictions; its XML read and written.

use coho_testing::data;
use coho_topology::freebsd::{Flag, Variant, parse, predict, to_topology};
use coho_topology::{Loaded, Topology, load};

fn dump(name: &str) -> Loaded {
    load(&data(&format!("cpuid/{name}.cpuid"))).unwrap()
}

fn shape(loaded: &Loaded, variant: Variant) -> String {
    predict(variant, &loaded.topology, loaded.dump.as_ref()).unwrap().root.shape()
}

#[test]
fn the_articles_listings_byte_for_byte() {
    let listing =
        |name| std::fs::read_to_string(data(&format!("freebsd/kimoto-a10-6800k-{name}.xml"))).unwrap();
    let (stock, patched) = (listing("stock"), listing("patched"));
    let loaded = dump("AMD-A10-6800K");
    for (variant, listing) in [(Variant::Stock, stock), (Variant::Patched, patched)] {
        let spec = predict(variant, &loaded.topology, loaded.dump.as_ref()).unwrap();
        assert_eq!(spec.to_xml(4).unwrap(), listing);
        assert_eq!(parse(&listing).unwrap(), spec);
    }
}

/// Our dumps and their rows in the recorded predictions.
const PREDICTED: [(&str, &str); 10] = [
    ("AMD-A10-6800K", "amd-a10-6800k"),
    ("AMD-A12-9800", "amd-a12-9800"),
    ("AMD-FX-8150", "amd-fx-8150"),
    ("AMD-Jaguar-5350", "amd-athlon-5350"),
    ("AMD-Llano-A8-3850", "amd-a8-3850"),
    ("AMD-15h-Bulldozer-4xOpteron-6272", "AMD-15h-Bulldozer-4xOpteron-6272"),
    ("AMD-15h-Piledriver-4xOpteron-6348", "AMD-15h-Piledriver-4xOpteron-6348"),
    ("AMD-17h-Zen-2xEpyc-7451", "AMD-17h-Zen-2xEpyc-7451"),
    ("AMD-19h-Zen3-2xEpyc-7763", "AMD-19h-Zen3-2xEpyc-7763"),
    ("AMD-K8-SantaRosa-2xOpteron-2218", "AMD-K8-SantaRosa-2xOpteron-2218"),
];

#[test]
fn kernels_rules_on_amd_as_predicted() {
    let predicted = std::fs::read_to_string(data("freebsd/predicted.txt")).unwrap();
    for (name, row) in PREDICTED {
        let row = predicted.lines().find(|line| line.contains(row) && line.contains(" stock ")).unwrap();
        let column = |from: &str, to: &str| {
            let rest = &row[row.find(from).unwrap() + from.len()..];
            rest[..rest.find(to).unwrap_or(rest.len())].trim().to_owned()
        };
        let loaded = dump(name);
        assert_eq!(shape(&loaded, Variant::Stock), column(" stock ", " patched "), "{name}, stock");
        assert_eq!(shape(&loaded, Variant::Patched), column(" patched ", " modern "), "{name}, patched");
        assert_eq!(shape(&loaded, Variant::Modern), column(" modern ", "\n"), "{name}, modern");
    }
}

/// What the 2015 and 2016 rules make of Intel's dumps: leaf 0xB reports the threads as SMT, not HTT; under the 2015
/// rules the cores of a package share an "L2" and the threads of a core an "L1"; a hybrid's efficient cores are paired
/// as if they were threads, since only the first CPU is looked at.
const INTEL: [(&str, &str, &str); 6] = [
    ("Intel-Nehalem-2xXeon-X5550", "L0/16{2x L2/8{4x L1/2+SMT}}", "L0/16{2x L3/8{4x L2/2+SMT}}"),
    ("Intel-Westmere-2xXeon-X5650", "L0/24{2x L2/12{6x L1/2+SMT}}", "L0/24{2x L3/12{6x L2/2+SMT}}"),
    ("Intel-Penryn-4xXeon-X7460", "L0/24{4x L2/6}", "L0/24{4x L3/6{3x L2/2}}"),
    ("Intel-CPUID.1F-Qemu-2p3d3c2t", "L0/36{2x L2/18{9x L1/2+SMT}}", "L0/36{6x L3/6{3x L2/2+SMT}}"),
    ("Intel-RaptorLake-Corei7-1370P", "L0/20{1x L2/20{10x L1/2+SMT}}", "L3/20{6x L2/2+SMT 2x L2/4}"),
    ("Intel-KnightsLanding-XeonPhi-7210", "L0/256{1x L2/256{64x L1/4+SMT}}", "L0/256{32x L2/8{2x L1/4+SMT}}"),
];

#[test]
fn kernels_rules_on_intel() {
    for (name, stock, modern) in INTEL {
        let loaded = dump(name);
        assert_eq!(shape(&loaded, Variant::Stock), stock, "{name}, stock");
        assert_eq!(shape(&loaded, Variant::Modern), modern, "{name}, modern");
    }
}

/// What the machines really are, including NUMA nodes: 6+6 on the Opteron 6348, and pairs even if the firmware hides
/// them.
const FULL: [(&str, &str); 17] = [
    ("AMD-A10-6800K", "L0/4{2x L2/2}"),
    ("AMD-A12-9800", "L0/4{2x L2/2}"),
    ("AMD-FX-8150", "L3/8{4x L2/2}"),
    ("AMD-Jaguar-5350", "L2/4"),
    ("AMD-Llano-A8-3850", "L0/4"),
    ("AMD-15h-Bulldozer-4xOpteron-6272", "L0/64{4x L0/16{2x L3/8+NODE{4x L2/2}}}"),
    ("AMD-15h-Piledriver-4xOpteron-6348", "L0/48{4x L0/12{2x L3/6+NODE{3x L2/2}}}"),
    ("AMD-17h-Zen-2xEpyc-7451", "L0/96{2x L0/48{4x L0/12+NODE{2x L3/6{3x L2/2+SMT}}}}"),
    ("AMD-19h-Zen3-2xEpyc-7763", "L0/128{2x L0/64+NODE{8x L3/8}}"),
    ("AMD-K8-SantaRosa-2xOpteron-2218", "L0/4{2x L0/2}"),
    ("Hygon-Dhyana-32cores", "L0/64{4x L0/16+NODE{2x L3/8{4x L2/2+SMT}}}"),
    ("Intel-Nehalem-2xXeon-X5550", "L0/16{2x L3/8{4x L2/2+SMT}}"),
    ("Intel-Westmere-2xXeon-X5650", "L0/24{2x L3/12{6x L2/2+SMT}}"),
    ("Intel-Penryn-4xXeon-X7460", "L0/24{4x L3/6{3x L2/2}}"),
    ("Intel-CPUID.1F-Qemu-2p3d3c2t", "L0/36{2x L0/18{3x L3/6{3x L2/2+SMT}}}"),
    ("Intel-RaptorLake-Corei7-1370P", "L3/20{6x L2/2+SMT 2x L2/4}"),
    ("Intel-KnightsLanding-XeonPhi-7210", "L0/256{32x L2/8{2x L1/4+SMT}}"),
];

#[test]
fn full_tells_what_the_machines_are() {
    for (name, full) in FULL {
        assert_eq!(shape(&dump(name), Variant::Full), full, "{name}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    for (name, _) in FULL {
        let loaded = dump(name);
        for variant in [Variant::Stock, Variant::Patched, Variant::Modern, Variant::Full] {
            let spec = predict(variant, &loaded.topology, loaded.dump.as_ref()).unwrap();
            let text = spec.to_xml(16).unwrap();
            assert_eq!(parse(&format!("kern.sched.topology_spec: {text}\n")).unwrap(), spec, "{name}");
        }
    }
}

#[test]
fn rules_without_a_dump_say_what_they_need() {
    let error = predict(Variant::Stock, &Topology::default(), None).unwrap_err().to_string();
    assert!(error.contains("CPUID"), "{error}");
}

/// A spec of one group with these parts.
fn one_group(cpu: &str, more: &str) -> String {
    format!("<groups>\n <group level=\"1\" cache-level=\"3\">\n  {cpu}\n  {more}\n </group>\n</groups>\n")
}

const TWO: &str = "<cpu count=\"2\" mask=\"3,0,0,0\">0, 1</cpu>";

#[test]
fn contradictions_are_errors_that_name_the_line() {
    let child = |level: u32, cpu: &str| {
        format!("<children>\n<group level=\"{level}\" cache-level=\"2\">{cpu}</group></children>")
    };
    let long_mask = format!("<cpu count=\"1\" mask=\"1{}\">0</cpu>", ",0".repeat(5000));
    let cases = [
        (one_group("<cpu count=\"3\" mask=\"3,0,0,0\">0, 1</cpu>", ""), 3, "contradict"),
        (one_group("<cpu count=\"2\" mask=\"5,0,0,0\">0, 1</cpu>", ""), 3, "contradict"),
        (one_group("<cpu count=\"2\" mask=\"3,0,0,0\">0, 2</cpu>", ""), 3, "contradict"),
        (one_group("<cpu count=\"2\" mask=\"3\">0, 0</cpu>", ""), 3, "twice"),
        (one_group("<cpu count=\"1\" mask=\"1\">-1</cpu>", ""), 3, "not a CPU number"),
        (one_group("<cpu count=\"1\" mask=\"1\">999999999</cpu>", ""), 3, "beyond"),
        (one_group(&long_mask, ""), 3, "longer"),
        (one_group(TWO, &child(3, TWO)), 5, "level 2"),
        (one_group(TWO, &child(2, "<cpu count=\"1\" mask=\"4\">2</cpu>")), 5, "not in the enclosing group"),
        (one_group(TWO, "<surprise/>"), 4, "no place"),
        (one_group("", ""), 2, "no CPU"),
        (one_group(TWO, "") + "<groups/>", 7, "follows </groups>"),
        ("<groups>\n<group level=\"1\"".to_owned(), 2, "XML"),
        ("junk <groups/>".to_owned(), 1, "kern.sched.topology_spec"),
        ("\n\nkern.sched.topology_spec: <groups>\n</groups>".to_owned(), 3, "empty"),
    ];
    for (text, line, part) in cases {
        let error = parse(&text).unwrap_err();
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert_eq!(error.line(), Some(line), "{text}: {error}");
    }
}

#[test]
fn unknown_flags_are_kept() {
    let text = one_group(TWO, "<flags><flag name=\"NEW\">new &amp; odd</flag></flags>");
    let spec = parse(&text).unwrap();
    let expected = Flag::Other { name: "NEW".to_owned(), text: "new & odd".to_owned() };
    assert_eq!(spec.root.flags, [expected]);
    assert_eq!(parse(&spec.to_xml(4).unwrap()).unwrap(), spec);
}

#[test]
fn threads_are_cores_and_nodes_are_nodes() {
    let text = "<groups><group level=\"1\" cache-level=\"0\"><cpu count=\"5\" mask=\"1f\">0, 1, 2, 3, 4</cpu><children>
        <group level=\"2\" cache-level=\"3\"><cpu count=\"2\" mask=\"3\">0, 1</cpu>
        <flags><flag name=\"THREAD\">THREAD group</flag><flag name=\"SMT\">SMT group</flag>
        <flag name=\"NODE\">NUMA node</flag></flags></group>
        <group level=\"2\" cache-level=\"3\"><cpu count=\"3\" mask=\"1c\">2, 3, 4</cpu>
        <flags><flag name=\"NODE\">NUMA node</flag></flags></group></children></group></groups>";
    let counts = to_topology(&parse(text).unwrap()).counts();
    assert_eq!((counts.package, counts.numa, counts.l3, counts.core, counts.pu), (1, 2, 2, 4, 5));
}

#[test]
fn a_cpu_beyond_the_mask_is_refused() {
    let text = "<groups><group level=\"1\" cache-level=\"0\"><cpu count=\"1\" mask=\"0,0,0,0,1\">256</cpu></group></groups>";
    let error = parse(text).unwrap().to_xml(4).unwrap_err().to_string();
    assert!(error.contains("CPU 256") && error.contains("takes 5"), "{error}");
}

#[test]
fn published_specs_survive_reading_and_writing() {
    for (name, words, expected) in [
        ("cpuinfo172-8cpu-4core-smt", 4, "L3/8{4x L2/2+SMT}"),
        ("cpuinfo248-nashost-4cpu-2smt", 4, "L0/4{2x L2/2+SMT}"),
        ("cpuinfo248-srv1-12cpu-2numa", 16, "L0/12{2x L3/6+NODE}"),
    ] {
        let text = std::fs::read_to_string(data(&format!("freebsd/{name}.xml"))).unwrap();
        let spec = parse(&text).unwrap();
        assert_eq!(spec.root.shape(), expected);
        assert_eq!(spec.to_xml(words).unwrap(), text);
    }
}

#[test]
fn the_control_has_the_patchs_pairs_without_their_flag() {
    let topology = |cpus: u32| Topology {
        pus: (0..cpus).map(|os| coho_topology::Pu { os, ..Default::default() }).collect(),
        ..Topology::default()
    };
    let shape = |cpus| predict(Variant::Control, &topology(cpus), None).map(|spec| spec.root.shape());
    assert_eq!(shape(4).unwrap(), "L0/4{1x L0/4{2x L2/2}}");
    assert_eq!(shape(8).unwrap(), "L0/8{2x L0/4{2x L2/2}}");
    assert!(shape(2).is_err() && shape(6).is_err());
    assert_eq!("control".parse::<Variant>().unwrap(), Variant::Control);
}

#[test]
fn one_cpu_is_a_bare_root() {
    for entry in std::fs::read_dir(data("cpuid")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "cpuid") {
            continue;
        }
        let mut dump = load(&path).unwrap().dump.unwrap();
        dump.cpus.truncate(1);
        let topology = coho_topology::cpuid::decode(&dump).unwrap();
        for variant in [Variant::Stock, Variant::Modern] {
            let spec = predict(variant, &topology, Some(&dump)).unwrap();
            assert_eq!(spec.root.shape(), "L0/1", "{}: {variant:?}", path.display());
        }
    }
}
