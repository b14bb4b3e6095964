//! Barriers and programs under them in `coho report` and `coho compare`: Nakamura et al.'s figures and predictions
//! beside.

use serde_json::Value;

use crate::report_profiles;
use crate::report_profiles::sync::{sixteen, two};
use crate::support::{self, assert_shows, page, saved, succeeds_in};

/// What the paper printed: times, ratios, Table 4-1.
const PUBLISHED: [&str; 7] = ["5.80", "2.80", "1.60", "0.70–0.80", "110.7", "121.0", "93.8"];

#[test]
fn figures_of_the_paper_stand_beside_those_of_the_machine() {
    let page = page(&sixteen());
    assert!(
        page.contains("the limit is estimated from hand-overs of a line")
            && !page.contains("can be below it")
    );
    assert_shows(&page, &PUBLISHED);
    for chart in ["fork-join", "fork-join-parts", "barriers"] {
        assert!(page.contains(&format!("id=\"s0-barriers-chart-{chart}\"")), "{chart}");
    }
    for chart in ["daxpy", "daxpy-model", "galerkin", "weather"] {
        assert!(page.contains(&format!("id=\"s0-programs-chart-{chart}\"")), "{chart}");
    }
    // Modes of a figure that jumps, a peer that is not there, what was fitted and what was checked.
    assert_shows(
        &page,
        &["31.0 (60.0 %)", "no clang that links OpenMP", "P, an element on one thread", "3.0e-13"],
    );
    // Which barrier wins where, and what the rule would take.
    assert_shows(&page, &["Which barrier wins where", "By the rule"]);
    // The prediction and its error.
    assert_shows(&page, &["Median size of the error", "FBS times of three and more threads"]);
    assert!(page.contains(">published, SR11000<") && page.contains(">here<"), "the published bars");
}

#[test]
fn two_cpus_have_no_second_mapping() {
    let page = page(&two());
    // Beside what the paper says of mappings there is nothing to set.
    let (mapping, others) = PUBLISHED.into_iter().partition::<Vec<_>, _>(|published| *published == "1.60");
    assert_shows(&page, &others);
    assert!(!page.contains(mapping[0]) && !page.contains("binary tree / sequential"));
    assert_shows(
        &page,
        &[
            "fbs, one-line",
            "the longest way on the best of 64 lines",
            "198 <small>(196–200)",
            "over ours",
            "Ours: barrier",
            "3 ns, about what out-of-order CPUs need",
            // These barriers ran while the two were farther apart than their pair says.
            "Not comparable with what was measured: the farthest pair took",
            "and 205 ns while barriers were",
        ],
    );
    assert!(!page.contains("Median size of the error"), "no error of the model");
}

#[test]
fn a_section_that_was_not_measured_is_said_to_be_missing() {
    let page = page(&report_profiles::two_cpus());
    let missing = page.split("Not measured: ").nth(1).unwrap().split('<').next().unwrap();
    assert!(missing.contains("barriers, fork and join; programs under barriers"), "{missing}");
    let mut profile = two();
    let sync = profile.sync.as_mut().unwrap();
    (sync.barriers, sync.fork_join, sync.peers) = Default::default();
    let page = support::page(&profile);
    assert_shows(&page, &["s0-programs-chart-daxpy", "the longest way on the best of 64 lines"]);
    assert!(!page.contains("s0-barriers-chart") && !page.contains("id=\"s0-barriers-barriers\""));
}

#[test]
fn a_profile_is_compared_with_the_papers_figures() {
    let folder = saved(&sixteen());
    let arguments = ["compare", "mine.json", "published:nakamura-fbs", "--json"];
    let comparison: Value = serde_json::from_str(&succeeds_in(folder.path(), &arguments)).unwrap();
    let row = |id: &str| {
        let rows = comparison["figures"].as_array().unwrap();
        rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no {id}: {rows:#?}")).clone()
    };
    let lock = row("sync.fork-join.lock-over-fbs.all.ratio");
    assert_eq!(
        (lock["values"][0]["value"].as_f64(), lock["values"][1]["value"].as_f64()),
        (Some(6.0), Some(5.8))
    );
    for id in ["sync.daxpy.fbs-speed-up.peak.ratio", "sync.weather.sync-share.half.%"] {
        assert!(row(id)["values"][1]["value"].is_number());
    }
    let total = row("sync.fork-join.fbs.all.ns");
    assert_eq!(total["values"][1]["value"], 4800.0);
    let text = succeeds_in(folder.path(), &arguments[..3]);
    assert!(text.contains("4800") && text.contains("5.80"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn two_profiles_are_compared_team_by_team_and_what_differs_is_told_first() {
    let folder = tempfile::tempdir().unwrap();
    sixteen().write(&folder.path().join("a.json")).unwrap();
    let mut other = sixteen();
    let points = &mut other.sync.as_mut().unwrap().kernels.get_mut("weather").unwrap().points;
    let slower = points.iter_mut().find(|point| point.threads == 16).unwrap().seconds.as_mut().unwrap();
    (slower.median, slower.low, slower.high) = (2.0 * slower.median, 2.0 * slower.low, 2.0 * slower.high);
    other.write(&folder.path().join("b.json")).unwrap();
    let text = succeeds_in(folder.path(), &["compare", "a.json", "b.json"]);
    assert!(text.contains("1 difference beyond noise") && text.contains("weather of"), "{text}");
    assert!(!text.contains("daxpy of") && text.contains("--full"), "{text}");
    // An older name of the option.
    for flag in ["--full", "--all"] {
        let all = succeeds_in(folder.path(), &["compare", "a.json", "b.json", flag]);
        assert!(all.contains("barrier, fbs,") && all.contains("daxpy of"), "{all}");
    }
}
