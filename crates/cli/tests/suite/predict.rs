//! `coho predict cpi` from outside.

use crate::support::{fails, json, run, succeeds};

#[test]
fn the_papers_machines_are_predicted_without_a_profile() {
    let json = json(&succeeds(&["predict", "cpi", "--json"]));
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
    let table = succeeds(&args);
    assert!(table.contains("28.29") && table.contains("3.73") && !table.contains("x7560"), "{table}");
    for wrong in
        [["--rate", "101"], ["--rate", "-1"], ["--rate", "many"], ["--base-cpi", "0"], ["--base-cpi", "nan"]]
    {
        fails(&["predict", "cpi", wrong[0], wrong[1]], 2);
    }
}

#[test]
fn the_chart_has_a_line_for_each_class() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cpi.svg");
    succeeds(&["predict", "cpi", "--svg", file.to_str().unwrap()]);
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
    let errors = fails(&["predict", "cpi", file], 1);
    assert!(errors.contains("not available: mine: "), "{errors}");
    let beside = succeeds(&["predict", "cpi", file, "published:kawabe-furuya"]);
    assert!(beside.contains("mine: not available: "), "{beside}");
    let json = json(&String::from_utf8(run(&["predict", "cpi", "--json", file]).stdout).unwrap());
    assert_eq!(
        (json["lines"].as_array().unwrap().len(), json["not_available"]["mine"].is_string()),
        (0, true)
    );
}
