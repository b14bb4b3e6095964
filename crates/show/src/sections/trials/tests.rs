use coho_profile::{Estimate, Method, Profile, Runs};

use super::*;
use crate::part::Depth;
use crate::testing;

fn compared(times: &[(&str, Option<(f64, f64)>)], winners: &[&str], decided: bool) -> Trial {
    let ratio = |(low, high): (f64, f64)| {
        let median = f64::midpoint(low, high);
        Estimate { median, low, high, n: 10, ..Estimate::exact(median) }
    };
    let placement = |(name, over): &(&str, Option<(f64, f64)>)| PlacementTime {
        name: (*name).into(),
        seconds: Some(Estimate::exact(1.0)),
        times_best: over.map(ratio),
        ..PlacementTime::default()
    };
    Trial {
        method: Method { passes: 10, ..Method::default() },
        command: vec!["./pair".into(), "20000".into()],
        placements: times.iter().map(placement).collect(),
        best: Some(times[0].0.into()),
        winners: winners.iter().map(|name| (*name).to_owned()).collect(),
        decided,
        ..Trial::default()
    }
}

/// Each sentence where its figures carry it, and none of the others.
#[test]
fn each_verdict_is_said_of_its_own_figures_alone() {
    let best = verdict(&compared(&[("compact", None), ("spread", Some((1.5, 1.7)))], &["compact"], true));
    assert!(best.starts_with("compact is best: spread takes"), "{best}");
    let both = [("compact", None), ("spread", Some((0.9, 1.2)))];
    let nothing = verdict(&compared(&both, &["compact", "spread"], false));
    assert!(nothing.starts_with("nothing is better beyond chance: "), "{nothing}");
    let times = [("compact", None), ("l3", Some((0.9, 1.1))), ("spread", Some((1.9, 2.1)))];
    let some = verdict(&compared(&times, &["compact", "l3"], false));
    assert!(some.starts_with("compact and l3 cannot be told apart"), "{some}");
    assert!(some.contains("spread (2.00"), "{some}");
    let wrong = [(&best, "told apart"), (&nothing, "is best"), (&nothing, "told apart"), (&some, "is best")];
    for (told, words) in wrong {
        assert!(!told.contains(words), "{words}: {told}");
    }
    // A profile of an earlier version names no winners: nothing is made up of that.
    let earlier = verdict(&compared(&times, &[], false));
    assert!(earlier.starts_with("nothing is better beyond chance"), "{earlier}");
}

fn shown(runs: Runs) -> String {
    let subject = Subject::new("mine", Profile { run: Some(runs), ..Profile::default() });
    testing::text(&section(&subject).unwrap(), Depth::Detail)
}

#[test]
fn what_is_taken_is_marked_and_not_what_was_quickest_by_chance() {
    let marked = |winners: &[&str]| {
        let times = [("compact", None), ("spread", Some((0.9, 1.2))), ("none", Some((0.9, 1.2)))];
        let mut runs = Runs::default();
        runs.commands.insert("pair".into(), compared(&times, winners, winners.len() == 1));
        let text = shown(runs);
        assert!(text.contains("./pair 20000"), "{text}");
        ["compact", "spread", "none"].map(|name| text.contains(&format!("{name}*")))
    };
    assert_eq!(marked(&["compact"]), [true, false, false]);
    assert_eq!(marked(&["compact", "none"]), [false, false, true], "the scheduler does as well");
    assert_eq!(marked(&["compact", "spread", "none"]), [false, false, true]);
}

#[test]
fn what_was_lived_through_is_shown_with_the_order_of_its_places() {
    let rate = |name: &str, rate| PlacementRate {
        name: name.into(),
        rate: Some(Estimate::exact(rate)),
        best_times: (name != "compact").then(|| Estimate::exact(19.0)),
        ..PlacementRate::default()
    };
    let examination = |best: &str| Examination {
        best: best.into(),
        decided: true,
        placements: vec![rate("compact", 260_000.0), rate("none", 13_500.0)],
        ..Examination::default()
    };
    let live = Live {
        progress: "([0-9]+) trips/s".into(),
        examinations: vec![examination("none"), examination("compact")],
        ..Live::default()
    };
    let mut runs = Runs::default();
    runs.live.insert("server".into(), live);
    let text = shown(runs);
    for told in ["260 k/s, none 13.5 k/s", "compact*", "260000", "trips/s", "none, compact"] {
        assert!(text.contains(told), "{told}: {text}");
    }
}

#[test]
fn without_a_trial_there_is_no_section() {
    let subject = |run| Subject::new("mine", Profile { run, ..Profile::default() });
    assert!(section(&subject(None)).is_none() && section(&subject(Some(Runs::default()))).is_none());
}
