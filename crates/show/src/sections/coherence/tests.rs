use coho_model::{Matrix, coherence_from_matrix};
use coho_profile::{Estimate, Home, Pair, Profile, Timeline, TimelineSample};

use super::*;
use crate::part::{Body, Depth};
use crate::testing;

/// What stands below the map.
fn caption(section: &Section) -> &str {
    let captions = section.parts.iter().find_map(|part| match &part.body {
        Body::Map(map) => Some(map.caption.as_str()),
        _ => None,
    });
    captions.unwrap()
}

/// One pair that took 28.6 ns while pairs were measured, and 103 ns for a part of the watch.
fn watched(far: u32) -> Section {
    let pair = Pair::new(
        0,
        1,
        PairMethod::Turn,
        Home::A,
        Estimate { n: 40, stable: Some(true), ..Estimate::exact(28.6) },
    );
    let sample =
        |at: u32| TimelineSample { at_s: f64::from(at) * 0.05, ns: if at < far { 103.0 } else { 28.6 } };
    let timeline = Timeline {
        a: 0,
        b: 1,
        method: PairMethod::Turn,
        samples: (0..100).map(sample).collect(),
        change_points_s: Vec::new(),
        modes: Vec::new(),
    };
    let mut coherence =
        Coherence { cpus: vec![0, 1], pairs: vec![pair], timeline: Some(timeline), ..Coherence::default() };
    (coherence.method.passes, coherence.method.duration_s) = (5, 0.14);
    section(&Subject::new("mine", Profile { coherence: Some(coherence), ..Profile::default() })).unwrap()
}

#[test]
fn the_headline_and_the_map_tell_a_time_that_was_seen_while_watching() {
    let moved = watched(40);
    let times = "CPUs 0 and 1: 28.6 ns while pairs were measured (in up to 5 passes within 140 ms), 103 ns for 40 % of a \
                 watch of 5.0 s";
    assert_eq!(moved.headline, times);
    assert!(caption(&moved).contains(times), "{}", caption(&moved));
    let stayed = watched(0);
    assert!(stayed.headline.starts_with("28.6 ns; ") && !stayed.headline.contains("watch of"));
    assert!(!caption(&stayed).contains("did not stay"), "{}", caption(&stayed));
}

fn verdict_of(matrix: &str) -> String {
    let coherence = Some(coherence_from_matrix(&Matrix::parse(matrix).unwrap()));
    let subject = Subject::new("mine", Profile { coherence, ..Profile::default() });
    let text = testing::text(&section(&subject).unwrap(), Depth::Summary);
    let verdict = text.lines().find_map(|line| line.strip_prefix("verdict"));
    verdict.unwrap_or_else(|| panic!("{text}")).trim().to_owned()
}

#[test]
fn pairs_that_a_paper_left_out_are_not_counted_as_missing() {
    for machine in ["e5620", "x7560"] {
        let paper = Subject::only(&format!("published:kawabe-furuya/{machine}")).unwrap();
        let section = section(&paper).unwrap();
        let caption = caption(&section);
        assert!(caption.contains("Pairs of CPU 0 only, as published."), "{caption}");
        assert!(!caption.contains("measured"), "{caption}");
    }
}

#[test]
fn times_that_scatter_are_not_called_alike() {
    let scattered = verdict_of("\n10.3\n14,22.6\n19,16,12\n");
    assert_eq!(scattered, "no groups found: the times of 6 pairs range from 10.3 to 22.6 ns");
    assert_eq!(verdict_of("\n25\n25.4,25.1\n"), "flat: all 3 pairs are alike, 25.0 to 25.4 ns");
    assert_eq!(
        verdict_of("\n0\n51,52\n53,51,27\n"),
        "hops: CPUs form groups, near within a group and far across groups",
        "0 is less than a step of the clock"
    );
    assert_eq!(verdict_of("\n0\n0,0\n"), "no groups found: no pair has a time above 0");
}
