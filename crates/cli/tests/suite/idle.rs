//! `coho idle` as people and scripts call it, on this machine and on a tree of plain files.

use std::process::{Child, Command};
use std::time::Duration;

use coho_testing::Tree;
use serde_json::json;

use crate::support::{assert_valid, coho, fails, json as parse, run, succeeds};

fn root(tree: &Tree) -> String {
    tree.path("").display().to_string()
}

/// Whether a command can see that a state is disabled while it runs, and ends with a status of its own.
const SEES_C6_DISABLED: &str = "grep -q 1 sys/devices/system/cpu/cpu2/cpuidle/state2/disable && exit 7";

#[test]
fn this_machine_is_observed_whatever_it_has() {
    let found = parse(&succeeds(&["idle", "--quick", "--json"]));
    assert_valid(&json!({"schema": "coho-profile/1", "idle": found}));
    let controls = found["controls"].as_array().unwrap();
    assert_eq!(controls.len(), 3);
    for control in controls {
        let status = control["status"].as_str().unwrap();
        assert!(status == "available" || status.starts_with("not available: "), "{control}");
    }
    assert_eq!(
        found["states"].as_array().unwrap().is_empty(),
        !found["method"]["not_available"]["idle states"].is_null()
    );
    let timer = found["wakeups"].as_array().unwrap().iter().find(|wakeup| wakeup["by"] == "timer").unwrap();
    assert!(timer["ns"]["median"].as_f64().unwrap() > 0.0, "{timer}");
    let told = succeeds(&["idle", "--quick"]);
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
}

#[test]
fn a_command_runs_under_what_was_set_and_all_is_put_back() {
    let tree = Tree::default();
    let before = tree.contents();
    let mut command = coho(&["idle", "--root", &root(&tree), "--disable", "C6", "--governor", "performance"]);
    let output =
        command.args(["--", "sh", "-c", SEES_C6_DISABLED]).current_dir(tree.path("")).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert!(told.contains("C6 disabled: set, not verifiable: the counters"), "{told}");
    assert!(told.contains("governor performance: set"), "{told}");
    assert_eq!(tree.contents(), before);
}

#[test]
fn the_section_tells_what_was_set() {
    let tree = Tree::default();
    let file = tree.path("mine.json").display().to_string();
    let (root, rest) = (root(&tree), ["--", "echo", "heard"]);
    let arguments = ["idle", "--root", &root, "--max-latency", "50", "--json", "-o", &file];
    let output = coho(&arguments).args(rest).output().unwrap();
    let found = parse(&String::from_utf8(output.stdout).unwrap());
    assert!(String::from_utf8(output.stderr).unwrap().contains("heard"));
    assert_eq!(found["controls"][0]["name"], "states slower than 50 us disabled");
    assert!(found["wakeups"].as_array().unwrap().iter().any(|wakeup| wakeup["under"].is_string()), "{found}");
    let profile = parse(&std::fs::read_to_string(file).unwrap());
    assert_valid(&profile);
    assert_eq!(profile["idle"], found);
}

#[test]
fn what_cannot_be_set_runs_nothing() {
    let tree = Tree::default();
    let root = root(&tree);
    let never = "touch ran";
    for (wish, why) in [
        (["--disable", "C9"], "C1, C1E, C6, POLL"),
        (["--governor", "ondemand"], "performance, powersave"),
        (["--dma-latency", "0"], "cpu_dma_latency"),
    ] {
        let mut command = coho(&["idle", "--root", &root, wish[0], wish[1]]);
        let output = command.args(["--", "sh", "-c", never]).current_dir(tree.path("")).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(why), "{told}");
    }
    // Scripts read why.
    let mut command =
        coho(&["idle", "--root", &root, "--governor", "ondemand", "--json", "--", "sh", "-c", never]);
    let output = command.current_dir(tree.path("")).output().unwrap();
    let found = parse(&String::from_utf8(output.stdout).unwrap());
    let control = &found["controls"][0];
    assert_eq!((output.status.code(), &control["name"]), (Some(1), &"governor ondemand".into()));
    assert!(control["status"].as_str().unwrap().starts_with("not available: "), "{found}");
    // So they do where all is there and nothing may be written.
    let folder = tree.path("run/coho");
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::write(&folder, "in the way").unwrap();
    let mut command = coho(&["idle", "--root", &root, "--disable", "C6", "--json", "--", "sh", "-c", never]);
    let output = command.current_dir(tree.path("")).output().unwrap();
    let found = parse(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert!(found["controls"][0]["status"].as_str().unwrap().contains("nothing was set: "), "{found}");
    std::fs::remove_file(&folder).unwrap();
    assert!(!tree.path("ran").exists());
    fails(&["idle", "--root", &root, "--", "true"], 2);
    fails(&["idle", "--disable", "C6"], 2);
}

/// Starts a command that sleeps under a disabled C6, and waits until it runs.
fn sleeping(tree: &Tree, script: &str) -> Child {
    let mut command = coho(&["idle", "--root", &root(tree), "--disable", "C6", "--", "sh", "-c", script]);
    let child = command.current_dir(tree.path("")).spawn().unwrap();
    while !tree.path("ready").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(tree.disabled(0, 3));
    child
}

fn signal(child: &Child, name: &str) {
    let script = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
}

#[test]
fn on_a_signal_the_command_ends_first_and_all_is_put_back() {
    let tree = Tree::default();
    let before = tree.contents();
    let mut child = sleeping(&tree, "trap 'exit 5' TERM; : > ready; while :; do sleep 0.02; done");
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(tree.contents(), before);
}

#[test]
fn after_a_crash_restore_puts_all_back() {
    let tree = Tree::default();
    let before = tree.contents();
    // What outlives coho ends with the tree: it may not look again while a file is there.
    let mut child = sleeping(&tree, ": > ready; while [ -e ready ]; do sleep 0.02; done");
    signal(&child, "KILL");
    child.wait().unwrap();
    assert!(tree.disabled(0, 3));
    let root = root(&tree);
    let refused = fails(&["idle", "--root", &root, "--disable", "C1", "--", "true"], 1);
    assert!(refused.contains("coho idle restore"), "{refused}");
    let restored = run(&["idle", "restore", "--root", &root]);
    assert!(restored.status.success(), "{restored:?}");
    assert_eq!(tree.contents(), before);
    let again = String::from_utf8(run(&["idle", "restore", "--root", &root]).stderr).unwrap();
    assert!(again.contains("nothing is left"), "{again}");
}
