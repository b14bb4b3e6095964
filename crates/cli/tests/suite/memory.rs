//! `coho memory` as scripts and people call it.

use coho_profile::{Estimate, Memory, MemoryLatency, Method, Profile};
use serde_json::{Value, json};

use crate::support::{self, assert_refuses, assert_valid, json as parse, succeeds, unwrapped};

const FEW: [&str; 8] =
    ["memory", "--quick", "--threads", "1", "--sizes", "512,64K", "--instructions", "plain-8"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    FEW.iter().chain(more).copied().collect()
}

#[test]
fn scripts_get_rates_types_and_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").display().to_string();
    std::fs::write(&file, r#"{"schema": "coho-profile/1", "later": 7}"#).unwrap();
    let rate = |found: &Value, op: &str, bytes: u32| {
        let is = |rate: &&Value| {
            rate["op"] == op
                && rate["bytes"] == bytes
                && rate["instruction"] == "plain-8"
                && rate["state"] == "warm"
        };
        found["rates"].as_array().unwrap().iter().find(is).cloned()
    };
    let (operations, sizes) = (["read", "write", "copy"], [512, 65536]);
    let found = parse(&succeeds(&with(&["--parts", "rates", "--json", "-o", &file])));
    assert_valid(&json!({"schema": "coho-profile/1", "memory": found}));
    for op in operations {
        for bytes in sizes {
            let Some(rate) = rate(&found, op, bytes) else {
                // Where others use the CPU too, each window of a rate may be interrupted.
                let dropped = &found["method"]["parameters"]["windows_dropped"];
                assert!(dropped.as_u64() > Some(0), "{op} of {bytes}: {found}");
                continue;
            };
            assert!(rate["bytes_per_s"]["median"].as_f64().unwrap() > 1e3, "{rate}");
            assert_eq!((&rate["type"], &rate["threads"]), (&json!("WB"), &json!(1)));
            assert_eq!(rate["fence"].is_null(), op == "read");
        }
    }
    let types = found["types"].as_array().unwrap();
    assert!(types.iter().any(|one| one["name"] == "WB" && one["available"] == true));
    for name in ["WC", "UC"] {
        let one = types.iter().find(|one| one["name"] == name).unwrap();
        assert!(one["why"].as_str().is_some_and(|why| !why.is_empty()), "{one}");
    }
    let profile = parse(&std::fs::read_to_string(&file).unwrap());
    assert_eq!((&profile["later"], &profile["memory"]["rates"]), (&json!(7), &found["rates"]));
}

#[test]
fn parts_that_are_not_measured_anew_stay_with_their_method() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let latency = MemoryLatency { bytes: 4096, ns: Some(Estimate::exact(1.25)), ..MemoryLatency::default() };
    let method = Method { description: "an earlier run".into(), duration_s: 77.0, ..Method::default() };
    let memory = Memory { method, latency: vec![latency], ..support::measured().memory.unwrap() };
    let before = Profile { memory: Some(memory.clone()), ..Profile::default() };
    before.write(&file).unwrap();
    let name = file.display().to_string();
    succeeds(&with(&["--parts", "rates", "--operations", "read", "-o", &name]));
    let after = Profile::read(&file).unwrap().memory.unwrap();
    assert_eq!(after.latency, memory.latency);
    assert!(after.rates != memory.rates && after.method != memory.method);
    let [earlier] = &after.earlier[..] else { panic!("{:?}", after.earlier) };
    assert_eq!((&earlier.parts[..], &earlier.method), (&["latency".to_owned()][..], &memory.method));
    assert_valid(&parse(&std::fs::read_to_string(&file).unwrap()));
    let page = support::page(&Profile { memory: Some(after), ..Profile::default() });
    support::assert_shows(&page, &["How an earlier run measured latency", "an earlier run"]);
}

#[test]
fn people_get_tables_of_a_page() {
    let text = succeeds(&with(&[
        "--parts",
        "rates,coherence",
        "--state",
        "fresh",
        "--operations",
        "copy",
        "--full",
    ]));
    assert!(unwrapped(&text).contains("copy WB, one thread") && text.contains("plain-8"), "{text}");
    assert!(text.contains("Lines written back explicitly"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn nothing_is_told_of_types_that_nobody_asked_for() {
    let latency = succeeds(&["memory", "--quick", "--parts", "latency", "--type", "WB", "--time-limit", "3"]);
    assert!(latency.starts_with("Latency"), "{latency}");
    let run = support::run(&with(&["--parts", "rates,latency", "--type", "UC"]));
    let [text, error] = [&run.stdout, &run.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(text.contains("UC by PCI") && !text.contains("WC by "), "{text}");
    assert!(!text.contains("Latency of loads"), "{text}");
    if !run.status.success() {
        assert!(error.contains("no rate was measured; the lines above say why"), "{error}");
    }
}

#[test]
fn words_that_make_no_sense_are_named() {
    assert_refuses(&[
        ("memory --sizes 1.5M", 2, "1.5M"),
        ("memory --state tepid", 2, "tepid"),
        ("memory --fence often", 2, "often"),
        ("memory --type WX", 2, "WX"),
        ("memory --operations scale", 2, "scale"),
        ("memory --instructions avx9000", 1, "avx9000"),
        ("memory --quick --node 1000", 1, "1000"),
    ]);
}
