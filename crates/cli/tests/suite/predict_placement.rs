//! `coho predict placement` from outside.

use coho_profile::{Estimate, Profile, TopologySection, WorkloadResult, Workloads};
use coho_topology::{CpuSet, Pu, Topology, Unit};
use serde_json::Value;

use crate::support::{self, fails, succeeds, unwrapped};

fn printed(arguments: &[&str]) -> String {
    succeeds(&[&["predict", "placement"], arguments].concat())
}

fn refused(arguments: &[&str], status: i32) -> String {
    fails(&[&["predict", "placement"], arguments].concat(), status)
}

fn json(arguments: &[&str]) -> Value {
    support::json(&printed(arguments))
}

const PAIR: [&str; 4] = ["--workload", "pipe_context_switching", "--runs", "2"];

#[test]
fn the_article_is_explained_by_the_flag() {
    let json = json(&[&PAIR[..], &["--json"]].concat());
    let contrast = |name: &str| {
        let all = json["contrasts"].as_array().unwrap();
        all.iter().find(|contrast| contrast["contrast"] == name).unwrap()["sign"].clone()
    };
    assert_eq!((contrast("patched/control"), contrast("patched/stock")), ("down".into(), "down".into()));
    assert_ne!(contrast("control/stock"), "down");
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!((&findings[0]["beyond_noise"], &findings[0]["measured_sign"]), (&true.into(), &"down".into()));
    assert_eq!(findings[0]["verdict"], "sign as by the flag");
    // The size stands beside the sign, with what was published.
    let predicted = findings[0]["predicted_percent"].as_f64().unwrap();
    assert_eq!(findings[0]["size_holds"], (-19.6..=-9.5).contains(&predicted), "{findings:?}");
    assert!(json["check"]["not_available"].is_string(), "no profile, no check");
    assert!(json["method"]["costs"].as_array().unwrap().iter().all(|cost| cost["source"].is_string()));
}

#[test]
fn the_report_comes_to_the_same_verdict() {
    let findings = json(&["--workload", "kernel_build", "--json"]);
    let verdict = findings["findings"][0]["verdict"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    succeeds(&["report", "published:kimoto-bulldozer/c6-off-stock", "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(&page).unwrap();
    let (_, rest) = page.rsplit_once("Kernel build, -j6 (speed)").unwrap();
    let row = rest.split("</tr>").next().unwrap();
    assert!(row.contains(verdict), "{verdict}: {row}");
}

#[test]
fn the_table_keeps_to_80_columns_and_tells_its_assumptions() {
    let text = printed(&[&PAIR[..], &["--why"]].concat());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let told = ["L0/4{1x L2/4}", "halted", "idle_exit_ns", "sign as by the", "−19.5", "Assumed"];
    let flowing = unwrapped(&text);
    for told in told.into_iter().chain(["published: the sign agrees", "not checked on this machine"]) {
        assert!(flowing.contains(told), "{told}: {text}");
    }
}

#[test]
fn a_known_cost_is_taken_and_equal_seeds_predict_alike() {
    let with = |cost: &str| printed(&[&PAIR[..], &["--cost", cost, "--json"]].concat());
    let slow = with("idle_exit_ns=5000");
    assert_eq!(slow, with("idle_exit_ns=5000"));
    let ratio = |text: &str| {
        let json: Value = serde_json::from_str(text).unwrap();
        let all = json["predictions"].as_array().unwrap();
        all.iter().find(|one| one["topology"] == "patched").unwrap()["ratio"]["median"].as_f64().unwrap()
    };
    // Each wake-up pays it.
    let quick = with("idle_exit_ns=1");
    assert!(ratio(&slow) < 0.5 * ratio(&quick), "{} {}", ratio(&slow), ratio(&quick));
}

#[test]
fn a_profile_without_cpuid_has_the_views_that_need_none() {
    let unit = |cpus: &str| Unit { id: None, cpus: cpus.parse::<CpuSet>().unwrap() };
    let mut topology = Topology {
        pus: (0..4).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: vec![unit("0-3")],
        cores: vec![unit("0-1"), unit("2-3")],
        ..Topology::default()
    };
    topology.finish();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let profile = Profile { topology: Some(TopologySection::from(topology)), ..Profile::default() };
    profile.write(&file).unwrap();
    let file = file.to_str().unwrap();
    let json = json(&[&PAIR[..], &["--json", file]].concat());
    let names: Vec<&str> =
        json["topologies"].as_array().unwrap().iter().map(|view| view["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["control", "full"]);
    assert!(json["method"]["not_available"]["stock"].as_str().unwrap().contains("CPUID dump"));
    assert_eq!(json["findings"].as_array().unwrap().len(), 0);
    let only = printed(&[&PAIR[..], &["--topology", "full", file]].concat());
    assert!(only.contains("a second"), "{only}");
    assert!(refused(&["--topology", "stock", file], 1).contains("stock"));
}

/// The simulator beside a machine's own programs on one CPU and on two.
#[test]
fn a_profile_with_forced_placements_is_predicted_beside_what_was_measured() {
    let mut topology =
        Topology { pus: (0..2).map(|os| Pu { os, ..Pu::default() }).collect(), ..Topology::default() };
    topology.finish();
    let row = |test: &str, placement: &str, class: Option<&str>, cpus: &[u32], value| WorkloadResult {
        test: test.into(),
        placement: placement.into(),
        pair_class: class.map(Into::into),
        copies: 1,
        cpus: cpus.into(),
        value: Some(Estimate::exact(value)),
        ..WorkloadResult::default()
    };
    let results = vec![
        row("pipe_throughput", "compact", None, &[0], 1e6),
        row("pipe_context_switching", "compact", Some("same CPU"), &[0], 2e5),
        row("pipe_context_switching", "spread", Some("system"), &[0, 1], 4e4),
    ];
    let mut profile = Profile {
        topology: Some(TopologySection::from(topology)),
        workloads: Some(Workloads { results, ..Workloads::default() }),
        ..Profile::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    profile.write(&file).unwrap();
    let name = file.to_str().unwrap();
    let found = json(&["--check", "--runs", "4", "--json", name]);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["test"]), (1, &"pipe_context_switching".into()));
    assert_eq!(rows[0]["measured_ratio"]["median"], 0.2);
    let predicted = rows[0]["predicted_ratio"]["median"].as_f64().unwrap();
    assert!((rows[0]["error"].as_f64().unwrap() - (predicted / 0.2 - 1.0)).abs() < 1e-9);
    assert!(found["not_available"]["execl"].as_str().unwrap().contains("not measured"));
    let text = printed(&["--check", "--runs", "4", name]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let text = unwrapped(&text);
    assert!(text.contains("measured here") && text.contains("measured: context switching"), "{text}");
    // Of other work nothing is said where nothing is known of it.
    assert!(!text.contains("Other work took"), "{text}");
    let missed = rows[0]["agrees"] == false;
    assert_eq!(text.contains("Measured outside the predicted range on this machine"), missed, "{text}");
    // A kernel's tree is spoken of behind it.
    let whole = unwrapped(&printed(&[&PAIR[..], &["--topology", "full", name]].concat()));
    assert!(whole.find("measured here").unwrap() < whole.find("a second").unwrap(), "{whole}");
    assert!(
        !whole.contains("not checked on this machine") && !whole.contains("published: the sign"),
        "{whole}"
    );
    profile.workloads = None;
    profile.write(&file).unwrap();
    assert!(refused(&["--check", name], 1).contains("coho bench"));
    refused(&["--check"], 2);
}

#[test]
fn what_cannot_be_is_refused() {
    for wrong in [["--workload", "chess"], ["--cost", "gold=1"], ["--cost", "wake_ns"], ["--runs", "0"]] {
        refused(&wrong, 2);
    }
    refused(&["/nowhere/mine.json"], 1);
    assert!(refused(&["published:shimosawa-hori-ishikawa"], 1).contains("gives no topology"));
}
