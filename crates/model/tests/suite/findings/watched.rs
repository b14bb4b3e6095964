//! A watch alone leads to a finding; figures that something disturbed do not.

use coho_profile::{
    Coherence, Estimate, Home, Memory, Method, Mode, Pair, PairMethod, PlacementTime, Profile, Runs,
    Timeline, TimelineSample, Trial,
};
use serde_json::json;

use super::{does_not_say, estimate, found, says};

/// A watch of 30 s in which every sixteenth sample has the other value, never for long.
fn watched(usual: f64, other: f64) -> Profile {
    let ns = |i: u32| if i % 16 == 5 { other } else { usual };
    let sample = |i: u32| TimelineSample { at_s: f64::from(i) * 0.05, ns: ns(i) };
    let modes = [(usual, 0.94), (other, 0.06)].map(|(value, share)| Mode { value, share });
    let modes = if usual == other { vec![Mode { value: usual, share: 1.0 }] } else { modes.to_vec() };
    let timeline = Timeline {
        a: 0,
        b: 1,
        method: PairMethod::Turn,
        samples: (0..600).map(sample).collect(),
        change_points_s: Vec::new(),
        modes,
    };
    Profile {
        coherence: Some(Coherence { timeline: Some(timeline), ..Coherence::default() }),
        ..Profile::default()
    }
}

#[test]
fn a_watch_alone_tells_what_it_saw() {
    let finding = says(&watched(26.5, 10.2), "placement-moves", &["26.5 ns (94 %)", "10.2 ns (6 %)", "30 s"]);
    assert!(
        finding.text.contains("A guess") && finding.text.contains("two threads of a core"),
        "{finding:?}"
    );
    assert!(finding.condition.contains("watched for 30 s"), "{finding:?}");
    does_not_say(&watched(26.5, 26.5), "placement-moves");
    let near = says(&watched(26.5, 34.0), "times-vary", &["26.5 ns"]);
    assert!(!near.text.contains("A guess"), "{near:?}");
}

/// A time is the machine's only if the host let it run.
#[test]
fn nothing_is_concluded_from_what_the_hypervisor_took() {
    let with = |steal_s: f64| {
        let method = Method {
            passes: 5,
            duration_s: 2.0,
            steal_s,
            parameters: [("cpus".to_owned(), json!([0, 1]))].into(),
            ..Method::default()
        };
        let pairs = vec![Pair::new(0, 1, PairMethod::Turn, Home::A, estimate(26.0, 40))];
        let coherence = Coherence { cpus: vec![0, 1], pairs, method, ..Coherence::default() };
        Profile { coherence: Some(coherence), memory: Some(Memory::default()), ..Profile::default() }
    };
    assert!(found(&with(0.1), "sharing-cost").is_some());
    does_not_say(&with(0.1), "disturbed");
    does_not_say(&with(0.3), "sharing-cost");
    says(&with(0.3), "disturbed", &["coherence (0.30 of 4.00 s)"]);
}

#[test]
fn a_command_that_is_slower_on_more_cpus_has_a_fingerprint() {
    let trial = |cpus: [&[u32]; 2], times: f64| {
        let placement = |name: &str, cpus: &[u32], times_best: Option<Estimate>| PlacementTime {
            name: name.into(),
            cpus: cpus.to_vec(),
            times_best,
            ..PlacementTime::default()
        };
        let placements = vec![
            placement("compact", cpus[0], None),
            placement("spread", cpus[1], Some(estimate(times, 10))),
        ];
        let trial = Trial {
            placements,
            best: Some("compact".into()),
            winners: vec!["compact".into()],
            decided: true,
            ..Trial::default()
        };
        let runs = Runs { commands: [("pair".to_owned(), trial)].into(), ..Runs::default() };
        found(&Profile { run: Some(runs), ..Profile::default() }, "pin-job").unwrap().next
    };
    let shared = trial([&[0], &[0, 1]], 2.06);
    assert!(shared.contains("A guess") && shared.contains("false sharing"), "{shared}");
    assert!(!trial([&[0], &[0, 1]], 1.2).contains("guess"), "that has many causes");
    assert!(!trial([&[0], &[1]], 2.06).contains("guess"), "on as many CPUs");
}
