//! `coho topology` as scripts and people call it.

use crate::support::{dump, fails, json, succeeds};

#[test]
fn this_machine_in_every_format() {
    let told = json(&succeeds(&["topology", "--format", "json"]));
    let counts = &told["counts"];
    for level in ["package", "die", "numa", "l3", "l2", "module", "core", "pu"] {
        assert!(counts[level].is_u64(), "{level}: {counts}");
    }
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let online: coho_topology::CpuSet = online.parse().unwrap();
    assert_eq!(counts["pu"], online.len());
    assert_eq!(succeeds(&["topology", "--json"]), succeeds(&["topology", "--format", "json"]));

    let tree = succeeds(&["topology"]);
    assert!(tree.contains("package") && tree.lines().all(|line| line.chars().count() <= 80), "{tree}");
    assert!(succeeds(&["topology", "--format", "hwloc-xml"]).contains("<topology version=\"2."));
}

#[test]
fn what_was_told_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let counts = |path: &str| json(&succeeds(&["topology", "--json", "--from", path]))["counts"].clone();
    let here = json(&succeeds(&["topology", "--json"]))["counts"].clone();
    for (name, format) in [("a.json", "json"), ("a.xml", "hwloc-xml")] {
        assert_eq!(succeeds(&["topology", "--format", format, "-o", &file(name)]), "");
        assert_eq!(counts(&file(name)), here, "{name}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn freebsd_listings_of_this_machine() {
    for kernel in ["stock", "patched", "modern", "full"] {
        for (words, zeros) in [("4", 3), ("16", 15)] {
            let listing = succeeds(&["topology", "--freebsd", kernel, "--words", words]);
            assert!(listing.starts_with("<groups>\n"), "{kernel}: {listing}");
            assert!(listing.contains(&",0".repeat(zeros)), "{kernel} {words}: {listing}");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.cpuid");
    std::fs::write(&bad, "cpu 0 0x0 0x0 0x1 0x2 0x3 0x4\ncpu 0 0x1 oops\n").unwrap();
    let error = fails(&["topology", "--from", &bad.to_string_lossy()], 1);
    assert!(error.contains("bad.cpuid:2"), "{error}");
    let matrix = folder.path().join("m.xml");
    std::fs::write(&matrix, "<topology><object type=\"Machine\">").unwrap();
    assert!(fails(&["topology", "--from", &matrix.to_string_lossy()], 1).contains("m.xml"));
}

#[test]
fn a_dump_needs_no_machine() {
    let names: Vec<_> =
        std::fs::read_dir(dump("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let mut read = 0;
    for name in names.iter().map(|name| name.to_string_lossy()).filter(|name| name.ends_with(".cpuid")) {
        let told = json(&succeeds(&["topology", "--json", "--from", &dump(&name)]));
        assert!(told["counts"]["pu"].as_u64() >= Some(1), "{name}");
        read += 1;
    }
    assert!(read > 0, "there are dumps");
}
