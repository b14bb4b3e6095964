//! `coho coherence` as scripts and people call it.

mod support;

use std::collections::BTreeSet;
use std::process::Output;

use serde_json::{Value, json};
use support::{assert_valid, fails, first_cpus, found, json as parse, run, succeeds, two_cpus};

fn matrix(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matrix.csv");
    std::fs::write(&path, text).unwrap();
    let name = path.to_string_lossy().into_owned();
    (folder, name)
}

fn section(text: &str) -> Value {
    let section = parse(text);
    assert_valid(&json!({"schema": "coho-profile/1", "coherence": section}));
    section
}

#[test]
fn classes_of_a_matrix() {
    let (_folder, name) = matrix("\n25\n90,92\n91,93,26\n");
    let found = section(&succeeds(&["coherence", "--from", &name, "--json"]));
    assert_eq!(found["verdict"], "hops");
    assert_eq!(found["levels"][0]["groups"], json!([[0, 1], [2, 3]]));
    assert_eq!(found["classes"][0]["pairs"], 2);
    assert_eq!(found["pairs"].as_array().unwrap().len(), 6);
    let told = succeeds(&["coherence", "--from", &name]);
    assert!(told.contains("2 groups") && told.lines().all(|line| line.chars().count() <= 80), "{told}");
}

#[test]
fn what_is_wrong_is_named() {
    let (_folder, name) = matrix("\n25\n90,fast\n");
    let error = fails(&["coherence", "--from", &name, "--json"], 1);
    assert!(error.contains("matrix.csv") && error.contains("line 3") && error.contains("fast"), "{error}");
    let one = first_cpus(1);
    assert!(fails(&["coherence", "--cpus", &format!("{one},60000")], 1).contains("60000"));
    assert!(fails(&["coherence", "--cpus", ""], 2).contains("no CPU"));
    assert!(fails(&["coherence", "--cpus", "0-99999999"], 2).contains("99999999"));
    assert!(fails(&["coherence", "--method", "ping-pong"], 2).contains("turn"));
    assert!(fails(&["coherence", "--cpus", &one], 1).contains("two CPUs"));
}

#[test]
fn a_pair_by_every_method() {
    if !two_cpus() {
        return;
    }
    let methods = |found: &Value| -> BTreeSet<String> {
        let pairs = found["pairs"].as_array().unwrap();
        pairs.iter().map(|pair| pair["method"].as_str().unwrap().to_owned()).collect()
    };
    let measure = || section(&succeeds(&["coherence", "--json", "--quick"]));
    let found = found(measure, |found| methods(found).len() == 3);
    assert_eq!(methods(&found).into_iter().collect::<Vec<_>>(), ["flags", "free-running", "turn"]);
    for pair in found["pairs"].as_array().unwrap() {
        let ns = &pair["ns"];
        assert!(ns["low"].as_f64() <= ns["median"].as_f64() && ns["median"].as_f64() <= ns["high"].as_f64());
        assert!(ns["min"].as_f64() > Some(0.0));
    }
    for single in found["singles"].as_array().unwrap() {
        assert!(
            single["locked_ns"]["median"].as_f64() > single["unlocked_ns"]["median"].as_f64(),
            "{single}"
        );
    }
    assert!(found["verdict"].is_string() && found["stable"].is_boolean());
}

#[test]
fn a_run_goes_on_from_where_one_ended() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first.json").to_string_lossy().into_owned();
    let arguments = ["coherence", "--quick", "--no-reads", "--method", "turn", "--json"];
    let first = section(&succeeds(&[&arguments[..], &["-o", &file]].concat()));
    let again = section(&succeeds(&[&arguments[..], &["--resume", &file]].concat()));
    let stable = |pair: &&Value| pair["ns"]["stable"] == true;
    for pair in first["pairs"].as_array().unwrap().iter().filter(stable) {
        assert!(again["pairs"].as_array().unwrap().contains(pair), "a stable figure is kept as it was");
    }
}

#[test]
fn figures_of_another_machine_are_not_gone_on_with() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    let name = file.to_string_lossy().into_owned();
    succeeds(&["coherence", "--quick", "--no-reads", "--method", "turn", "-o", &name]);
    let mut other = coho_profile::Profile::read(&file).unwrap();
    other.host.as_mut().unwrap().cpu = Some("another CPU".into());
    other.write(&file).unwrap();
    let error = fails(&["coherence", "--quick", "--resume", &name], 1);
    assert!(error.contains("another CPU") && error.contains("other.json"), "{error}");
}

#[test]
fn another_section_of_the_profile_stays() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    std::fs::write(&file, r#"{"schema": "coho-profile/1", "calls": {"later": true}}"#).unwrap();
    let arguments = ["coherence", "--quick", "--no-reads", "--method", "turn", "--home", "a", "--cpus"];
    let (cpus, name) = (first_cpus(2), file.to_string_lossy());
    let measure = || {
        succeeds(&[&arguments[..], &[&*cpus, "-o", &*name]].concat());
        parse(&std::fs::read_to_string(&file).unwrap())
    };
    let pairs = |profile: &Value| profile["coherence"]["pairs"].as_array().unwrap().len();
    let profile = found(measure, |profile| pairs(profile) == 1);
    assert_eq!(profile["calls"]["later"], true);
    assert_eq!(pairs(&profile), 1);
}

#[test]
fn a_time_limit_keeps_what_is_done() {
    if !two_cpus() {
        return;
    }
    let output = run(&["coherence", "--json", "--time-limit", "0.05"]);
    assert_eq!(output.status.code(), Some(0));
    let found = section(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(found["method"]["interrupted"], true);
}

#[test]
fn watching_a_pair_tells_a_timeline() {
    if !two_cpus() {
        return;
    }
    let watch = || run(&["coherence", "--watch-for", "1s", "--json"]);
    let samples = |output: &Output| {
        let told = output.status.success().then(|| section(&String::from_utf8_lossy(&output.stdout)));
        told.map_or(0, |found| found["timeline"]["samples"].as_array().unwrap().len())
    };
    let watched = found(watch, |output| samples(output) >= 2);
    assert!(samples(&watched) >= 2, "{watched:?}");
}
