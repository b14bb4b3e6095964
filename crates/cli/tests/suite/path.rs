//! `coho path` from outside.

use coho_testing::{Capability, needs};
use serde_json::Value;

use crate::support::{self, fails, json, run, succeeds};

fn points(arguments: &[&str]) -> Vec<Value> {
    json(&succeeds(arguments))["points"].as_array().unwrap().clone()
}

#[test]
fn a_figure_of_the_paper_is_drawn_and_told_to_scripts() {
    let points = points(&["path", "dimmnet", "--figure", "10", "--json"]);
    assert_eq!(points.len(), 3 * 2 * 7);
    let best = points
        .iter()
        .max_by(|a, b| a["gain"].as_f64().unwrap().total_cmp(&b["gain"].as_f64().unwrap()))
        .unwrap();
    for (field, expected) in [("reading", "H1"), ("figure", "10"), ("bus", "PCI66"), ("instruction", "simd")]
    {
        assert_eq!(best[field], expected);
    }
    assert_eq!(best["bytes"].as_u64(), Some(512), "whole bytes have no point");
    assert!((best["gain"].as_f64().unwrap() - 0.395).abs() < 5e-4, "{best}");
    let times = ["time_a_ns", "time_b_ns"].map(|field| best[field].as_f64().unwrap());
    assert!((1.0 - times[0] / times[1] - best["gain"].as_f64().unwrap()).abs() < 1e-12);

    let shown = succeeds(&["path", "dimmnet", "--figure", "4", "--reading", "H3"]);
    assert!(shown.contains("H3 missed Fig. 4") && !shown.contains("Fig. 5"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn every_reading_can_be_had_with_its_crossovers_and_statements() {
    let shown = json(&succeeds(&["path", "dimmnet", "--reading", "H1,H2,H3", "--json"]));
    assert_eq!(shown["points"].as_array().unwrap().len(), 882);
    let mut flushes: Vec<f64> = Vec::new();
    for crossover in shown["crossovers"].as_array().unwrap() {
        let name = crossover["name"].as_str().unwrap();
        if crossover["reading"] == "H1" && name.contains("write-combining") {
            flushes.push(crossover["bytes"].as_f64().unwrap());
        }
    }
    assert_eq!(flushes, [3038.0, 38808.0, 6071.0, 76507.0]);
    assert!(shown["crossovers"].as_array().unwrap().iter().all(|one| one["grid_points"] == 4000));
    // People read the intersection, and that the other size is one of a grid.
    let told = succeeds(&["path", "dimmnet"]).replace("\n", " ");
    assert!(told.contains("from 6062.3 B on (6071 on a grid of 4000 sizes)"), "{told}");
    let missed = |statement: &&Value| statement["met"] == false;
    let statements = shown["statements"].as_array().unwrap();
    assert_eq!((statements.len(), statements.iter().filter(missed).count()), (39, 2));
}

#[test]
fn paths_are_listed_and_files_read() {
    let listed = json(&succeeds(&["path", "list", "--json"]));
    let names: Vec<&str> =
        listed["paths"].as_array().unwrap().iter().map(|path| path["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"post") && names.contains(&"dimmnet-h2"), "{names:?}");
    assert!(succeeds(&["path", "list"]).lines().all(|line| line.chars().count() <= 80));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = "name = \"mine\"\nbytes = [4096]\n[rates]\nbus = { bytes_per_s = 1e9 }\n[[stage]]\nname = \"there\"\n\
                kind = \"dma\"\nrate = \"bus\"\n";
    std::fs::write(&file, text).unwrap();
    let name = file.to_str().unwrap();
    let shown = json(&succeeds(&["path", name, "--json"]));
    assert_eq!((&shown["times"][0]["variant"], &shown["times"][0]["ns"]), (&"mine".into(), &4096.0.into()));
    std::fs::write(&file, text.replace("1e9", "-1")).unwrap();
    let error = fails(&["path", name], 1);
    assert!(error.contains("mine.toml, line 4: a rate in bytes a second is at least"), "{error}");
}

#[test]
fn what_is_not_there_is_named() {
    let error = fails(&["path", "nothing.toml"], 1);
    assert!(error.contains("neither a file nor a path") && error.contains("shared-memory"), "{error}");
    let error = fails(&["path", "copy"], 1);
    assert!(error.contains("copy, line ") && error.contains("coho memory -o profile.json"), "{error}");
    assert_eq!(run(&["path"]).status.code(), Some(2));
}

#[test]
fn predictions_stand_beside_messages_between_processes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").display().to_string();
    let error = fails(&["path", "check", "--profile", &file], 1);
    assert!(error.contains("mine.json"), "{error}");
    support::measured().write(std::path::Path::new(&file)).unwrap();
    let error = fails(&["path", "eager", "--profile", &file], 1);
    // All that is missing, not the first alone.
    for path in ["shared-memory", "process-vm"] {
        let lacks = format!("no parts of messages by {path}; add them with `coho memory --parts transfers");
        assert!(error.replace("\n", " ").contains(&lacks), "{error}");
    }
    assert!(fails(&["path", "check", "copy", "--profile", &file], 2).contains("shared-memory"));
}

#[test]
fn messages_between_processes_are_checked() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").display().to_string();
    support::measured().write(std::path::Path::new(&file)).unwrap();
    let arguments = ["path", "check", "shared-memory", "--quick"];
    let text = succeeds(&arguments);
    assert!(
        text.contains("predicted, ns")
            && text.replace('\n', " ").contains("each predicts from its own parts"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let arguments: Vec<_> = arguments.into_iter().chain(["--json", "-o", &file]).collect();
    let checked = json(&succeeds(&arguments));
    let checks = checked["checks"].as_array().unwrap();
    for check in checks {
        assert_eq!(check["path"], "shared-memory");
        let ns = [&check["predicted_ns"], &check["measured_ns"]["median"]].map(|ns| ns.as_f64().unwrap());
        assert!((ns[0] / ns[1] - 1.0 - check["error"].as_f64().unwrap()).abs() < 1e-12, "{check}");
        assert!(check["predicted_by_profile_ns"].is_null(), "no profile is named: {check}");
        assert!(check["bytes"].as_u64() >= Some(64), "smaller ones are parts: {check}");
    }
    let profile = json(&std::fs::read_to_string(&file).unwrap());
    support::assert_valid(&profile);
    let memory = &profile["memory"];
    // All that was timed is kept, also what is no path of the check.
    let kept = memory["transfers"].as_array().unwrap();
    assert!(
        kept.len() > checks.len()
            && kept.iter().any(|one| one["path"] == "shared-memory" && one["bytes"] == 0)
    );
    let again = json(&succeeds(&["path", "check", "shared-memory", "--quick", "--json", "--profile", &file]));
    assert!(again["checks"][0]["predicted_by_profile_ns"].as_f64().unwrap() > 0.0, "{again}");
    assert!(!memory["rates"].as_array().unwrap().is_empty(), "what was there stays");
}

#[test]
fn a_fit_gives_stages_for_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = folder.path().join("pairs.csv");
    let mut text = String::from("bytes,ns\n");
    for power in 6..22 {
        let bytes = 1u64 << power;
        text += &format!("{bytes},{}\n", if bytes < 10_000 { 300 + bytes / 4 } else { 2500 + bytes / 20 });
    }
    std::fs::write(&pairs, text).unwrap();
    let name = pairs.to_str().unwrap();
    let fit = json(&succeeds(&["path", "fit", name, "--json"]));
    let segments = fit["segments"].as_array().unwrap();
    assert_eq!(segments.len(), 2, "{fit}");
    assert!((segments[1]["bytes_per_s"].as_f64().unwrap() / 2e10 - 1.0).abs() < 0.01, "{fit}");

    // What is printed for people is a path's file but for its name.
    let shown = succeeds(&["path", "fit", name]);
    let (_, stages) = shown.split_once("[rates]").unwrap();
    let file = folder.path().join("fitted.toml");
    std::fs::write(&file, format!("name = \"fitted\"\nbytes = [64]\n[rates]{stages}")).unwrap();
    assert!(
        json(&succeeds(&["path", file.to_str().unwrap(), "--json"]))["times"][0]["ns"].as_f64().unwrap()
            > 300.0
    );
    std::fs::write(&pairs, "bytes,ns\n1,2\n3,x\n").unwrap();
    assert!(fails(&["path", "fit", name], 1).contains("line 3: 'x' is not a number above 0"));
}
