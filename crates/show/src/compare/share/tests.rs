//! What is said of two profiles, with figures of which it must not be said.

use super::*;

fn of(median: f64, half: f64, n: u64) -> Option<Estimate> {
    let (low, high) = (median - half, median + half);
    Some(Estimate { low, high, min: low, n, ..Estimate::exact(median) })
}

fn line(object: &str, cost: f64) -> ShareLine {
    let cost_share = of(cost, 0.02, 9);
    ShareLine { object: object.into(), kind: ShareKind::False, cost_share, ..ShareLine::default() }
}

fn subject(label: &str, total: Option<Estimate>, lines: Vec<ShareLine>) -> Subject {
    let why_not = total.is_none().then(|| "its threads spin".to_owned());
    let total = ShareTotal { share_of_cpu_time: total, why_not, ..ShareTotal::default() };
    let share = Share {
        command: vec![format!("./{label}")],
        cpus: vec![0, 1],
        total,
        lines: Some(lines),
        ..Share::default()
    };
    Subject::new(label, Profile { share: Some(share), ..Profile::default() })
}

fn texts(comparison: &ShareComparison) -> String {
    let parts = comparison.parts();
    let texts = parts.iter().filter_map(|part| match &part.body {
        Body::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_total_that_became_less_is_told_with_both_intervals_and_their_difference() {
    let (before, after) =
        (subject("old", of(0.44, 0.04, 9), vec![]), subject("new", of(0.03, 0.02, 9), vec![]));
    let comparison = compare_share(&before, &after).unwrap();
    let told = texts(&comparison);
    assert!(
        told.contains(
            "costs 44 % (40–48) of the CPU time in old and 3 % (1–5) in new: 41 points less (35–47)."
        ),
        "{told}"
    );
    assert!(told.contains("old is of `./old`, and new of `./new`"), "{told}");
    // As few rounds as tell a cost tell a difference.
    let six = |label, median| {
        let mut subject = subject(label, of(median, 0.02, 6), vec![]);
        let total = &mut subject.profile.share.as_mut().unwrap().total;
        (total.cpu_s, total.one_cpu_s) = (of(1.0, 0.1, 6), of(0.5, 0.1, 6));
        subject
    };
    let fewest = compare_share(&six("old", 0.44), &six("new", 0.03)).unwrap();
    assert_eq!(fewest.total.beyond_noise, Some(true));
    let difference = comparison.total.difference.unwrap();
    assert!((difference.median + 0.41).abs() < 1e-9 && comparison.total.beyond_noise == Some(true));
}

#[test]
fn intervals_that_overlap_do_not_separate_the_two() {
    let (before, after) =
        (subject("old", of(0.30, 0.04, 9), vec![]), subject("new", of(0.27, 0.04, 9), vec![]));
    let told = texts(&compare_share(&before, &after).unwrap());
    assert!(told.contains("3 points less (between 11 less and 5 more)."), "{told}");
    assert!(told.contains("the intervals do not separate the two"), "{told}");
    let few = texts(&compare_share(&subject("old", of(0.5, 0.01, 3), vec![]), &after).unwrap());
    assert!(few.contains("Too few rounds"), "{few}");
}

#[test]
fn a_total_that_is_withheld_has_its_reason() {
    let comparison =
        compare_share(&subject("old", of(0.3, 0.04, 9), vec![]), &subject("new", None, vec![])).unwrap();
    let told = texts(&comparison);
    assert!(told.contains("cannot be compared. new has no total: its threads spin."), "{told}");
    assert_eq!((comparison.total.difference, comparison.total.beyond_noise), (None, None));
    let neither = compare_share(&subject("old", None, vec![]), &subject("new", None, vec![])).unwrap();
    let told = texts(&neither);
    assert!(told.contains("Neither profile has a total: its threads spin."), "{told}");
}

#[test]
fn lines_disappear_appear_and_cost_more_or_less() {
    let before = vec![line("a", 0.3), line("b", 0.2), line("c", 0.1), line("d", 0.001)];
    let after = vec![line("e", 0.25), line("a", 0.1), line("c", 0.11)];
    let comparison = compare_share(&subject("old", None, before), &subject("new", None, after)).unwrap();
    let fates: Vec<_> =
        comparison.lines.as_ref().unwrap().iter().map(|line| (&*line.object, line.change)).collect();
    let expected = [
        ("a", Fate::Less),
        ("b", Fate::Disappeared),
        ("c", Fate::NotSeparated),
        ("d", Fate::Disappeared),
        ("e", Fate::Appeared),
    ];
    assert_eq!(fates, expected);
    let parts = comparison.parts();
    let table = parts.iter().find_map(|part| match &part.body {
        Body::Table(table) if table.id == "share-changes" => Some(table),
        _ => None,
    });
    let rows: Vec<_> = table.unwrap().rows.iter().map(|row| row.depth).collect();
    assert_eq!(rows[3], Depth::Detail, "what costs nothing that shows is left to those who want everything");
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["lines"][0]["change"], "less");
    assert_eq!(json["lines"][1]["after"], serde_json::Value::Null);
}

#[test]
fn lines_that_were_not_looked_for_have_not_disappeared() {
    let mut after = subject("new", of(0.3, 0.04, 9), vec![]);
    let share = after.profile.share.as_mut().unwrap();
    (share.lines, share.why_no_lines) = (None, Some("no file to record into".into()));
    let comparison = compare_share(&subject("old", of(0.3, 0.04, 9), vec![line("a", 0.3)]), &after).unwrap();
    assert_eq!(comparison.lines, None);
    let missing = comparison.parts().into_iter().any(|part| matches!(part.body, Body::Missing(_)));
    assert!(missing);
}

#[test]
fn what_has_no_such_section_is_refused() {
    let none = Subject::new("mine", Profile::default());
    let paper = Subject::only("published:kawabe-furuya/e5620").unwrap();
    let usual = subject("old", None, vec![]);
    let why = compare_share(&usual, &none).unwrap_err().to_string();
    assert!(why.contains("mine has no section `share`; `coho share -o FILE"), "{why}");
    let why = compare_share(&paper, &usual).unwrap_err().to_string();
    assert!(why.contains("published:kawabe-furuya/e5620") && why.contains("no paper"), "{why}");
}

#[test]
fn cpu_times_are_told_also_where_a_total_is_withheld() {
    let taking = |label, seconds| {
        let mut subject = subject(label, None, vec![]);
        subject.profile.share.as_mut().unwrap().total.cpu_s = of(seconds, 0.01, 9);
        subject
    };
    let told = |after| texts(&compare_share(&taking("old", 0.2), &taking("new", after)).unwrap());
    assert!(
        told(0.08).starts_with("old is of `./old`, and new of `./new`. new takes 0.40 times ("),
        "{}",
        told(0.08)
    );
    assert!(!told(0.205).contains("times ("), "{}", told(0.205));
}
