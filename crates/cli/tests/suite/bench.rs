//! `coho bench` as scripts and people call it, and what is left when it is ended.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use coho_testing::Tree;
use serde_json::json;

use crate::support::{assert_refuses, assert_valid, coho, fails, json as parse, succeeds, unwrapped};

#[test]
fn results_scores_and_conditions_for_scripts() {
    let tests = ["bench", "pipe", "syscall", "--sample", "50ms", "--quick", "--json"];
    let found = parse(&succeeds(&tests));
    assert_valid(&json!({"schema": "coho-profile/1", "workloads": found}));
    let results = found["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for row in results {
        assert!(row["value"]["median"].as_f64().unwrap() > 0.0, "{row}");
        let baseline = if row["test"] == "pipe_throughput" { 12_440.0 } else { 15_000.0 };
        let index = row["value"]["median"].as_f64().unwrap() / baseline * 10.0;
        assert!((row["index"].as_f64().unwrap() / index - 1.0).abs() < 1e-9, "{row}");
        assert_eq!(row["unit"], "lps");
        assert!(!row["cpus"].as_array().unwrap().is_empty(), "{row}");
    }
    let of = |placement: &str| -> Vec<f64> {
        let rows = results.iter().filter(|row| row["placement"] == placement && row["copies"] == 1);
        rows.map(|row| row["index"].as_f64().unwrap()).collect()
    };
    let scores = found["scores"].as_array().unwrap();
    let compact =
        scores.iter().find(|score| score["placement"] == "compact" && score["copies"] == 1).unwrap();
    let mean = (of("compact").iter().map(|index| index.ln()).sum::<f64>() / 2.0).exp();
    assert!((compact["index"].as_f64().unwrap() / mean - 1.0).abs() < 1e-9);
    assert_eq!(compact["tests"], 2);
    // A clock over the run, or why there is none; the same of temperature.
    let missing = &found["method"]["not_available"];
    assert!(!found["clock"].as_array().unwrap().is_empty() || missing["clock"].is_string());
    assert!(!found["temperature"].as_array().unwrap().is_empty() || missing["temperature"].is_string());
}

#[test]
fn tables_keep_to_a_page_and_a_profile_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").display().to_string();
    let text = succeeds(&["bench", "context1", "--sample", "50ms", "--quick", "--full", "-o", &file]);
    assert!(text.contains("context1") && text.contains("(same"), "{text}");
    // What others took is told.
    let waited = unwrapped(&text).contains("waited for a CPU: ");
    assert!(waited || !fs::exists("/proc/pressure/cpu").unwrap(), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let profile = parse(&fs::read_to_string(&file).unwrap());
    assert_valid(&profile);
    assert_eq!(profile["workloads"]["results"][0]["test"], "pipe_context_switching");
}

#[test]
fn an_idle_state_is_forbidden_in_turn_and_put_back_also_on_a_signal() {
    let tree = Tree::default();
    let before = tree.contents();
    let root = tree.path("").display().to_string();
    let of_one = ["bench", "syscall", "--copies", "1", "--place", "none", "--quick", "--root", &root];
    let with = |rest: &[&'static str]| -> Vec<&str> { of_one.iter().chain(rest).copied().collect() };
    let found = parse(&succeeds(&with(&["--without-idle", "C6", "--sample", "50ms", "--json"])));
    assert_valid(&json!({"schema": "coho-profile/1", "workloads": found}));
    let without = &found["without_idle"];
    assert!(without["gains"][0]["speed"]["median"].as_f64().unwrap() > 0.0, "{without}");
    assert!(without["status"].as_str().unwrap().starts_with("set, not verifiable"), "{without}");
    assert_eq!(tree.contents(), before);
    let table = succeeds(&with(&["--without-idle", "C6", "--sample", "50ms"]));
    assert!(table.contains("With C6 allowed and forbidden"), "{table}");
    let refused = fails(&with(&["--without-idle", "C9"]), 1);
    assert!(refused.contains("C1, C1E, C6, POLL"), "{refused}");
    let mut child = coho(&with(&["--without-idle", "C6", "--sample", "20s", "--json"]))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let disabled = wait_for(|| tree.disabled(0, 3));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    child.wait().unwrap();
    assert!(disabled, "it was forbidden once");
    assert_eq!(tree.contents(), before);
}

/// Whatever ends it, the folder goes and no process of a test stays.
#[test]
fn nothing_is_left_when_it_is_ended() {
    for signal in ["-TERM", "-KILL"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let mut child =
            coho(&["bench", "context1", "shell1", "--sample", "20s", "--folder", &path, "--json"])
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
        let busy = wait_for(|| processes_in(folder.path()) > 1);
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        child.wait().unwrap();
        assert!(busy, "the tests have begun");
        let left = wait_for(|| processes_in(folder.path()) == 0 && is_empty(folder.path()));
        assert!(left, "{signal}: {} processes are left", processes_in(folder.path()));
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// Processes whose working folder lies below this one.
fn processes_in(folder: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let inside = |process: &fs::DirEntry| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    };
    processes.filter(inside).count()
}

fn wait_for(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(120) {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn words_that_make_no_sense_are_named() {
    assert_refuses(&[
        ("bench linpack", 2, "context1"),
        ("bench --place scatter", 2, "spread"),
        ("bench pipe --peer /nonexistent", 1, "/nonexistent"),
        ("bench pipe --folder /proc", 1, "/proc"),
        ("bench pipe --folder /nope", 1, "/nope: there is no such folder"),
    ]);
}
