//! `coho topology --measured` from outside: what hwloc's own programs make of it.

use std::path::Path;
use std::process::Command;

use coho_model::{Matrix, coherence_from_matrix};
use coho_profile::{History, Profile, TopologySection};
use coho_topology::{Cache, CacheKind, CpuSet, Pu, Topology, Unit};
use serde_json::Value;

use crate::support::{fails, json, run, succeeds};

fn cache(level: u8, cpus: CpuSet) -> Cache {
    Cache { level, kind: CacheKind::Unified, size_bytes: 1 << 25, line_bytes: Some(64), ways: None, cpus }
}

/// A machine that claims one L3, and shows groups of so many.
fn profile(cpus: u32, group: u32) -> Profile {
    let one = |cpu| CpuSet::from_iter([cpu]);
    let mut topology = Topology {
        pus: (0..cpus).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: vec![Unit { id: Some(0), cpus: CpuSet::up_to(cpus) }],
        cores: (0..cpus).map(|cpu| Unit { id: Some(cpu), cpus: one(cpu) }).collect(),
        caches: (0..cpus).map(|cpu| cache(2, one(cpu))).chain([cache(3, CpuSet::up_to(cpus))]).collect(),
        numa_nodes: vec![coho_topology::NumaNode { cpus: CpuSet::up_to(cpus), ..Default::default() }],
        ..Topology::default()
    };
    topology.finish();
    let cells = (0..cpus).flat_map(|a| (0..cpus).map(move |b| (a, b)));
    let ns = cells.map(|(a, b)| {
        let near = if a / group == b / group { 25.0 } else { 95.0 };
        near + f64::from((7 * a.min(b) + 13 * a.max(b)) % 10) / 10.0
    });
    let matrix = Matrix::new((0..cpus).collect(), ns.collect()).unwrap();
    Profile {
        topology: Some(TopologySection::from(topology)),
        coherence: Some(coherence_from_matrix(&matrix)),
        ..Profile::default()
    }
}

fn written(folder: &Path, profile: &Profile) -> String {
    let file = folder.join("mine.json");
    profile.write(&file).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A program of hwloc's that may not be there: it says what it prints.
fn hwloc(program: &str, xml: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).env("HWLOC_XMLFILE", xml).env("HWLOC_THISSYSTEM", "1");
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(_) => None,
    }
}

fn l3s(told: &Value) -> Vec<String> {
    let caches = told["caches"].as_array().unwrap().iter().filter(|cache| cache["level"] == 3);
    let cpus = |cache: &Value| -> CpuSet {
        cache["cpus"].as_array().unwrap().iter().map(|cpu| cpu.as_u64().unwrap() as u32).collect()
    };
    caches.map(|cache| cpus(cache).to_string()).collect()
}

#[test]
fn hwlocs_programs_act_by_what_was_measured() {
    coho_testing::needs!(coho_testing::Capability::Lstopo);
    for (cpus, group) in [(16, 4), (192, 8)] {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path(), &profile(cpus, group));
        let xml = folder.path().join("measured.xml").display().to_string();
        succeeds(&["topology", "--measured", "-p", &file, "--format", "hwloc-xml", "-o", &xml]);
        let Some(listed) = hwloc("lstopo-no-graphics", &xml, &["--of", "console", "--only", "l3"]) else {
            return;
        };
        assert_eq!(
            listed.lines().filter(|line| line.contains("L3")).count() as u32,
            cpus / group,
            "{listed}"
        );
        // The second group's CPUs, as a mask.
        let Some(mask) = hwloc("hwloc-calc", &xml, &["--intersect", "pu", "l3:1"]) else { return };
        let expected: Vec<String> = (group..2 * group).map(|cpu| cpu.to_string()).collect();
        assert_eq!(mask.trim(), expected.join(","));
    }
}

/// hwloc-bind puts a program on the first group's CPUs, where this machine has them.
#[test]
fn hwloc_bind_binds_within_a_measured_group() {
    coho_testing::needs!(coho_testing::Capability::Lstopo);
    let allowed: Vec<u32> = coho_platform::pin::allowed().unwrap().iter().collect();
    let folder = tempfile::tempdir().unwrap();
    // Groups of one CPU less than all would need more; of any machine the first CPU is in the first group.
    let file = written(folder.path(), &profile(16, 4));
    let xml = folder.path().join("measured.xml").display().to_string();
    succeeds(&["topology", "--measured", "-p", &file, "--format", "hwloc-xml", "-o", &xml]);
    let Some(bound) =
        hwloc("hwloc-bind", &xml, &["l3:0", "--", "grep", "Cpus_allowed_list", "/proc/self/status"])
    else {
        return;
    };
    let list: CpuSet = bound.split_whitespace().last().unwrap().parse().unwrap();
    let expected: CpuSet = allowed.into_iter().filter(|cpu| *cpu < 4).collect();
    assert!(expected.is_empty() || list == expected, "{bound}: {expected}");
}

#[test]
fn the_claim_stays_where_nothing_is_certain() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &profile(8, 8));
    let output = run(&["topology", "--measured", "-p", &file, "--format", "json"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("nothing corrected: the figures are flat"), "{errors}");
    let told = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(l3s(&told), ["0-7"]);
    assert!(told["notes"][0].as_str().unwrap().starts_with("as claimed"), "{told}");
    let xml = succeeds(&["topology", "--measured", "-p", &file, "--format", "hwloc-xml"]);
    assert!(xml.contains("CohoNote") && !xml.contains("CohoMeasured"), "{xml}");
}

#[test]
fn what_was_corrected_is_told_with_its_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &profile(8, 4));
    let output = run(&["topology", "--measured", "-p", &file, "--format", "json"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("L3 0-3 | 4-7 in place of 0-7") && errors.contains("at least 95."), "{errors}");
    let told = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(l3s(&told), ["0-3", "4-7"]);
    assert!(told["facts"].as_array().unwrap().iter().any(|fact| fact["source"] == "measured"), "{told}");
    let options = succeeds(&["topology", "--measured", "-p", &file, "--suggest", "qemu"]);
    assert!(options.starts_with("-smp 8,sockets=1,dies=2,cores=4,threads=1\n"), "{options}");
    assert!(options.lines().skip(2).all(|line| line.starts_with("# ") && line.len() <= 82), "{options}");
}

/// Cores of two threads that the times do not show, in packages that they do.
#[test]
fn what_the_times_do_not_bear_out_goes_with_the_options() {
    let folder = tempfile::tempdir().unwrap();
    let mut profile = profile(16, 8);
    let topology = &mut profile.topology.as_mut().unwrap().topology;
    let blocks = |size: u32| (0..16 / size).map(move |at| CpuSet::from_iter(at * size..(at + 1) * size));
    let units = |size| blocks(size).zip(0..).map(|(cpus, id)| Unit { id: Some(id), cpus }).collect();
    (topology.cores, topology.packages) = (units(2), units(8));
    topology.caches =
        blocks(2).map(|cpus| cache(2, cpus)).chain(blocks(8).map(|cpus| cache(3, cpus))).collect();
    topology.finish();
    let file = written(folder.path(), &profile);
    let output = run(&["topology", "--measured", "-p", &file]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("do not show the claimed core, L2: 0-1 | 2-3"), "{errors}");
    assert!(!errors.contains("nothing to correct"), "{errors}");
    let options = succeeds(&["topology", "--measured", "-p", &file, "--suggest", "qemu"]);
    let options = options.replace("\n# ", " ");
    assert!(
        options.contains("threads=2") && options.contains("do not show the claimed core, L2"),
        "{options}"
    );
    assert!(options.contains("rests on one sample per pair"), "{options}");
    let xml = succeeds(&["topology", "--measured", "-p", &file, "--format", "hwloc-xml"]);
    assert!(xml.contains("do not show the claimed core"), "{xml}");
}

/// Times that other surveys of the host contradict.
fn moved() -> Profile {
    let mut moved = profile(8, 4);
    let history = History { surveys: 4, modes_ns: vec![25.0, 95.0], disagree: 2 };
    moved.coherence.as_mut().unwrap().history = Some(history);
    moved
}

#[test]
fn times_that_other_surveys_contradict_correct_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &moved());
    let output = run(&["topology", "--measured", "-p", &file, "--format", "json"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("nothing corrected: 2 of 4 other surveys since boot differ"), "{errors}");
    assert_eq!(l3s(&json(&String::from_utf8(output.stdout).unwrap())), ["0-7"]);
    let options = succeeds(&["topology", "--measured", "-p", &file, "--suggest", "qemu"]);
    assert!(options.contains("# nothing corrected: 2 of 4 other surveys"), "{options}");
}

#[test]
fn what_libvirt_is_given_is_xml_and_says_once_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    for profile in [profile(16, 8), moved()] {
        let file = written(folder.path(), &profile);
        let output = run(&["topology", "--suggest", "libvirt", "-p", &file]);
        let [told, xml] = [output.stderr, output.stdout].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{told}");
        assert!(xml.starts_with("<domain>\n  <vcpu>") && xml.ends_with("</domain>\n"), "{xml}");
        for comment in xml.split("<!--").skip(1) {
            let (text, rest) = comment.split_once("-->").unwrap();
            assert!(!text.contains("--") && !rest.trim_start().starts_with('#'), "{xml}");
        }
        let both = told + &xml;
        assert!(both.matches("nothing corrected").count() <= 1, "{both}");
    }
    let tree = run(&["topology", "--measured", "-p", &folder.path().join("mine.json").to_string_lossy()]);
    let both = [tree.stderr, tree.stdout].map(|text| String::from_utf8(text).unwrap()).concat();
    assert_eq!(both.matches("nothing corrected").count(), 1, "{both}");
    assert!(!both.contains("not corrected"), "{both}");
}

/// The lab boots a guest with what is suggested here, and finds there what was measured.
#[test]
fn the_labs_guest_has_the_suggested_options() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &profile(16, 4));
    let options = succeeds(&["topology", "--measured", "-p", &file, "--suggest", "qemu"]);
    let case = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/cases/suggested-16.case");
    let case = std::fs::read_to_string(case).unwrap();
    assert!(case.contains(options.lines().next().unwrap()), "{options}");
}

#[test]
fn what_it_takes_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut without = profile(8, 4);
    without.topology = None;
    let file = written(folder.path(), &without);
    assert!(fails(&["topology", "--measured", "-p", &file], 1).contains("--from"));
    without.coherence = None;
    let file = written(folder.path(), &without);
    assert!(fails(&["topology", "--measured", "-p", &file], 1).contains("coho coherence"));
    for asked in [&["topology", "--measured"][..], &["topology", "--suggest", "qemu"]] {
        assert!(fails(asked, 2).contains("--profile"), "all that is missing at once");
    }
    assert_eq!(run(&["topology", "-p", &file]).status.code(), Some(2));
}
