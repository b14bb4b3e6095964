//! `coho predict cpi` from outside.

use std::process::{Command, Output};

use serde_json::Value;

fn coho(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coho")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_papers_machines_are_predicted_without_a_profile() {
    let output = coho(&["predict", "cpi", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines: Vec<(&str, f64, f64)> = json["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            let last = line["points"].as_array().unwrap().last().unwrap();
            assert_eq!(last["rate_percent"], 2.0);
            let cpi = last["cpi"].as_f64().unwrap();
            (line["source"].as_str().unwrap(), line["cycles"].as_f64().unwrap(), (1e4 * cpi).round() / 1e4)
        })
        .collect();
    let (e5620, x7560) = ("kawabe-furuya/e5620", "kawabe-furuya/x7560");
    assert_eq!(
        lines,
        [
            (e5620, 65.76, 3.3152),
            (e5620, 272.90, 7.458),
            (x7560, 57.83, 3.1566),
            (x7560, 463.37, 11.2674),
            (x7560, 660.67, 15.2134),
        ]
    );
}

#[test]
fn rates_base_and_machine_can_be_chosen() {
    let args = ["predict", "cpi", "published:kawabe-furuya/e5620", "--base-cpi", "1", "--rate", "1,10"];
    let output = coho(&args);
    let table = text(&output.stdout);
    assert!(output.status.success());
    assert!(table.contains("28.29") && table.contains("3.73") && !table.contains("x7560"), "{table}");
    for wrong in
        [["--rate", "101"], ["--rate", "-1"], ["--rate", "many"], ["--base-cpi", "0"], ["--base-cpi", "nan"]]
    {
        let output = coho(&["predict", "cpi", wrong[0], wrong[1]]);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stdout));
    }
}

#[test]
fn the_chart_has_a_line_for_each_class() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cpi.svg");
    let output = coho(&["predict", "cpi", "--svg", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let svg = std::fs::read_to_string(file).unwrap();
    assert!(
        svg.matches("stroke-linejoin=").count() == 5 && svg.contains("x7560: 2-hop, 660.7 cycles"),
        "{svg}"
    );
}

#[test]
fn without_a_clock_nothing_is_pretended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let time = r#"{"class": "L3", "method": "turn", "mean_ns": 50, "baseline_ns": 10, "baseline": "smt pair",
        "coherence_ns": 40, "coherence_cycles": null, "pairs": 1}"#;
    let profile = format!(r#"{{"schema": "coho-profile/1", "coherence": {{"coherence_times": [{time}]}}}}"#);
    std::fs::write(&file, profile).unwrap();
    let file = file.to_str().unwrap();
    let output = coho(&["predict", "cpi", file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not available: mine: "), "{}", text(&output.stderr));
    let beside = coho(&["predict", "cpi", file, "published:kawabe-furuya"]);
    assert!(beside.status.success());
    assert!(text(&beside.stdout).contains("mine: not available: "), "{}", text(&beside.stdout));
    let json: Value = serde_json::from_slice(&coho(&["predict", "cpi", "--json", file]).stdout).unwrap();
    assert_eq!(
        (json["lines"].as_array().unwrap().len(), json["not_available"]["mine"].is_string()),
        (0, true)
    );
}
