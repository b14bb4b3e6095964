//! `coho loaded` as scripts and people call it.

use coho_testing::{Capability, needs};
use serde_json::Value;

use crate::support::{assert_refuses, assert_valid, first_cpus, json as parse, succeeds};

#[test]
fn each_kind_of_traffic_has_rows_beside_the_idle_one() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").to_string_lossy().into_owned();
    let found = parse(&succeeds(&["loaded", "--quick", "--cpus", &first_cpus(2), "--json", "-o", &file]));
    let profile = parse(&std::fs::read_to_string(&file).unwrap());
    assert_valid(&profile);
    assert_eq!(profile["loaded"], found);
    let rows = found["rows"].as_array().unwrap();
    let dropped = found["method"]["parameters"]["visits_dropped"].as_u64().unwrap();
    for kind in ["none", "read", "three-to-one", "two-to-one", "one-to-one", "non-temporal"] {
        let of_kind: Vec<&Value> = rows.iter().filter(|row| row["traffic"] == kind).collect();
        let (pauses, others) = if kind == "none" { (1, 0) } else { (3, 1) };
        assert_eq!(of_kind.len(), pauses, "{kind}: {found}");
        assert!(of_kind.iter().all(|row| row["threads"] == others), "{kind}: {found}");
        // Where others use the CPUs too, each visit may have been disturbed.
        let has_time = of_kind.iter().any(|row| row["latency_ns"]["median"].as_f64() > Some(0.0));
        assert!(has_time || dropped > 0, "{kind}: {found}");
    }
    succeeds(&["report", &file, "-o", &folder.path().join("r.html").to_string_lossy()]);
}

#[test]
fn one_cpu_is_measured_without_load() {
    let found = parse(&succeeds(&["loaded", "--quick", "--cpus", &first_cpus(1), "--json"]));
    assert_eq!(found["rows"].as_array().unwrap().len(), 1, "{found}");
    assert!(found["method"]["not_available"]["latency under load"].is_string(), "{found}");
}

#[test]
fn words_that_make_no_sense_are_named() {
    assert_refuses(&[("loaded --traffic reads", 2, "read, three-to-one, two-to-one")]);
}
