//! Lines that a program's threads share.

use coho_profile::{Profile, Share, ShareFix, ShareKind, ShareLine};

use super::{does_not_say, estimate, says};

/// A program with a line of this cost, by so many rounds.
fn program(cost: f64, rounds: u64, kind: ShareKind, fix: Option<ShareFix>) -> Profile {
    let line = ShareLine {
        object: "global stats".into(),
        kind,
        threads: 2,
        lines: 1,
        at: vec!["server.c:140".into()],
        cost_share: Some(estimate(cost, rounds)),
        fix,
        ..ShareLine::default()
    };
    let share = Share { command: vec!["./server".into()], lines: Some(vec![line]), ..Share::default() };
    Profile { share: Some(share), ..Profile::default() }
}

#[test]
fn a_dear_line_is_found_with_its_fix() {
    let fix = |proved| {
        Some(ShareFix {
            what: "align `misses` to 64 bytes".into(),
            saves: Some(estimate(0.2, 6)),
            proved,
            patch: None,
        })
    };
    let found = says(
        &program(0.24, 6, ShareKind::False, fix(false)),
        "line-shared",
        &["False sharing of a line (global stats) costs ./server 24 %", "server.c:140"],
    );
    assert!(
        found.next.contains("align `misses`") && found.next.contains("predicted to save 20 %"),
        "{found:?}"
    );
    let proved = says(&program(0.24, 6, ShareKind::False, fix(true)), "line-shared", &[]);
    assert!(proved.next.contains("% when coho padded it"), "{proved:?}");
    let truly = says(&program(0.3, 6, ShareKind::True, None), "line-shared", &["True sharing"]);
    assert!(truly.act.is_empty(), "{truly:?}");
}

#[test]
fn a_cheap_line_or_one_of_few_rounds_is_none() {
    does_not_say(&program(0.03, 6, ShareKind::False, None), "line-shared");
    does_not_say(&program(0.24, 5, ShareKind::False, None), "line-shared");
    does_not_say(&Profile::default(), "line-shared");
}
