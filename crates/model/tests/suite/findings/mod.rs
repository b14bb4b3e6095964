//! Each kind of finding: profiles that carry it, and profiles that do not.

mod acts;
mod share;
mod sharing;
mod waits;
mod watched;

use coho_model::{Finding, Urgency, findings};
use coho_profile::{BarrierTime, Estimate, Host, Method, Mode, Profile, Sync, SyncLimit, published};
use serde_json::Value;

/// So many samples within a hundredth of a value.
fn estimate(median: f64, n: u64) -> Estimate {
    Estimate {
        low: median - 0.01 * median.abs(),
        high: median + 0.01 * median.abs(),
        n,
        stable: (n >= 6).then_some(true),
        ..Estimate::exact(median)
    }
}

/// Samples that jump between two values.
fn jumping(one: f64, other: f64) -> Estimate {
    let modes = vec![Mode { value: one, share: 0.6 }, Mode { value: other, share: 0.4 }];
    Estimate { low: one, high: other, n: 40, modes, stable: Some(false), ..Estimate::exact(one) }
}

/// A machine on which this program measured.
fn host() -> Option<Host> {
    Some(Host { coho_version: Some("0.1.0".into()), ..Host::default() })
}

/// The finding of a kind, if the profile carries one; each names figures that are there.
#[track_caller]
fn found(profile: &Profile, id: &str) -> Option<Finding> {
    let all = findings(profile);
    let json: Value = serde_json::to_value(profile).unwrap();
    for finding in &all {
        assert!(!finding.evidence.is_empty() && !finding.condition.is_empty(), "{finding:?}");
        for pointer in &finding.evidence {
            assert!(json.pointer(pointer).is_some_and(|value| !value.is_null()), "{pointer}: {finding:?}");
        }
        assert!(!finding.text.contains("NaN") && !finding.text.contains("  "), "{finding:?}");
        // Those that tell of a paper's machine, or that the verdict on the claims says, are for lists that have all.
        let is_for_all = !["published-machine", "topology-stands"].contains(&finding.id);
        assert_eq!(!finding.brief.is_empty(), is_for_all, "{finding:?}");
        assert!(finding.brief.chars().count() <= finding.text.chars().count() + 60, "{finding:?}");
    }
    assert!(all.is_sorted_by_key(|finding| finding.urgency), "the most urgent first");
    all.into_iter().find(|finding| finding.id == id)
}

#[track_caller]
fn says(profile: &Profile, id: &str, words: &[&str]) -> Finding {
    let finding = found(profile, id).unwrap_or_else(|| panic!("no finding {id}"));
    for word in words {
        assert!(finding.text.contains(word), "'{word}' is not in: {}", finding.text);
    }
    finding
}

#[track_caller]
fn does_not_say(profile: &Profile, id: &str) {
    let finding = found(profile, id);
    assert!(finding.is_none(), "{finding:?}");
}

#[test]
fn nothing_follows_from_nothing() {
    assert!(findings(&Profile::default()).is_empty());
    assert!(findings(&Profile { host: host(), ..Profile::default() }).is_empty());
}

/// Papers tell no intervals, so that nothing of theirs is quicker, stable, or worth acting on.
#[test]
fn a_published_profile_gets_what_its_figures_carry() {
    for paper in published::PAPERS.iter() {
        for (machine, profile) in paper.publication().machines {
            found(&profile, "");
            let all = findings(&profile);
            let what = format!("{machine}: {all:?}");
            assert!(all.iter().all(|finding| finding.urgency == Urgency::Note), "{what}");
            let allowed = ["sharing-cost", "sharing-groups", "delegation"];
            assert!(all.iter().all(|finding| allowed.contains(&finding.id)), "{what}");
        }
    }
    let paper = published::read("kawabe-furuya/x7560").unwrap().machines.remove(0).1;
    let cost = says(&paper, "sharing-cost", &["from 13.3 ns", "to 341 ns", "free-running"]);
    assert!(!cost.text.contains("times as much") && !cost.condition.contains("kept to"), "{cost:?}");
}

#[test]
fn scripts_find_the_fields() {
    let paper = published::read("kawabe-furuya/e5620").unwrap().machines.remove(0).1;
    let value = serde_json::to_value(findings(&paper)).unwrap();
    let mut keys: Vec<_> = value[0].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["act", "brief", "condition", "evidence", "id", "level", "next", "text"]);
    assert_eq!(value[0]["level"], "note");
}

/// What several runs measured is said to be of several, and what the last did not, of when it is.
#[test]
fn figures_of_another_run_say_when_they_were_measured() {
    const OLD: &str = "2026-11-20T10:00:00Z";
    const NEW: &str = "2026-11-24T22:00:48Z";
    let method = |date: Option<&str>| Method {
        description: "Measured.".into(),
        date: date.map(str::to_owned),
        ..Method::default()
    };
    let of = |pairs: Option<&str>, barriers: Option<&str>| {
        let mut profile = sharing::steady();
        profile.host.as_mut().unwrap().date = Some(NEW.into());
        let coherence = profile.coherence.as_mut().unwrap();
        coherence.method = Method { passes: 5, duration_s: 1.4, ..method(pairs) };
        let limit =
            SyncLimit { barrier: estimate(26.0, 40), barrier_by: None, fork_join: estimate(52.0, 40) };
        let row = |algorithm: &str, ns| BarrierTime {
            algorithm: algorithm.into(),
            threads: 8,
            ns: Some(estimate(ns, 40)),
            ..BarrierTime::default()
        };
        profile.sync = Some(Sync {
            method: method(barriers),
            limit_ns: Some(limit),
            barriers: vec![row("fbs", 30.0), row("lock", 90.0)],
            ..Sync::default()
        });
        profile
    };
    let together = of(Some(NEW), Some(NEW));
    assert!(
        findings(&together).iter().all(|one| !one.condition.contains("2026")),
        "{:?}",
        findings(&together)
    );
    let condition = |profile: &Profile, id: &str| found(profile, id).unwrap().condition;
    let apart = of(Some(OLD), Some(NEW));
    let moved = condition(&apart, "placement-moves");
    assert!(
        moved.ends_with(&format!("measured in several runs: coherence on {OLD}, sync on {NEW}")),
        "{moved}"
    );
    assert!(condition(&apart, "sharing-cost").contains(&format!("measured on {OLD}, not in")));
    assert!(!condition(&apart, "quickest-barrier").contains("2026"));
    let unknown = of(None, Some(NEW));
    assert!(condition(&unknown, "sharing-cost").contains("measured on an unknown date"));
    // A file without any date, such as an imported one, says so once, in its header.
    assert!(!condition(&of(None, None), "sharing-cost").contains("date"));
}

/// CPUs that stayed in one run say nothing of another run's barriers.
#[test]
fn what_stayed_in_another_run_is_not_known_to_stay() {
    let of = |barriers: &str| {
        let mut profile = sharing::steady();
        let dated = |date: &str| Some(date.to_owned());
        profile.coherence.as_mut().unwrap().method.date = dated("2026-11-24T22:00:48Z");
        let mut sync = Sync {
            barriers: vec![BarrierTime {
                algorithm: "fbs".into(),
                threads: 2,
                ns: Some(estimate(50.0, 40)),
                ..BarrierTime::default()
            }],
            ..Sync::default()
        };
        sync.method.date = dated(barriers);
        profile.sync = Some(sync);
        found(&profile, "quickest-barrier").unwrap().condition
    };
    assert!(!of("2026-11-24T22:00:48Z").contains("which is not known"));
    assert!(of("2026-11-20T10:00:00Z").contains("which is not known"));
}
