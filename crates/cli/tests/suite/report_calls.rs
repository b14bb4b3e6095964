//! Counters and calls in `coho report` and `coho compare`: the papers' tables beside, with counters and without.

use serde_json::Value;

use crate::report_profiles::calls::{counted, timed};
use crate::support::{assert_shows, page, saved, succeeds_in};

const PUBLISHED: [&str; 6] = ["36018", ">17<", "17177", "5741", ">25.3<", "6.4 %"];

#[test]
fn without_counters_the_page_tells_times_why_and_what_is_published() {
    let page = page(&timed());
    assert_shows(&page, &PUBLISHED);
    let charts = ["id=\"s0-calls-chart-calls-syscalls\"", "id=\"s0-calls-chart-calibration\""];
    assert_shows(&page, &charts);
    let told = [
        "read(4096)",
        "by time alone",
        "time alone does not show it",
        "no mpicc",
        "CPUID leaf 0xA tells version 0",
    ];
    assert_shows(&page, &told);
    assert_eq!(page.matches("time alone does not show it").count(), 1, "said once");
}

#[test]
fn with_counters_the_page_shows_events_and_decides_nothing_of_delegation() {
    let page = page(&counted());
    assert_shows(&page, &PUBLISHED);
    assert_shows(
        &page,
        &["0x60/c8", "a hypervisor traps every use", "no event passed", "not decided: what a call costs"],
    );
    assert!(!page.contains("s0-calls-chart-calibration"), "counters need no calibration");
}

#[test]
fn curves_are_charted_call_by_call_and_the_table_tells_what_they_decide() {
    let page = page(&timed());
    let charts = ["id=\"s0-calls-chart-calls-footprint-0\"", "id=\"s0-calls-chart-calls-footprint-1\""];
    assert_shows(&page, &charts);
    assert!(!page.contains("s0-calls-chart-calls-footprint-2"), "two calls, two charts");
    let told = [
        "Calls by how much of its caches the caller has used",
        "never within what was measured: getpid",
        "write from 512 KiB on",
        "one-way 60 ns (55–65)",
        // Table 5 of the paper, second and cold, at its clock.
        "867→13490",
        "two callers and two hosts need four CPUs",
    ];
    assert_shows(&page, &told);
}

#[test]
fn charts_of_calls_are_written_for_papers() {
    let folder = saved(&timed());
    succeeds_in(folder.path(), &["report", "mine.json", "--svg", "charts"]);
    let svg = std::fs::read_to_string(folder.path().join("charts/calls-syscalls.svg")).unwrap();
    // Two calls, cold and second, here and published.
    for whose in ["here", "published"] {
        for (call, state) in
            [("getpid", "cold"), ("getpid", "second"), ("write", "cold"), ("write", "second")]
        {
            assert!(
                svg.contains(&format!("<title>{call}, {state}, {whose}: ")),
                "{call}, {state}, {whose}: {svg}"
            );
        }
    }
    succeeds_in(folder.path(), &["report", "published:shimosawa-hori-ishikawa", "--svg", "paper"]);
    assert!(folder.path().join("paper/calls-mpi.svg").exists());
}

#[test]
fn a_profile_is_compared_with_the_papers_tables() {
    let folder = saved(&counted());
    timed().write(&folder.path().join("timed.json")).unwrap();
    let with = |file: &str| -> Value {
        let text =
            succeeds_in(folder.path(), &["compare", file, "published:shimosawa-hori-ishikawa", "--json"]);
        serde_json::from_str(&text).unwrap()
    };
    let value = |comparison: &Value, id: &str| -> Option<f64> {
        let row = comparison["figures"].as_array()?.iter().find(|row| row["id"] == id)?;
        row["values"][1]["value"].as_f64()
    };
    let counted = with("mine.json");
    assert_eq!(value(&counted, "calls.write.cold.kernel.L2M.lines"), Some(405.0));
    assert_eq!(value(&counted, "counters.user-level start and stop.user.INS.instructions"), Some(30.0));
    let timed = with("timed.json");
    assert!(
        value(&timed, "calls.write.second-over-cold.%").is_some_and(|percent| (percent - 6.4).abs() < 0.1)
    );
    // What evicts lines and what misses them are not the same quantity.
    assert_eq!(value(&timed, "calls.write.footprint.KiB"), None);
    let text = succeeds_in(folder.path(), &["compare", "timed.json", "published:shimosawa-hori-ishikawa"]);
    assert!(text.contains("write: second / cold"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
