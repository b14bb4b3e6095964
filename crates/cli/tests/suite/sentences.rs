//! Each kind of sentence on what was measured, with figures of which it must not be said.

use std::path::Path;

use coho_profile::{
    CacheState, Coherence, CoherenceTime, Estimate, History, Home, Host, Mode, Pair, PairMethod, Profile,
    Timeline, TimelineSample,
};
use serde_json::Value;

use crate::report_profiles::{self, Shape};
use crate::support::{self, coho, json, page, saved, succeeds_in, unwrapped};

/// What the command says of a section, and what the report does.
fn told(coherence: &Coherence) -> [String; 2] {
    told_of(&Profile { coherence: Some(coherence.clone()), ..Profile::default() })
}

fn told_of(profile: &Profile) -> [String; 2] {
    let folder = saved(profile);
    let text = succeeds_in(folder.path(), &["coherence", "--from", "mine.json"]);
    let text = unwrapped(&text);
    [text, page(profile)]
}

fn pair(a: u32, b: u32, n: u64, stable: Option<bool>, ns: f64) -> Pair {
    Pair::new(
        a,
        b,
        PairMethod::Turn,
        Home::A,
        Estimate { n, stable, low: 0.98 * ns, high: 1.02 * ns, ..Estimate::exact(ns) },
    )
}

/// Three CPUs, measured so often.
fn measured(n: u64, stable: Option<bool>) -> Coherence {
    let pairs = vec![pair(0, 1, n, stable, 26.0), pair(0, 2, n, stable, 26.5), pair(1, 2, n, stable, 25.8)];
    let mut coherence = Coherence { cpus: vec![0, 1, 2], pairs, ..Coherence::default() };
    if n > 1 {
        (coherence.method.passes, coherence.method.duration_s) = (5, 1.4);
    }
    coherence
}

fn watched(samples: usize) -> Option<Timeline> {
    let sample = |i: usize| TimelineSample { at_s: 0.05 * i as f64, ns: 26.0 };
    Some(Timeline {
        a: 0,
        b: 1,
        method: PairMethod::Turn,
        samples: (0..samples).map(sample).collect(),
        change_points_s: Vec::new(),
        modes: vec![Mode { value: 26.0, share: 1.0 }],
    })
}

const KEPT: [&str; 3] = ["kept to one value", "No pair had several values", "It kept"];

#[test]
fn stable_is_said_with_its_window_and_of_repeated_figures_only() {
    for text in told(&measured(40, Some(true))) {
        assert!(text.contains("all 3 times between CPUs by turn kept to one value"), "{text}");
        assert!(text.contains("in up to 5 passes within 1.4 s"), "the time of the whole section: {text}");
    }
    let mut coherence = measured(40, Some(true));
    let window = [("least_passes", Value::from(3)), ("least_span_s", Value::from(0.031))];
    coherence.method.parameters = window.map(|(name, value)| (name.to_owned(), value)).into();
    for text in told(&coherence) {
        assert!(text.contains("kept to one value, in at least 3 passes over at least 31 ms"), "{text}");
    }
    for never in [measured(1, None), measured(40, Some(false)), measured(3, None), Coherence::default()] {
        for text in told(&never) {
            let text = text.replace("ot all kept to one value", "…");
            assert!(!KEPT.iter().any(|words| text.contains(words)), "{text}");
        }
    }
    let [text, page] = told(&measured(1, None));
    assert!(!text.contains("stable"), "{text}");
    assert!(page.contains("one value, but for a few</th><td>–</td>"), "whether they did is not known");
}

#[test]
fn all_is_said_of_figures_that_all_kept_to_one_value() {
    let mut coherence = measured(40, Some(true));
    coherence.pairs.extend((3..60).map(|b| pair(0, b, 40, Some(true), 26.0)));
    coherence.pairs[1].ns.stable = Some(false);
    for text in told(&coherence) {
        assert!(text.contains("all but 1 of 60 times between CPUs by turn kept to one value"), "{text}");
        assert!(!text.contains("each kept") && !text.contains("one value each"), "{text}");
    }
}

#[test]
fn unstable_is_said_only_of_what_did_not_keep_to_one_value() {
    for jumped in told(&measured(40, Some(false))) {
        assert!(jumped.to_lowercase().contains("not all kept to one value"), "{jumped}");
    }
    for never in [measured(40, Some(true)), measured(1, None), measured(3, None), Coherence::default()] {
        for text in told(&never) {
            let text = text.to_lowercase();
            assert!(!text.contains("not all") && !text.contains("unstable"), "{text}");
        }
    }
}

#[test]
fn a_pair_is_said_to_stay_only_if_it_was_watched() {
    let with = |samples| told(&Coherence { timeline: watched(samples), ..measured(40, Some(true)) });
    assert!(with(100)[1].contains("kept to one value in that time"));
    assert!(with(100)[0].contains("100 samples in 5.0 s"), "{}", with(100)[0]);
    let mut jumped = watched(100);
    jumped.iter_mut().for_each(|timeline| timeline.change_points_s = vec![2.0]);
    for text in told(&Coherence { timeline: jumped, ..Coherence::default() }) {
        assert!(text.contains("not all kept to one value: CPUs 0 and 1 watched for"), "{text}");
        assert!(!text.contains("value CPUs"), "{text}");
    }
    for few in [1, 5] {
        let [_, page] = with(few);
        assert!(!page.contains("kept to one value in that time"), "{few}");
        assert!(page.contains("Too few samples to say whether it changes"));
    }
}

#[test]
fn a_claim_is_confirmed_only_if_it_was_checked() {
    const NONE: [&str; 2] = ["no figure contradicts", "None found"];
    let of_cores =
        |cores| report_profiles::profile(&Shape { packages: 1, l3s: 1, cores, threads: 1 }, &[]).topology;
    let claimed = of_cores(4);
    let claims = |topology: &Option<_>, coherence: Coherence| {
        told_of(&Profile { coherence: Some(coherence), topology: topology.clone(), ..Profile::default() })
    };
    let mut four = measured(40, Some(true));
    four.cpus.push(3);
    four.pairs.extend([(0, 26.1), (1, 26.3), (2, 25.9)].map(|(a, ns)| pair(a, 3, 40, Some(true), ns)));
    for text in claims(&claimed, four) {
        assert!(NONE.iter().any(|words| text.contains(words)), "{text}");
    }
    // No group can stand out among three CPUs.
    let three = claims(&of_cores(3), measured(40, Some(true)));
    for text in &three {
        assert!(!NONE.iter().any(|words| text.contains(words)), "{text}");
    }
    assert!(three[0].contains("not all could be checked"), "{}", three[0]);
    let one_pair = Coherence {
        pairs: vec![pair(0, 1, 40, Some(true), 26.0)],
        cpus: vec![0, 1],
        ..measured(40, Some(true))
    };
    let one_cpu = Coherence { cpus: vec![0], ..Coherence::default() };
    for (topology, coherence) in
        [(&None, measured(40, Some(true))), (&claimed, one_pair), (&claimed, one_cpu)]
    {
        for text in claims(topology, coherence) {
            assert!(!NONE.iter().any(|words| text.contains(words)), "{text}");
        }
    }
}

#[test]
fn one_cpu_has_no_pairs_to_speak_of() {
    for text in told(&Coherence { cpus: vec![0], ..Coherence::default() }) {
        for words in ["alike", "kept to one value", "unstable", "contradicts", "level 1", "class 1"] {
            assert!(!text.contains(words), "{words}: {text}");
        }
    }
}

#[test]
fn a_matrix_of_single_samples_is_no_measurement_of_stability_or_claims() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("theirs.csv"), "\n25\n90,92\n91,93,26\n").unwrap();
    let text = succeeds_in(folder.path(), &["coherence", "--from", "theirs.csv", "-o", "theirs.json"]);
    succeeds_in(folder.path(), &["report", "theirs.json", "-o", "page.html"]);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    for text in [&text, &page] {
        for words in ["were stable", "kept to one value", "no figure contradicts", "None found", "each kept"]
        {
            assert!(!text.contains(words), "{words}: {text}");
        }
    }
    assert!(!text.contains("stable"), "{text}");
}

#[test]
fn advice_carries_the_condition_that_it_rests_on() {
    let folder = tempfile::tempdir().unwrap();
    let barrier = |coherence: &Coherence| {
        let profile = Profile { coherence: Some(coherence.clone()), ..Profile::default() };
        profile.write(&folder.path().join("mine.json")).unwrap();
        let text = succeeds_in(folder.path(), &["predict", "barrier", "mine.json"]);
        unwrapped(&text)
    };
    let mut coherence = measured(40, Some(true));
    let alone = barrier(&coherence);
    assert!(alone.contains("kept to one value, in up to 5 passes within 1.4 s; no other survey"), "{alone}");
    coherence.history = Some(History { surveys: 4, modes_ns: vec![26.0, 128.0], disagree: 2 });
    let moved = barrier(&coherence);
    assert!(
        moved.contains("2 of 4 other surveys since boot differ") && !moved.contains("kept to one"),
        "{moved}"
    );
    let single = barrier(&measured(1, None));
    assert!(single.contains("one sample per pair") && !single.contains("kept to one"), "{single}");
    let paper = succeeds_in(folder.path(), &["predict", "barrier", "published:kawabe-furuya/e5620"]);
    assert!(!paper.contains("survey") && !paper.contains("one sample"), "{paper}");
}

#[test]
fn the_host_is_named_only_where_figures_differ() {
    let moves = "the host may have moved";
    for coherence in [measured(40, Some(true)), measured(40, Some(false)), measured(1, None)] {
        assert!(told(&coherence).iter().all(|text| !text.contains(moves)));
    }
}

fn time(method: PairMethod, coherence_ns: f64) -> CoherenceTime {
    CoherenceTime {
        class: "on-die".into(),
        method,
        mean_ns: coherence_ns + 5.0,
        baseline_ns: 5.0,
        baseline: "locked single CPU".into(),
        coherence_ns,
        interval_ns: None,
        coherence_cycles: None,
        pairs: 3,
    }
}

#[test]
fn lines_of_another_method_are_not_set_beside_the_papers_without_a_word() {
    let with = |times: Vec<CoherenceTime>| Profile {
        host: Some(Host { clock_ghz: Some(3.0), ..Host::default() }),
        coherence: Some(Coherence { coherence_times: times, ..measured(40, Some(true)) }),
        ..Profile::default()
    };
    let both = page(&with(vec![time(PairMethod::Turn, 120.0), time(PairMethod::FreeRunning, 7.0)]));
    assert!(both.contains("here: on-die, 21.0 cycles") && both.contains("e5620: on-die"));
    assert!(!both.contains("360 cycles"));
    let turn = page(&with(vec![time(PairMethod::Turn, 120.0)]));
    assert!(
        !turn.contains("360 cycles") && !turn.contains("e5620: on-die"),
        "nothing to set beside the paper's"
    );
    let folder = tempfile::tempdir().unwrap();
    with(vec![time(PairMethod::Turn, 120.0), time(PairMethod::FreeRunning, 7.0)])
        .write(&folder.path().join("mine.json"))
        .unwrap();
    let method = |more: &[&str]| -> Value {
        let text = succeeds_in(folder.path(), &[&["predict", "cpi", "mine.json", "--json"], more].concat());
        json(&text)["lines"][0]["method"].clone()
    };
    assert_eq!((method(&[]), method(&["--method", "turn"])), ("free-running".into(), "turn".into()));
    let flags =
        coho(&["predict", "cpi", "mine.json", "--method", "flags"]).current_dir(folder.path()).output();
    assert_eq!(flags.unwrap().status.code(), Some(1));
}

fn compared(folder: &Path, first: &str, second: &str) -> (String, Value) {
    let text = succeeds_in(folder, &["compare", first, second, "--all"]);
    (text, json(&succeeds_in(folder, &["compare", first, second, "--json"])))
}

fn row<'a>(comparison: &'a Value, id: &str) -> Option<&'a Value> {
    comparison["figures"].as_array()?.iter().find(|row| row["id"] == id)
}

#[test]
fn no_ratio_is_shown_as_none() {
    let folder = tempfile::tempdir().unwrap();
    for (other, machine) in [("published:hamada-dimmnet", "timed"), ("published:nakamura-fbs", "sync")] {
        let profile = match machine {
            "timed" => support::measured(),
            _ => report_profiles::sync::sixteen(),
        };
        profile.write(&folder.path().join("mine.json")).unwrap();
        let (text, _) = compared(folder.path(), "mine.json", other);
        let none = |line: &&str| line.split_whitespace().any(|word| word == "0.00");
        assert_eq!(text.lines().find(none), None, "{text}");
    }
}

#[test]
fn what_a_paper_words_is_not_shown_as_exact() {
    let folder = saved(&report_profiles::sync::sixteen());
    let (text, comparison) = compared(folder.path(), "mine.json", "published:nakamura-fbs");
    let bound = row(&comparison, "sync.weather.sync-share.all.%").expect("a bound");
    assert_eq!(bound["values"][1]["inexact"], "below");
    assert!(bound["values"][1]["ratio"].is_null(), "a bound has no ratio: {bound}");
    assert!(text.contains("< 10.0"), "{text}");
    let rough = row(&comparison, "sync.daxpy.fbs-speed-up.short-loops.ratio").expect("a rough figure");
    assert_eq!(rough["values"][1]["inexact"], "about");
    assert!(text.contains("≈ 4.00"), "{text}");
    let page = page(&report_profiles::sync::sixteen());
    assert!(
        page.contains("&lt; 10.0 %") && page.contains("≈ 4.00") && !page.contains("10.0 % ("),
        "the paper's ratios"
    );
}

#[test]
fn the_steady_state_is_not_set_beside_the_papers_warm() {
    let folder = tempfile::tempdir().unwrap();
    let mut profile = report_profiles::calls::timed();
    let calls = profile.calls.as_mut().unwrap();
    calls.calls.retain(|call| call.state != CacheState::Second);
    profile.write(&folder.path().join("older.json")).unwrap();
    let (_, comparison) = compared(folder.path(), "older.json", "published:shimosawa-hori-ishikawa");
    assert_eq!(row(&comparison, "calls.write.second-over-cold.%"), None);
    report_profiles::calls::timed().write(&folder.path().join("mine.json")).unwrap();
    let (_, comparison) = compared(folder.path(), "mine.json", "published:shimosawa-hori-ishikawa");
    assert!(row(&comparison, "calls.write.second-over-cold.%").is_some());
    assert_eq!(row(&comparison, "calls.write.steady-over-cold.%"), None, "the paper tells none");
}
