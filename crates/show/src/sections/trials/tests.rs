use coho_profile::{Estimate, Method, Profile, Runs};

use super::*;
use crate::part::Depth;
use crate::testing;

fn compared(times: &[(&str, Option<(f64, f64)>)], winners: &[&str], decided: bool) -> Trial {
    let ratio = |(low, high)| Estimate { low, high, n: 10, ..Estimate::exact(f64::midpoint(low, high)) };
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

#[test]
fn each_verdict_is_said_of_its_own_figures_alone() {
    let two = |over| [("compact", None), ("spread", Some(over))];
    let three = [("compact", None), ("l3", Some((0.9, 1.1))), ("spread", Some((1.9, 2.1)))];
    assert_eq!(
        verdict(&compared(&two((1.5, 1.7)), &["compact"], true)),
        "compact is best: spread takes 1.60 (1.50–1.70) times as long (10 rounds)"
    );
    assert_eq!(
        verdict(&compared(&two((0.9, 1.1)), &["compact", "spread"], false)),
        "nothing is better beyond chance: spread takes 1.00 (0.90–1.10) times as long as compact (10 rounds)"
    );
    assert_eq!(
        verdict(&compared(&three, &["compact", "l3"], false)),
        "compact and l3 cannot be told apart; worse than one of them beyond chance: spread (2.00 (1.90–2.10) times \
         compact) (10 rounds)"
    );
    let mut few = compared(&two((1.76, 1.93)), &["compact", "spread"], false);
    few.method.passes = 5;
    assert_eq!(
        verdict(&few),
        "5 rounds cannot decide, 6 or more could: spread took 1.84 (1.76–1.93) times as long as compact"
    );
    // Nothing is concluded from a file that names no winners.
    let without = verdict(&compared(&three, &[], false));
    assert!(without.starts_with("nothing is better beyond chance"), "{without}");
}

fn shown(runs: Runs) -> Option<String> {
    let subject = Subject::new("mine", Profile { run: Some(runs), ..Profile::default() });
    section(&subject).map(|section| testing::text(&section, Depth::Detail))
}

#[test]
fn what_is_taken_is_marked_and_not_what_was_quickest_by_chance() {
    let marked = |winners: &[&str]| {
        let times = [("compact", None), ("spread", Some((0.9, 1.2))), ("none", Some((0.9, 1.2)))];
        let trial = compared(&times, winners, winners.len() == 1);
        let text = shown(Runs { commands: [("pair".into(), trial)].into(), ..Runs::default() }).unwrap();
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
    assert_eq!(shown(Runs::default()), None, "there is no section without a command");
    let text = shown(Runs { live: [("server".into(), live)].into(), ..Runs::default() }).unwrap();
    for part in ["260 k/s, none 13.5 k/s", "compact*", "260000", "trips/s", "none, compact"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
