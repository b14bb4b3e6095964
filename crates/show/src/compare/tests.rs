use coho_profile::SyncLimit;

use super::*;
use crate::part::{Cell as Content, Depth};

fn figure(value: f64, inexact: Option<Inexact>) -> Figure {
    let interval = inexact.is_none().then_some((value - 1.0, value + 1.0));
    Figure::within(value, interval, 40).worded(inexact)
}

fn judged(mine: Figure, base: Figure, comparisons: usize) -> Cell {
    let beside =
        |mine: &Figure| [cell(&base, None, false), cell(mine, Some(&base), false)].map(Some).to_vec();
    let row =
        |mine: &Figure| Row { id: String::new(), label: String::new(), unit: "ns", values: beside(mine) };
    let mut rows: Vec<Row> = (0..comparisons).map(|_| row(&mine)).collect();
    judge(&mut rows);
    rows.remove(0).values.remove(1).unwrap()
}

#[test]
fn only_what_exceeds_both_intervals_and_a_tenth_is_a_difference() {
    for (value, expected) in [(101.0, false), (105.0, false), (115.0, true)] {
        let cell = judged(figure(value, None), figure(100.0, None), 1);
        assert_eq!(cell.beyond_noise, Some(expected));
        let (low, high) = cell.ratio_interval.unwrap();
        assert!(low < cell.ratio.unwrap() && cell.ratio.unwrap() < high);
    }
    let of_passes = |value, passes| Figure { passes, ..figure(value, None) };
    for (passes, value, expected) in
        [(2, 147.0, false), (1, 147.0, false), (2, 160.0, true), (3, 147.0, true)]
    {
        for cell in [
            judged(of_passes(value, passes), of_passes(100.0, 9), 1),
            judged(of_passes(value, 9), of_passes(100.0, passes), 1),
        ] {
            assert_eq!(cell.beyond_noise, Some(expected), "{value} in {passes} passes");
        }
    }
    // Among so many, nine samples each tell nothing.
    let few = |value| figure(value, None).of_samples(9);
    assert_eq!(judged(few(115.0), few(100.0), 1000).beyond_noise, None);
}

#[test]
fn a_bound_is_kept_or_broken_but_has_no_ratio() {
    for (mine, beyond) in [(25.0, true), (4.0, false)] {
        let cell = judged(figure(10.0, Some(Inexact::Below)), figure(mine, None), 1);
        assert_eq!((cell.ratio, cell.ratio_interval, cell.beyond_noise), (None, None, Some(beyond)));
    }
    let about = judged(figure(4.0, Some(Inexact::About)), figure(2.0, None), 1);
    assert_eq!((about.ratio, about.beyond_noise), (Some(2.0), None));
}

#[test]
fn the_head_tells_the_largest_changes_that_are_certain() {
    let row = |id: &str, value: f64| {
        let cells = [
            cell(&figure(100.0, None), None, false),
            cell(&figure(value, None), Some(&figure(100.0, None)), false),
        ];
        Row { id: id.into(), label: id.into(), unit: "ns", values: cells.map(Some).to_vec() }
    };
    let mut figures: Vec<Row> =
        (0..20).map(|i| row(&format!("near {i}"), 114.0 + f64::from(i) / 10.0)).collect();
    figures.push(row("noise", 100.5));
    figures.push(row("halved", 50.0));
    judge(&mut figures);
    let profiles = vec!["a".into(), "b".into()];
    let facts = BTreeMap::new();
    let parts = Comparison {
        profiles,
        distances: Vec::new(),
        methods: Vec::new(),
        figures,
        without_counterpart: 0,
        facts,
    }
    .parts();
    let Body::Table(head) = &parts[0].body else { panic!("{parts:?}") };
    assert_eq!(
        head.title,
        "The 10 largest of 21 differences beyond noise, by the least ratio that the intervals allow"
    );
    assert_eq!(head.rows[0].cells[0], Content::from("halved, ns"));
    assert!((head.rows.len(), parts[1].depth) == (10, Depth::Detail));
}

#[test]
fn a_paper_stands_under_the_line_whichever_was_named_first() {
    let mine = |ns: &str| {
        let matrix = coho_model::Matrix::parse(&format!("\n{ns}\n")).unwrap();
        let mut coherence = coho_model::coherence_from_matrix(&matrix);
        let paper = Subject::only("published:kawabe-furuya/e5620").unwrap();
        coherence.singles = paper.coherence().unwrap().singles.clone();
        coherence.singles[0].locked_ns = Estimate::exact(ns.parse().unwrap());
        Subject::new("mine", coho_profile::Profile { coherence: Some(coherence), ..Default::default() })
    };
    let paper = || Subject::only("published:kawabe-furuya/e5620").unwrap();
    for (ns, ratio, is_hundredfold) in [("5.26", 0.5, false), ("0.01052", 0.001, true)] {
        for subjects in [[mine(ns), paper()], [paper(), mine(ns)]] {
            let comparison = compare(&subjects);
            let row = comparison.figures.iter().find(|row| row.id == "single.locked.ns").unwrap();
            let cell = row.values[1].as_ref().unwrap();
            assert!((cell.ratio.unwrap() / ratio - 1.0).abs() < 1e-9, "{cell:?}");
            assert_eq!(cell.is_hundredfold(), is_hundredfold);
            assert!(!comparison.methods.is_empty(), "how the paper measured");
            let text = format!("{:?}", comparison.parts());
            assert_eq!(text.contains("1 figure is a hundredfold"), is_hundredfold);
            assert!(text.contains("here over paper") && !text.contains("?: an interval"));
        }
    }
}

#[test]
fn other_distances_between_the_cpus_are_said_first() {
    let of = |label: &str, ns: &str| {
        let matrix = coho_model::Matrix::parse(&format!("\n{ns}\n")).unwrap();
        let coherence = Some(coho_model::coherence_from_matrix(&matrix));
        Subject::new(label, coho_profile::Profile { coherence, ..Default::default() })
    };
    let head = |subjects: &[Subject]| match &compare(subjects).parts()[0].body {
        Body::Text(text) => text.text.clone(),
        _ => String::new(),
    };
    let moved = head(&[of("before", "26"), of("after", "128")]);
    assert!(
        moved.starts_with("CPUs 0 and 1 were at different distances: 26.0 ns in before, 128 ns in after")
    );
    assert!(!head(&[of("before", "26"), of("after", "30")]).contains("distances"));
    let paper = Subject::only("published:kawabe-furuya/e5620").unwrap();
    assert!(!head(&[of("before", "260"), paper]).contains("distances"));
    let barriers = |label: &str, ns: f64| {
        let limit = Estimate { n: 42, ..Estimate::exact(ns) };
        let limit = SyncLimit { barrier: limit.clone(), barrier_by: None, fork_join: limit };
        let sync = Some(coho_profile::Sync { limit_ns: Some(limit), ..Default::default() });
        let coherence = of(label, "26").profile.coherence;
        Subject::new(label, coho_profile::Profile { coherence, sync, ..Default::default() })
    };
    let moved = head(&[barriers("before", 42.08), barriers("after", 228.0)]);
    assert!(
        moved.contains("different distances: their limit is 42.1 ns in before, 228 ns in after"),
        "{moved}"
    );
    assert!(!head(&[barriers("before", 42.0), barriers("after", 50.0)]).contains("distances"));
}
