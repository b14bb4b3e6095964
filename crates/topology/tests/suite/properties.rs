//! What holds for any input: parsers answer or refuse, and what they write they read back.

use coho_topology::freebsd::{self, Flag, Group, Spec};
use coho_topology::{Cache, CacheKind, CpuSet, Level, NumaNode, Pu, Topology, Unit, hwloc, load_text, tree};
use proptest::prelude::*;

/// A machine of nested units, whose CPUs are numbered in any order.
fn machines() -> impl Strategy<Value = Topology> {
    let shape = (1..4usize, 1..3usize, 1..4usize, 1..3usize, 1..3usize);
    (shape, any::<bool>(), any::<u64>()).prop_map(
        |((packages, nodes, l3s, cores, threads), smt_last, seed)| {
            let count = packages * nodes * l3s * cores * threads;
            let mut numbers: Vec<u32> = (0..count as u32).map(|cpu| cpu * 3).collect();
            if smt_last {
                shuffle(&mut numbers, seed);
            }
            let sets = |parts: usize| -> Vec<CpuSet> {
                numbers.chunks(count / parts).map(|chunk| chunk.iter().copied().collect()).collect()
            };
            let units =
                |parts| sets(parts).into_iter().map(|cpus| Unit { id: None, cpus }).collect::<Vec<_>>();
            let caches = |level, kind, parts| {
                let cache = move |cpus| Cache {
                    level,
                    kind,
                    size_bytes: 1 << (14 + level),
                    line_bytes: Some(64),
                    ways: Some(8),
                    cpus,
                };
                sets(parts).into_iter().map(cache)
            };
            let all_nodes = packages * nodes;
            let mut numa_nodes: Vec<NumaNode> = Vec::new();
            for (os, cpus) in (0..).zip(sets(all_nodes)) {
                // A matrix of one node tells nothing and is not written.
                let others = if all_nodes > 1 { 0..all_nodes as u32 } else { 0..0 };
                let distances = others.map(|other| if other == os { 10 } else { 20 + os + other }).collect();
                numa_nodes.push(NumaNode {
                    os,
                    cpus,
                    memory_bytes: Some(1 << 30),
                    distances,
                    ..NumaNode::default()
                });
            }
            let all_cores = all_nodes * l3s * cores;
            let mut topology = Topology {
                pus: numbers.iter().map(|&os| Pu { os, ..Pu::default() }).collect(),
                packages: units(packages),
                cores: units(all_cores),
                caches: caches(3, CacheKind::Unified, all_nodes * l3s)
                    .chain(caches(2, CacheKind::Unified, all_cores))
                    .chain(caches(1, CacheKind::Data, all_cores))
                    .chain(caches(1, CacheKind::Instruction, all_cores))
                    .collect(),
                numa_nodes,
                ..Topology::default()
            };
            topology.finish();
            topology
        },
    )
}

fn shuffle(numbers: &mut [u32], mut seed: u64) {
    for last in (1..numbers.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(last, (seed >> 33) as usize % (last + 1));
    }
}

/// Groups that divide their CPUs, to three levels.
fn specs() -> impl Strategy<Value = Spec> {
    let flags = prop::collection::vec(
        prop_oneof![
            Just(Flag::Htt),
            Just(Flag::Thread),
            Just(Flag::Smt),
            Just(Flag::Node),
            ("[A-Z]{1,6}", "[a-z<&>]{1,9}").prop_map(|(name, text)| Flag::Other { name: name + "X", text }),
        ],
        0..3,
    );
    (1..4u32, 1..4u32, 1..3u32, prop::collection::vec((0..4u8, flags), 3)).prop_map(|(a, b, c, levels)| {
        fn group(first: u32, sizes: &[u32], levels: &[(u8, Vec<Flag>)]) -> Group {
            let count = sizes.iter().product::<u32>();
            let (cache_level, flags) = levels[0].clone();
            let children = match sizes {
                [parts, inner @ ..] if *parts > 1 && levels.len() > 1 => {
                    let size = inner.iter().product::<u32>();
                    (0..*parts).map(|part| group(first + part * size, inner, &levels[1..])).collect()
                }
                _ => Vec::new(),
            };
            Group { cache_level, cpus: (first..first + count).collect(), flags, children }
        }
        Spec { root: group(0, &[a, b, c], &levels) }
    })
}

/// A text with some bytes replaced, taken away or doubled.
fn mutated(text: String, changes: &[(prop::sample::Index, u8)]) -> String {
    let mut bytes = text.into_bytes();
    for (at, change) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match change {
            0..=63 => drop(bytes.remove(at)),
            64..=127 => bytes.insert(at, bytes[at]),
            _ => bytes[at] = change & 0x7f,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hwloc_xml_keeps_counts_and_partitions(topology in machines()) {
        let again = hwloc::parse(&hwloc::write(&topology)).unwrap();
        prop_assert_eq!(again.counts(), topology.counts());
        for level in [Level::Package, Level::Numa, Level::L3, Level::L2, Level::L1, Level::Core] {
            prop_assert_eq!(again.partition(level), topology.partition(level));
        }
        prop_assert_eq!(&again.numa_nodes, &topology.numa_nodes);
        prop_assert_eq!(again.pus, topology.pus);
    }

    #[test]
    fn freebsd_specs_are_read_back(spec in specs(), words in prop_oneof![Just(4usize), Just(16)]) {
        let text = spec.to_xml(words).unwrap();
        prop_assert_eq!(freebsd::parse(&text).unwrap(), spec);
    }

    #[test]
    fn full_groups_divide_the_cpus(topology in machines()) {
        let spec = freebsd::predict(freebsd::Variant::Full, &topology, None).unwrap();
        prop_assert_eq!(&spec.root.cpus, &topology.cpus());
        let again = freebsd::parse(&spec.to_xml(16).unwrap()).unwrap();
        prop_assert_eq!(again, spec);
    }

    #[test]
    fn trees_are_as_narrow_as_asked(topology in machines(), width in 20..100usize) {
        let text = tree::render(&topology, width);
        prop_assert!(text.lines().all(|line| line.chars().count() <= width));
    }

    #[test]
    fn mutated_hwloc_xml_never_panics(topology in machines(), changes in changes()) {
        if let Ok(topology) = load_text(&mutated(hwloc::write(&topology), &changes)) {
            hwloc::parse(&hwloc::write(&topology.topology)).unwrap();
        }
    }

    #[test]
    fn mutated_specs_never_panic(spec in specs(), changes in changes()) {
        let text = mutated(spec.to_xml(4).unwrap(), &changes);
        if let Ok(spec) = freebsd::parse(&text) {
            let topology = freebsd::to_topology(&spec);
            prop_assert_eq!(topology.cpus(), spec.root.cpus);
        }
    }

    #[test]
    fn any_text_is_answered_or_refused(text in "\\PC{0,200}") {
        let _ = load_text(&text);
        let _ = load_text(&format!("<topology>{text}"));
        let _ = load_text(&format!("<groups>{text}"));
        let _ = load_text(&format!("{{{text}"));
    }
}
