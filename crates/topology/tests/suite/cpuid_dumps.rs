//! The dumps beside these tests (`dumps/README.md` says how each was made).

use std::path::{Path, PathBuf};

use coho_topology::{Cache, CacheKind, Topology, cpuid};

use crate::cpuid_support;

fn dump(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps").join(name)
}

fn decode(name: &str) -> Topology {
    let topology = cpuid::decode(&cpuid::read(&dump(name)).unwrap()).unwrap();
    cpuid_support::assert_consistent(&topology);
    topology
}

fn cache(topology: &Topology, level: u8, kind: CacheKind) -> &Cache {
    topology.caches.iter().find(|cache| cache.level == level && cache.kind == kind).unwrap()
}

#[test]
fn one_machine_in_four_dialects_is_one_topology() {
    let own = decode("kvm-2cpu.cpuid");
    assert_eq!(own.cpu.hypervisor.as_deref(), Some("KVMKVMKVM"));
    assert_eq!(own.counts().core, 2);
    let l3 = cache(&own, 3, CacheKind::Unified);
    assert_eq!((l3.size_bytes, l3.line_bytes, l3.ways), (105 << 20, Some(64), Some(15)));
    for name in ["kvm-2cpu.hwloc", "kvm-2cpu.libcpuid", "kvm-2cpu.cpuid-r"] {
        let mut other = decode(name);
        // hwloc and libcpuid do not ask the hypervisor's leaves.
        other.cpu.hypervisor.clone_from(&own.cpu.hypervisor);
        // libcpuid keeps one sub-leaf of leaf 0x1F, so leaf 0xB provides the same facts instead.
        other.facts.clone_from(&own.facts);
        assert_eq!(other, own, "{name}");
    }
}

#[test]
fn emulated_processors_are_identified() {
    for (model, vendor, family, number, brand) in [
        ("EPYC-Rome", "AuthenticAMD", 0x17, 0x31, "AMD EPYC-Rome Processor"),
        ("Dhyana", "HygonGenuine", 0x18, 0, "Hygon Dhyana Processor"),
        ("Opteron_G1", "AuthenticAMD", 0xF, 6, "AMD Opteron 240 (Gen 1 Class Opteron)"),
        ("Opteron_G3", "AuthenticAMD", 0x10, 2, "AMD Opteron 23xx (Gen 3 Class Opteron)"),
        ("Opteron_G5", "AuthenticAMD", 0x15, 2, "AMD Opteron 63xx class CPU"),
        ("Penryn", "GenuineIntel", 6, 0x17, "Intel Core 2 Duo P9xxx (Penryn Class Core 2)"),
        ("Nehalem", "GenuineIntel", 6, 0x1A, "Intel Core i7 9xx (Nehalem Class Core i7)"),
        ("phenom", "AuthenticAMD", 0x10, 2, "AMD Phenom(tm) 9550 Quad-Core Processor"),
    ] {
        let topology = decode(&format!("qemu-{model}.cpuid"));
        let cpu = &topology.cpu;
        assert_eq!(cpu.vendor.as_deref(), Some(vendor), "{model}");
        assert_eq!((cpu.family, cpu.model), (Some(family), Some(number)), "{model}");
        assert_eq!(cpu.brand.as_deref(), Some(brand), "{model}");
        assert_eq!(cpu.hypervisor.as_deref(), Some("TCGTCGTCGTCG"), "{model}");
        assert_eq!(topology.counts().pu, 1, "{model}");
    }
}

/// The cache sizes of QEMU's models in `target/i386/cpu.c`.
#[test]
fn emulated_caches_have_their_sizes() {
    for (model, l1d, l2, l3) in
        [("EPYC-Rome", 32 << 10, 512 << 10, 16 << 20), ("Opteron_G1", 64 << 10, 512 << 10, 16 << 20)]
    {
        let topology = decode(&format!("qemu-{model}.cpuid"));
        let size = |level, kind| cache(&topology, level, kind).size_bytes;
        assert_eq!(size(1, CacheKind::Data), l1d, "{model}");
        assert_eq!(size(2, CacheKind::Unified), l2, "{model}");
        assert_eq!(size(3, CacheKind::Unified), l3, "{model}");
    }
}

#[test]
fn a_folder_that_is_none_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let error = cpuid::parse_dir(folder.path()).unwrap_err();
    assert!(error.file().unwrap().ends_with("hwloc-cpuid-info"), "{error}");

    std::fs::write(folder.path().join("hwloc-cpuid-info"), "Architecture: arm\n").unwrap();
    let error = cpuid::parse_dir(folder.path()).unwrap_err().to_string();
    assert!(error.contains("not a folder of hwloc-gather-cpuid"), "{error}");

    std::fs::write(folder.path().join("hwloc-cpuid-info"), "Architecture: x86\n").unwrap();
    std::fs::write(folder.path().join("pu3"), "# mask\n1 0 0 0 0 => 1 2 3\n").unwrap();
    let error = cpuid::parse_dir(folder.path()).unwrap_err();
    assert_eq!(error.line(), Some(2), "{error}");
    assert!(error.file().unwrap().ends_with("pu3"), "{error}");
}
