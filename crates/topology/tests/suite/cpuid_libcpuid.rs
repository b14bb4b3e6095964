//! Dumps of libcpuid's contributors against its decoder's expected output, which follows a line of dashes.

use coho_testing::data;
use coho_topology::{Cache, CacheKind, Topology, load};

use crate::cpuid_support;

fn cache(topology: &Topology, level: u8, kind: CacheKind) -> Option<&Cache> {
    topology.caches.iter().find(|cache| cache.level == level && cache.kind == kind)
}

#[test]
fn counts_and_caches_as_libcpuid_expects_them() {
    let (mut read, mut with_caches) = (0, 0);
    for entry in std::fs::read_dir(data("cpuid/libcpuid")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display();
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, expected) = text.split_once(&format!("\n{}\n", "-".repeat(80))).unwrap();
        let expected: Vec<i64> = expected.lines().map(|line| line.parse().unwrap_or(-1)).collect();
        let [cores, cpus, l1d, l1i, l2, l3, _, l1d_ways, l1i_ways, l2_ways] = expected[8..18] else {
            panic!("{name}: {expected:?}")
        };

        let topology = load(&path).unwrap().topology;
        cpuid_support::assert_consistent(&topology);
        let counts = topology.counts();
        // libcpuid counts the cores of a package.
        assert_eq!((counts.core / counts.package) as i64, cores, "{name}: cores");
        assert_eq!(counts.pu as i64, cpus, "{name}: CPUs");
        // libcpuid drops unnumbered sub-leaves, and so knows no cache.
        read += 1;
        if l1d < 0 {
            continue;
        }
        with_caches += 1;
        for (level, kind, kib, ways) in [
            (1, CacheKind::Data, l1d, l1d_ways),
            (1, CacheKind::Instruction, l1i, l1i_ways),
            (2, CacheKind::Unified, l2, l2_ways),
            (3, CacheKind::Unified, l3, -1),
        ] {
            let cache = cache(&topology, level, kind);
            assert_eq!(
                cache.map_or(-1, |cache| (cache.size_bytes >> 10) as i64),
                kib,
                "{name}: L{level} {kind:?}"
            );
            if ways > 0 {
                assert_eq!(cache.unwrap().ways.map(i64::from), Some(ways), "{name}: L{level} {kind:?}");
            }
        }
    }
    assert!(read >= 57 && with_caches >= 44, "{read} dumps, {with_caches} with caches");
}
