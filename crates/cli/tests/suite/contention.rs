//! `coho contention` as scripts and people call it.

use coho_testing::{Capability, needs};
use serde_json::{Value, json};

use crate::support::{assert_refuses, assert_valid, first_cpus, json as parse, succeeds, unwrapped};

#[test]
fn a_row_for_each_operation_and_number_of_cpus() {
    needs!(Capability::TwoCpus);
    let cpus = first_cpus(2);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json").to_string_lossy().into_owned();
    let found = parse(&succeeds(&["contention", "--quick", "--cpus", &cpus, "--json", "-o", &file]));
    let profile = parse(&std::fs::read_to_string(&file).unwrap());
    assert_valid(&profile);
    assert_eq!(profile["contention"], found);
    let rows = found["rows"].as_array().unwrap();
    for operation in ["add", "compare-and-swap", "exchange", "store", "store-one-word"] {
        for n in [1, 2] {
            let is =
                |row: &&Value| row["operation"] == operation && row["cpus"].as_array().unwrap().len() == n;
            let row = rows.iter().find(is).unwrap_or_else(|| panic!("{operation}, {n}: {found}"));
            // Where others use the CPUs too, the two may never run at the same time.
            assert!(
                row["ns"]["median"].as_f64() > Some(0.0) || row["preempted_batches"].as_u64() > Some(0),
                "{row}"
            );
        }
    }
    // On two CPUs the nearest are the farthest.
    assert!(found["method"]["not_available"]["binary-tree mapping, 2 threads"].is_string(), "{found}");
}

#[test]
fn the_table_keeps_to_the_page_and_names_the_difference_to_the_published_pairs() {
    let told = succeeds(&["contention", "--quick", "--operations", "add,compare-and-swap,store-one-word"]);
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    assert!(told.contains("store-one-word") && !told.contains("exchange"), "{told}");
    let in_words = unwrapped(&told);
    let pairs = in_words.contains("Kawabe & Furuya") && in_words.contains("timed as a whole");
    assert!(pairs || told.contains("2 CPUs at once"), "{told}");
}

#[test]
fn one_cpu_is_measured_alone_and_the_rest_is_named() {
    let found =
        parse(&succeeds(&["contention", "--quick", "--cpus", &first_cpus(1), "--threads", "2,4", "--json"]));
    let rows = found["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["shares"] == json!([1.0]) || row["ns"].is_null()), "{found}");
    for what in ["2 CPUs at once", "4 CPUs at once"] {
        assert!(
            found["method"]["not_available"][what].as_str().unwrap().ends_with("only 1 may be used"),
            "{found}"
        );
    }
}

#[test]
fn words_that_make_no_sense_are_named() {
    assert_refuses(&[
        ("contention --threads 0", 2, "0"),
        ("contention --operations divide", 2, "divide"),
        ("contention --operations divide", 2, "compare-and-swap"),
    ]);
}
