//! `coho calls` as scripts and people call it.

use coho_profile::{Call, Calls, Profile};
use serde_json::{Value, json};

use crate::support::{self, assert_refuses, assert_valid, fails, json as parse, run, succeeds};

fn section(text: &str) -> Value {
    let section = parse(text);
    assert_valid(&json!({"schema": "coho-profile/1", "calls": section}));
    section
}

fn rows<'a>(section: &'a Value, name: &str) -> Vec<&'a Value> {
    section["calls"].as_array().unwrap().iter().filter(|row| row["name"] == name).collect()
}

#[test]
fn system_calls_under_the_names_that_scripts_ask_for() {
    let found = section(&succeeds(&["calls", "--set", "syscalls", "--quick", "--repeat", "40", "--json"]));
    assert!(["pmu", "timing"].contains(&found["method"].as_str().unwrap()), "{}", found["method"]);
    for name in ["getpid", "gettimeofday", "stat", "open", "write", "close"] {
        let rows = rows(&found, name);
        assert!(!rows.is_empty(), "{name}: {}", found["conditions"]["not_available"]);
        for row in rows {
            assert_eq!(row["set"], "syscalls");
            assert!(row["wrapped"].is_boolean() && row["state"].is_string() && row["side"].is_string());
            for column in ["L1DR", "L1DM", "L1IM", "L2M", "L3M", "INS", "CYCLE", "STALL", "CPI", "ns"] {
                let figure = row.get(column).unwrap_or_else(|| panic!("{name} has no field {column}"));
                assert!(figure.is_null() || figure["median"].is_number(), "{name} {column}: {figure}");
            }
        }
    }
    let warm = |name: &str| {
        let ns = |row: &&Value| row["state"] == "warm" && row["ns"].is_object();
        rows(&found, name).into_iter().find(ns).and_then(|row| row["ns"]["median"].as_f64())
    };
    // Time or cycles of one side, an open is more work than a getpid.
    if let (Some(getpid), Some(open)) = (warm("getpid"), warm("open")) {
        assert!(0.0 < getpid && getpid < open, "{getpid} ns, {open} ns");
    }
    // Cold, the call right after, and the steady state are three things, and no time is negative or none.
    for state in ["cold", "second", "warm"] {
        assert!(
            rows(&found, "write").iter().any(|row| row["state"] == state && row["ns"].is_object()),
            "{state}"
        );
    }
    for row in found["calls"].as_array().unwrap().iter().filter(|row| row["ns"].is_object()) {
        assert!(row["ns"]["low"].as_f64() > Some(0.0) && row["ns"]["median"].as_f64() > Some(0.0), "{row}");
    }
    let walk = |name: &str| found["conditions"]["parameters"][name].as_u64().unwrap();
    assert!(walk("clear_data_bytes") >= 2 * walk("last_level_cache_bytes"));
    let damage = &found["damage"].as_array().unwrap()[0];
    assert!(damage["set_bytes"].as_u64() > Some(0) && damage["name"].is_string(), "{damage}");
    let judged: Vec<_> = found["judgements"].as_array().unwrap().iter().map(|j| &j["name"]).collect();
    assert!(judged.contains(&&json!("write")), "{judged:?}");
}

#[test]
fn calls_that_are_no_longer_in_the_profile_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.json");
    let earlier = Call { name: "read(4096)".into(), ..Call::default() };
    let calls = Calls { calls: vec![earlier], ..Calls::default() };
    Profile { calls: Some(calls), ..Profile::default() }.write(&file).unwrap();
    let name = file.to_string_lossy();
    let again = ["calls", "--call", "getpid", "--no-pmu", "--quick", "--repeat", "30", "-o", &name];
    let told = || String::from_utf8(run(&again).stderr).unwrap();
    let first = told();
    assert!(first.contains("gone: read(4096)\n"), "{first}");
    let second = told();
    assert!(!second.contains("gone"), "{second}");
}

#[test]
fn time_alone_tells_the_same_calls_where_counters_are_turned_off() {
    let arguments = ["calls", "--set", "libc", "--no-pmu", "--quick", "--repeat", "30", "--json"];
    let found = section(&succeeds(&arguments));
    assert_eq!(found["method"], "timing");
    for row in rows(&found, "sprintf") {
        assert!(row["L2M"].is_null() && row["STALL"].is_null(), "only a counter tells these: {row}");
        assert!(row["CYCLE"].is_null() || row["by_clock"] == true && row["side"] == "user", "{row}");
    }
    assert!(!rows(&found, "sprintf").is_empty() && rows(&found, "getpid").is_empty());
    assert!(found["conditions"]["not_available"]["CYCLE"].is_string(), "{}", found["conditions"]);
}

#[test]
fn a_call_by_name_alone_and_a_page_of_80_columns() {
    let told = succeeds(&["calls", "--call", "getppid()", "--call", "read(64)", "--quick", "--repeat", "30"]);
    assert!(
        told.contains("getppid") && told.contains("read(64)") && !told.contains("gettimeofday"),
        "{told}"
    );
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
}

#[test]
fn the_coherence_of_the_profile_tells_what_a_message_costs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").to_string_lossy().into_owned();
    // Coherence counts where it was measured on this machine.
    succeeds(&["calls", "--call", "getppid()", "--repeat", "10", "--quick", "-o", &file]);
    let path = std::path::Path::new(&file);
    let mut known = coho_profile::Profile::read(path).unwrap();
    known.coherence = support::measured().coherence;
    // The nearest pair's.
    let steps = known.coherence.as_ref().unwrap().pairs.iter().map(|pair| pair.ns.median);
    let step = steps.reduce(f64::min).unwrap();
    known.write(path).unwrap();
    let printed =
        succeeds(&["calls", "--set", "syscalls", "--repeat", "30", "--quick", "-o", &file, "--json"]);
    let profile = parse(&std::fs::read_to_string(&file).unwrap());
    assert_valid(&profile);
    assert!(profile["calls"]["judgements"].is_null(), "what follows from figures is no figure");
    for judgement in parse(&printed)["judgements"].as_array().unwrap() {
        let channel = judgement["channel_ns"].as_f64().unwrap();
        assert!((channel - 2.0 * step).abs() < 1e-6, "{judgement}");
        let why = judgement["why"].as_str().unwrap();
        assert!(
            why.contains("not decided: what a call costs at home by footprint") || why.starts_with("never"),
            "{why}"
        );
    }
}

/// A run of two calls; where there is one CPU, without another core.
const BY_FOOTPRINT: [&str; 9] =
    ["calls", "--footprint", "--call", "getpid", "--call", "write(64)", "--quick", "--time-limit", "20"];

#[test]
fn curves_under_the_names_that_scripts_ask_for() {
    let found = section(&succeeds(&[&BY_FOOTPRINT[..], &["--repeat", "10", "--json"]].concat()));
    let away = found["footprint_conditions"]["not_available"]["away"].as_str();
    let rows = found["footprint"].as_array().unwrap();
    for row in rows {
        for field in ["call", "payload_bytes", "bytes", "instruction_bytes", "callers"] {
            assert!(!row[field].is_null(), "{field}: {row}");
        }
        for field in ["home_ns", "away_ns", "async_ns", "work_ns", "host_last"] {
            let figure = row.get(field).unwrap_or_else(|| panic!("no field {field}: {row}"));
            let is_there = figure["median"].is_number() || figure.is_string();
            assert!(is_there || figure.is_null() && (field != "home_ns"), "{field}: {row}");
            let of_one = row["callers"] == 1;
            assert!(is_there || away.is_some() || !of_one, "{field}: {row}");
        }
    }
    for (name, payload) in [("getpid", 0), ("write", 64)] {
        let is_its = |row: &&Value| row["call"] == name && row["payload_bytes"] == payload;
        assert!(rows.iter().any(|row| is_its(&row)), "{name}: {}", found["footprint_conditions"]);
        if away.is_none() {
            let verdict = found["verdicts"].as_array().unwrap().iter().find(is_its).unwrap();
            assert!(verdict["mode"].as_str().unwrap().contains("one-way"), "{verdict}");
            assert!(
                verdict.get("from_footprint_bytes").is_some() && verdict["gain_ns"].is_object(),
                "{verdict}"
            );
        }
    }
    assert_eq!(away.is_none(), found["channel"].is_array());
    assert_eq!(away.is_none(), found["affinity"].is_array());
}

#[test]
fn curves_stay_until_they_are_measured_anew_and_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.json").to_string_lossy().into_owned();
    let told = succeeds(&[&BY_FOOTPRINT[..], &["--repeat", "10", "-o", &file]].concat());
    assert!(
        told.contains("Calls by how much of its caches the caller has used") && told.contains("write(64)"),
        "{told}"
    );
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    let read = || Profile::read(std::path::Path::new(&file)).unwrap().calls.unwrap();
    let before = read();
    assert!(!before.footprint.is_empty() && before.footprint_conditions.is_some());
    succeeds(&["calls", "--call", "getpid", "--repeat", "10", "--quick", "-o", &file]);
    let after = read();
    assert_eq!((after.footprint, after.channel), (before.footprint, before.channel));
    assert_ne!(after.calls, before.calls);
    // Curves of some calls drop no other call.
    succeeds(&["calls", "--call", "getpid", "--call", "getppid", "--repeat", "10", "--quick", "-o", &file]);
    let two = read();
    let args =
        ["calls", "--footprint", "--call", "getpid", "--repeat", "10", "--quick", "--time-limit", "20"];
    succeeds(&[&args[..], &["-o", &file]].concat());
    assert_eq!((&read().calls, &read().conditions), (&two.calls, &two.conditions));
    assert_ne!(read().footprint, two.footprint);
    let page = succeeds(&["report", &file, "-o", "-"]);
    assert!(page.contains("id=\"s0-calls-calls-by-footprint\""), "the page shows them");
}

#[test]
fn an_mpi_rank_is_nothing_for_people() {
    assert!(!succeeds(&["--help"]).contains("mpi-rank"));
    assert!(fails(&["mpi-rank", "/nowhere"], 1).contains("/nowhere"));
}

#[test]
fn words_that_make_no_sense_are_named() {
    assert_refuses(&[
        ("calls --set posix", 2, "syscalls"),
        ("calls --call fork()", 2, "fork"),
        ("calls --call read(4096", 2, "parenthesis"),
        ("calls --repeat 0", 2, "repeat"),
    ]);
}
