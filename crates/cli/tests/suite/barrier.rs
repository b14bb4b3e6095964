//! `coho barrier`, `coho kernels` and `coho predict barrier` as scripts and people call them.

use coho_testing::{Capability, needs};
use serde_json::{Value, json};

use crate::support::{assert_refuses, assert_valid, fails, json as parse, succeeds};

#[test]
fn barriers_beside_the_limit_of_the_same_run() {
    needs!(Capability::TwoCpus);
    let found = parse(&succeeds(&["barrier", "--quick", "--threads", "2", "--peers", "--json"]));
    assert_valid(&json!({"schema": "coho-profile/1", "sync": found}));
    let limit = &found["limit_ns"];
    // Where others use the CPUs too, the two may never run at the same time.
    assert_eq!(limit.is_null(), found["method"]["not_available"]["limit"].is_string(), "{found}");
    let is_limit = |what| limit[what]["median"].as_f64() > Some(0.0);
    assert!(limit.is_null() || is_limit("barrier") && is_limit("fork_join"), "{found}");
    // The lines' rounds may be broken off where others use the CPUs.
    let best = &found["best_line_ns"];
    assert!(best.is_null() || !limit.is_null() && best["median"].as_f64() > Some(0.0), "{found}");
    let barriers = found["barriers"].as_array().unwrap();
    let fbs = |layout: &str| {
        let is = |row: &&Value| row["algorithm"] == "fbs" && row["layout"] == layout;
        barriers.iter().find(is).unwrap_or_else(|| panic!("no fbs of {layout}: {found}"))
    };
    for row in [fbs("separate-lines"), fbs("one-line")] {
        assert!(
            row["ns"]["median"].as_f64().unwrap() > 0.0 && row["times_limit"].is_number() != limit.is_null(),
            "{row}"
        );
        assert_eq!((&row["threads"], &row["mapping"]), (&json!(2), &json!("sequential")));
    }
    for row in found["fork_join"].as_array().unwrap() {
        assert_eq!(row["by"], if row["algorithm"] == "team" { "go-flag" } else { "barrier" });
        for figure in ["fork_ns", "join_ns", "total_ns"] {
            assert!(row[figure]["median"].is_number(), "{row}");
        }
    }
    let pthread = found["peers"].as_array().unwrap().iter().find(|peer| peer["name"] == "pthread_barrier");
    assert!(pthread.unwrap()["ratio"]["median"].as_f64().unwrap() > 0.0);
    // A peer without a figure says why.
    for peer in found["peers"].as_array().unwrap() {
        assert!(peer["ns"].is_object() || peer["not_available"].is_string(), "{peer}");
    }
}

#[test]
fn waiting_is_held_against_the_c_library_in_every_condition() {
    let only = ["barrier", "--waiting", "--threads", "3", "--method", "auto", "--quick"];
    let found = parse(&succeeds(&[&only[..], &["--json"]].concat()));
    let cells = found["cells"].as_array().unwrap();
    for algorithm in ["auto", "team"] {
        for pinning in ["own CPU", "free"] {
            let is = |cell: &&Value| cell["algorithm"] == algorithm && cell["pinning"] == pinning;
            assert!(cells.iter().any(|cell| is(&cell)), "{algorithm}, {pinning}: {found}");
        }
    }
    for cell in cells {
        assert!(cell["threads"] == 3 && cell["condition"].is_string(), "{cell}");
        for figure in ["ns", "pthread_ratio"] {
            assert!(cell[figure]["median"].as_f64() > Some(0.0), "{cell}");
        }
    }
    // Under a quota there is no other condition, and without one no quota.
    assert!(!found["not_available"].as_object().unwrap().is_empty());
    let table = succeeds(&only);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("pthread_barrier_wait"), "{table}");
    let refused = fails(&["barrier", "--waiting", "--peers"], 2);
    assert!(refused.contains("--waiting") && refused.contains("--peers"), "{refused}");
}

#[test]
fn more_threads_than_cpus_share_them() {
    let cpu = coho_platform::pin::allowed().unwrap().first().unwrap().to_string();
    let found = parse(&succeeds(&["barrier", "--quick", "--threads", "5", "--cpus", &cpu, "--json"]));
    let barriers = found["barriers"].as_array().unwrap();
    assert!(!barriers.is_empty() && barriers.iter().all(|row| row["threads"] == 5 && row["ns"].is_object()));
    let not_available = &found["method"]["not_available"];
    assert!(found["limit_ns"].is_null() && not_available["limit"].is_string());
    assert!(
        found["fork_join"] == json!([]) && not_available["fork and join, 5 threads"].is_string(),
        "{found}"
    );
}

#[test]
fn every_mapping_has_its_rows_or_a_reason() {
    needs!(Capability::TwoCpus);
    let found = parse(&succeeds(&["barrier", "--quick", "--threads", "2", "--method", "fbs", "--json"]));
    for mapping in ["sequential", "binary-tree"] {
        let measured = found["barriers"].as_array().unwrap().iter().any(|row| row["mapping"] == mapping);
        let why = &found["method"]["not_available"][format!("{mapping} mapping, 2 threads")];
        assert!(measured != why.is_string(), "{mapping}: {found}");
    }
}

#[test]
fn trees_of_any_arity_and_the_one_that_is_chosen() {
    let cpu = coho_platform::pin::allowed().unwrap().first().unwrap().to_string();
    let words = ["barrier", "--quick", "--threads", "3", "--cpus", &cpu, "--json", "--method"];
    let found = parse(&succeeds(&[&words[..], &["auto,tournament-8,dissemination-4"]].concat()));
    let rows = found["barriers"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["algorithm"].as_str().unwrap()).collect();
    let chosen = found["method"]["parameters"]["auto"]["3 threads, sequential"].as_str().unwrap();
    assert_eq!(names, [chosen, "tournament-8", "dissemination-4"]);
    let why = fails(&["barrier", "--method", "sense"], 2);
    assert!(why.contains("fbs-one-line") && why.contains("tournament-N"), "{why}");
}

#[test]
fn some_algorithms_by_long_bursts() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").display().to_string();
    let words = ["barrier", "--quick", "--threads", "2", "--method", "fbs-one-line,tournament-4"];
    let found = parse(&succeeds(&[&words[..], &["--burst", "1ms", "--json", "-o", &file]].concat()));
    // Mappings mean something on the machine as it is.
    let profile = parse(&std::fs::read_to_string(&file).unwrap());
    assert_valid(&profile);
    assert!(profile["topology"].is_object() && profile["sync"] == found, "{profile}");
    let names = |rows: &str| -> Vec<String> {
        let rows = found[rows].as_array().unwrap();
        rows.iter().map(|row| row["algorithm"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("barriers"), ["fbs", "tournament-4"]);
    assert_eq!(names("fork_join"), ["team", "fbs-one-line"]);
    assert_eq!(found["method"]["parameters"]["burst_ns"], 1_000_000);
}

#[test]
fn a_kernel_is_a_part_of_the_profile_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").display().to_string();
    std::fs::write(&file, r#"{"schema": "coho-profile/1", "later": 7}"#).unwrap();
    let found = parse(&succeeds(&["kernels", "weather", "--quick", "--threads", "1", "--json", "-o", &file]));
    let point = &found["points"][0];
    assert!(point["size"].is_number(), "{found}");
    // Beside other work no batch may be left of which the time is the program's own.
    match point["seconds"]["median"].as_f64() {
        Some(seconds) => assert!(seconds > 0.0, "{found}"),
        None => assert!(found["method"]["not_available"]["one thread"].is_string(), "{found}"),
    }
    assert!(found["invariant_error"].as_f64().unwrap() < 1e-6, "{found}");
    let profile = parse(&std::fs::read_to_string(&file).unwrap());
    assert_valid(&profile);
    assert_eq!(
        (&profile["later"], &profile["sync"]["kernels"]["weather"]["points"][0]["threads"]),
        (&json!(7), &json!(1))
    );
}

#[test]
fn predictions_for_a_published_machine() {
    let found = parse(&succeeds(&[
        "predict",
        "barrier",
        "published:kawabe-furuya/x7560",
        "--threads",
        "16",
        "--json",
    ]));
    let limit = found["limit_ns"]["barrier"].as_f64().unwrap();
    let algorithms = found["algorithms"].as_array().unwrap();
    assert!(algorithms.iter().any(|row| row["name"] == "fbs"), "{found}");
    assert!(algorithms.iter().all(|row| row["ns"].as_f64().unwrap() >= 0.999 * limit), "{found}");
    let told = succeeds(&["predict", "barrier", "published:kawabe-furuya/x7560", "--threads", "16"]);
    assert!(
        told.contains("fbs, separate-lines") && told.lines().all(|line| line.chars().count() <= 80),
        "{told}"
    );
}

#[test]
fn tables_keep_to_the_page_and_break_no_word() {
    needs!(Capability::TwoCpus);
    for arguments in [
        &["barrier", "--quick", "--threads", "2"][..],
        &["kernels", "weather", "--quick", "--threads", "2"],
        &["predict", "barrier", "published:nakamura-fbs"],
    ] {
        let told = succeeds(arguments);
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
        assert!(told.lines().any(|line| line.contains(" sequential ")), "{told}");
        assert!(!told.contains("sequentia "), "{told}");
    }
}

#[test]
fn latencies_of_the_papers_machine_are_fitted_to_its_times() {
    let found = parse(&succeeds(&["predict", "barrier", "published:nakamura-fbs", "--json"]));
    let figures = found["fit"]["figures"].as_array().unwrap();
    assert_eq!((figures.len(), found["fit"]["latencies_ns"].as_array().unwrap().len()), (5, 3));
    for figure in figures {
        assert!(figure["residual"].as_f64().unwrap().abs() < 0.25, "{figure}");
        // What the figure itself was fitted to is no prediction of it.
        assert!(figure["predicted"].is_null() && figure["fitted"].is_number(), "{figure}");
        assert!(figure["predicted_left_out"].as_f64() != figure["fitted"].as_f64(), "{figure}");
        assert!(figure["error_left_out"].is_number(), "{figure}");
    }
    assert!(figures.iter().any(|figure| figure["published"] == 5.8));
}

#[test]
fn a_machine_that_nobody_has_is_given_by_its_levels() {
    let machine = "hierarchy:2=10,16=30,64=120";
    let found = parse(&succeeds(&["predict", "barrier", machine, "--threads", "48", "--json"]));
    // Each mapping has a limit of its own.
    let limits = found["limits_ns"].as_array().unwrap();
    assert_eq!(limits.len(), 2);
    assert!(limits.iter().all(|limit| limit["barrier"] == 120.0), "{limits:?}");
    let winners = found["quickest"].as_array().unwrap();
    let sizes: Vec<_> = winners.iter().map(|row| row["threads"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [2, 4, 8, 16, 32, 48, 2, 4, 8, 16, 32, 48]);
    assert!(winners.iter().all(|row| row["rule_ns"].as_f64() >= row["ns"].as_f64()), "{winners:?}");
    let near = parse(&succeeds(&["predict", "barrier", machine, "--threads", "2", "--json"]));
    let limit = |at: usize| near["limits_ns"][at]["barrier"].as_f64().unwrap();
    assert_eq!((limit(0), limit(1)), (10.0, 120.0), "binary tree spreads two threads");
    let dear = parse(&succeeds(&["predict", "barrier", machine, "--extra-line", "100", "--json"]));
    assert!(dear["quickest"][5]["ns"].as_f64() > winners[5]["ns"].as_f64());
    assert!(fails(&["predict", "barrier", "hierarchy:4=10,6=20"], 1).contains("cannot hold"));
    assert!(fails(&["predict", "barrier", "hierarchy:4"], 1).contains("CPUS=NS"));
}

#[test]
fn a_prediction_stands_beside_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").display().to_string();
    let pair = |method: &str| {
        let ns = json!({"median": 50.0, "low": 49.0, "high": 51.0, "min": 48.0, "n": 9, "stable": true});
        json!({"a": 0, "b": 1, "method": method, "home": "a", "ns": ns})
    };
    let fbs = json!({"algorithm": "fbs", "layout": "separate-lines", "threads": 2, "mapping": "sequential",
        "ns": {"median": 62.5, "low": 62.0, "high": 63.0, "min": 61.0, "n": 9, "stable": true}});
    let profile = json!({"schema": "coho-profile/1",
        "coherence": {"cpus": [0, 1], "pairs": [pair("turn"), pair("flags")]}, "sync": {"barriers": [fbs]}});
    std::fs::write(&file, profile.to_string()).unwrap();
    let found = parse(&succeeds(&["predict", "barrier", &file, "--json"]));
    let row = &found["measured"][0];
    assert!((row["error"].as_f64().unwrap() + 0.2).abs() < 1e-9, "{found}");
    assert!(succeeds(&["predict", "barrier", &file]).contains("−20 %"));
}

#[test]
fn words_that_make_no_sense_are_named() {
    assert_refuses(&[
        ("barrier --threads 1", 2, "at least 2 threads"),
        ("barrier --mapping diagonal", 2, "diagonal"),
        ("barrier --method fbs,magic", 2, "magic"),
        ("barrier --burst 0", 2, "0"),
        ("kernels linpack", 2, "linpack"),
    ]);
}
