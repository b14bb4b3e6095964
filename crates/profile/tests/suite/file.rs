//! The profile file: schema, round trips, unknown fields, versions.

use std::fs;

use coho_profile::{
    CacheState, Call, Calls, ClockFacts, Coherence, CounterTool, Counters, Counts, Damage, Estimate,
    EventTest, Home, Host, LineSpread, Pair, PairMethod, Profile, Side, Single, TimeMatrix, TopologySection,
    published,
};
use coho_topology::{CpuSet, Pu, Topology, Unit};
use proptest::prelude::*;
use serde_json::{Value, json};

fn small() -> Profile {
    let topology = Topology {
        pus: (0..2).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: vec![Unit { id: Some(0), cpus: CpuSet::up_to(2) }],
        ..Topology::default()
    };
    let pair = Pair {
        a: 0,
        b: 1,
        method: PairMethod::Turn,
        home: Home::A,
        ns: Estimate::exact(25.0),
        ownership_changes_per_op: None,
        lines: Some(LineSpread {
            count: 64,
            p10: 24.4,
            p50: 27.6,
            p90: 30.3,
            split_half: Some(0.97),
            share: None,
        }),
        preempted_batches: 3,
        claimed: Some("L3".into()),
    };
    let coherence = Coherence { cpus: vec![0, 1], pairs: vec![pair], ..Coherence::default() };
    Profile {
        host: Some(Host { cpu: Some("A CPU".into()), ..Host::default() }),
        topology: Some(TopologySection::from(topology)),
        coherence: Some(coherence),
        ..Profile::default()
    }
}

fn validator() -> jsonschema::Validator {
    let schema = serde_json::from_str(Profile::JSON_SCHEMA).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

/// The committed file is what the types say.
#[cfg(feature = "schema")]
#[test]
fn the_schema_is_that_of_the_types() {
    let derived = schemars::schema_for!(Profile).to_value();
    assert!(
        Profile::JSON_SCHEMA == format!("{derived:#}\n"),
        "`cargo run -p coho-profile --features schema --example schema >crates/profile/schema.json` writes it anew"
    );
}

fn assert_valid(profile: &Value) {
    let validator = validator();
    let errors: Vec<_> = validator.iter_errors(profile).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_pair_from_before_its_lines_were_compared_is_read_and_stays_as_it_was() {
    let mut old = serde_json::to_value(small()).unwrap();
    let pair = |profile: &mut Value| profile["coherence"]["pairs"][0].as_object_mut().unwrap().clone();
    old["coherence"]["pairs"][0].as_object_mut().unwrap().remove("lines");
    assert_valid(&old);
    let read = Profile::from_json(&old.to_string()).unwrap();
    assert_eq!(read.coherence.as_ref().unwrap().pairs[0].lines, None);
    assert_eq!(pair(&mut serde_json::to_value(read).unwrap()), pair(&mut old));
}

#[test]
fn profiles_follow_their_schema() {
    assert_valid(&serde_json::to_value(small()).unwrap());
    assert_valid(&serde_json::to_value(Profile::default()).unwrap());
    for paper in published::PAPERS.iter() {
        for (_, machine) in paper.publication().machines {
            assert_valid(&serde_json::to_value(machine).unwrap());
        }
    }
}

#[test]
fn the_schema_refuses_what_is_no_profile() {
    let validator = validator();
    assert!(!validator.is_valid(&json!({})));
    assert!(!validator.is_valid(&json!({"schema": "coho-profile/1", "coherence": {"timeline": "maybe"}})));
    assert!(!validator.is_valid(&json!({"schema": "coho-profile/1", "coherence": {"pairs": [{"a": -1}]}})));
}

#[test]
fn round_trip() {
    let profile = small();
    assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
}

/// A profile with the sections of Shimosawa, Hori & Ishikawa, with figures and without.
fn counted() -> Profile {
    let counts = Counts { L1DR: Some(Estimate::exact(105.0)), ..Counts::default() };
    let call = Call {
        name: "getpid".into(),
        set: "syscalls".into(),
        state: CacheState::Cold,
        side: Side::Kernel,
        counts: counts.clone(),
        code_lines: Some(3),
        ..Call::default()
    };
    let calls = Calls {
        calls: vec![call],
        damage: vec![Damage { name: "getpid".into(), set_bytes: 24 << 10, ..Damage::default() }],
        ..Calls::default()
    };
    let counters = Counters {
        tools: vec![CounterTool { name: "user-level read".into(), user: counts, ..CounterTool::default() }],
        events: vec![EventTest { name: "L1DM".into(), passed: true, ..EventTest::default() }],
        clock: Some(ClockFacts { source: "RDTSCP".into(), ..ClockFacts::default() }),
        ..Counters::default()
    };
    Profile { counters: Some(counters), calls: Some(calls), ..Profile::default() }
}

#[test]
fn what_scripts_ask_of_counters_and_calls_stands_under_the_papers_names() {
    let profile = counted();
    let value = serde_json::to_value(&profile).unwrap();
    assert_valid(&value);
    let call = &value["calls"]["calls"][0];
    assert_eq!(
        (&call["state"], &call["side"], &call["wrapped"]),
        (&json!("cold"), &json!("kernel"), &json!(false))
    );
    assert_eq!(call["L1DR"]["median"], 105.0);
    let columns = ["L1DM", "L1IM", "L2M", "L3M", "INS", "CYCLE", "STALL", "CPI", "ns"];
    assert!(columns.iter().all(|column| call.get(column) == Some(&Value::Null)), "null, not absent: {call}");
    assert_eq!(value["calls"]["method"], "timing");
    assert_eq!(value["calls"]["damage"][0]["set_bytes"], 24 << 10);
    assert_eq!(value["counters"]["tools"][0]["user"]["L1DR"]["median"], 105.0);
    assert_eq!(value["counters"]["rdpmc"]["available"], false);
    assert_eq!(value["counters"]["events"][0]["passed"], true);
    assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
}

#[test]
fn unknown_fields_of_sections_are_kept() {
    let text = r#"{"schema": "coho-profile/1", "later": {"a": [1, 2]},
        "host": {"cpu": "x", "moon": "full"}, "coherence": {"stars": 3},
        "topology": {"counts": {"package": 1, "die": 0, "numa": 1, "l3": 0, "l2": 0, "module": 0, "core": 0, "pu": 0},
                     "racks": 7}}"#;
    let rewritten: Value = serde_json::from_str(&Profile::from_json(text).unwrap().to_json()).unwrap();
    assert_eq!(rewritten["later"], json!({"a": [1, 2]}));
    assert_eq!(rewritten["host"]["moon"], "full");
    assert_eq!(rewritten["coherence"]["stars"], 3);
    assert_eq!(rewritten["topology"]["racks"], 7);
    assert!(rewritten["topology"]["unknown"].is_null() && rewritten["unknown"].is_null());
}

#[test]
fn an_update_leaves_other_sections_to_the_letter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    let mut value = serde_json::to_value(small()).unwrap();
    value["coherence"]["pairs"][0]["deep"] = json!("kept");
    value["topology"]["pus"][0]["socket_colour"] = json!("green");
    fs::write(&path, value.to_string()).unwrap();

    Profile::update(&path, |profile| profile.host = Some(Host::default())).unwrap();
    let after: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(after["coherence"], value["coherence"]);
    assert_eq!(after["topology"], value["topology"]);
    assert_eq!(after["host"]["cpu"], Value::Null);

    let begun = folder.path().join("new.json");
    Profile::update(&begun, |profile| profile.coherence = Some(Coherence::default())).unwrap();
    assert!(Profile::read(&begun).unwrap().coherence.is_some());
}

#[test]
fn an_update_keeps_the_order_and_takes_out_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    let text = r#"{"schema": "coho-profile/1", "later": [1,  2], "host": {"cpu": "x"}, "idle": null, "coherence": {}}"#;
    fs::write(&path, text).unwrap();
    Profile::update(&path, |profile| {
        profile.coherence = None;
        profile.calls = Some(Calls::default());
        profile.unknown.insert("more".into(), json!("\n\"{"));
    })
    .unwrap();
    let after = fs::read_to_string(&path).unwrap();
    let value: Value = serde_json::from_str(&after).unwrap();
    let names: Vec<_> = value.as_object().unwrap().keys().collect();
    assert_eq!(names, ["schema", "later", "host", "idle", "calls", "more"]);
    assert!(after.contains("\"later\": [1,  2]"), "to the letter: {after}");
    assert_eq!(value["more"], "\n\"{");
    assert!(Profile::read(&path).unwrap().calls.is_some());
}

#[test]
fn times_in_columns_survive_a_round_trip_and_take_a_line_a_row() {
    let time = |a: usize, b: usize| (a + b != 7).then_some(a as f64 + b as f64 / 8.0);
    let matrix = TimeMatrix::new(40, time);
    let cpus: Vec<u32> = (0..40).map(|cpu| 3 * cpu).collect();
    let coherence = Coherence { cpus, matrix: Some(matrix), ..Coherence::default() };
    let profile = Profile { coherence: Some(coherence), ..Profile::default() };
    let text = profile.to_json();
    assert!(text.lines().count() < 200, "{text}");
    assert_valid(&serde_json::from_str(&text).unwrap());
    let read = Profile::from_json(&text).unwrap();
    assert_eq!(read, profile);
    let times: Vec<_> = read.coherence.as_ref().unwrap().times().map(|(a, b, .., ns)| (a, b, ns)).collect();
    assert_eq!((times.len(), times[0], times[779 - 4]), (776, (0, 3, 1.0), (114, 117, 39.0 + 38.0 / 8.0)));
    let ragged = r#"{"schema": "coho-profile/1", "coherence": {"matrix": [[], [1.0], [1.0]]}}"#;
    assert!(Profile::from_json(ragged).is_err());
}

#[test]
fn other_schemas_are_refused_with_what_would_read_them() {
    let error = |text: &str| Profile::from_json(text).unwrap_err().to_string();
    assert!(error(r#"{"schema": "coho-profile/2"}"#).contains("use a version that writes 'coho-profile/2'"));
    assert!(error(r#"{"schema": "coho-profile/0"}"#).contains("unknown"));
    assert!(error("{}").contains("not a coho profile"));
    assert!(error("[1]").contains("not a coho profile"));
    assert!(error("{\n oops").contains("line 2"));
}

proptest! {
    #[test]
    fn any_text_is_a_profile_or_an_error(text in "\\PC{0,200}") {
        let _ = Profile::from_json(&text);
    }

    #[test]
    fn figures_survive_a_round_trip(value in proptest::num::f64::NORMAL, cpu in 0u32..1024) {
        let mut profile = small();
        let single =
            Single { cpu, name: format!("C{cpu}"), locked_ns: Estimate::exact(value), unlocked_ns: Estimate::exact(1.0) };
        profile.coherence.as_mut().unwrap().singles.push(single);
        prop_assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
    }
}
