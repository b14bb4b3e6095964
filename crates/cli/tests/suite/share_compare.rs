//! `coho share compare`: a program before and after a change.

use std::path::Path;

use coho_profile::{Estimate, Profile, Share, ShareKind, ShareLine, ShareTotal};

use crate::support::{coho, fails_in, json, succeeds_in, unwrapped};

fn cost(median: f64) -> Option<Estimate> {
    let (low, high) = (median - 0.03, median + 0.03);
    Some(Estimate { low, high, min: low, n: 9, ..Estimate::exact(median) })
}

fn write(folder: &Path, name: &str, total: f64, lines: &[(&str, f64)]) {
    let line = |&(object, median): &(&str, f64)| ShareLine {
        object: object.into(),
        kind: ShareKind::False,
        cost_share: cost(median),
        ..ShareLine::default()
    };
    let total = ShareTotal { share_of_cpu_time: cost(total), ..ShareTotal::default() };
    let lines = Some(lines.iter().map(line).collect());
    let share =
        Share { command: vec!["./server".into()], cpus: vec![0, 1], total, lines, ..Share::default() };
    Profile { share: Some(share), ..Profile::default() }.write(&folder.join(name)).unwrap();
}

#[test]
fn totals_and_lines_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "before.json", 0.44, &[("global stats", 0.3), ("allocated at queue.c:88", 0.1)]);
    write(folder.path(), "after.json", 0.13, &[("allocated at queue.c:90", 0.1), ("global new", 0.06)]);
    let compare = ["share", "compare", "before.json", "after.json"];
    let told = unwrapped(&succeeds_in(folder.path(), &compare));
    assert!(
        told.contains(
            "44 % (41–47) of the CPU time in before and 13 % (10–16) in after: 31 points less (25–37)."
        ),
        "{told}"
    );
    for row in ["global stats false 30 % (27–33) – disappeared", "global new false – 6 % (3–9) appeared"]
    {
        assert!(told.contains(row), "{row}: {told}");
    }
    let value = json(&succeeds_in(folder.path(), &[&compare[..], &["--json"]].concat()));
    assert_eq!(value["profiles"], serde_json::json!(["before", "after"]));
    assert_eq!(value["total"]["beyond_noise"], true);
    let fates: Vec<_> =
        value["lines"].as_array().unwrap().iter().map(|line| line["change"].clone()).collect();
    assert_eq!(fates, ["disappeared", "not-separated", "appeared"]);
    assert_eq!(value["lines"][1]["object_after"], "allocated at queue.c:90");
    // What `coho compare` says of the same figures.
    let both = json(&succeeds_in(folder.path(), &["compare", "before.json", "after.json", "--json"]));
    let row = both["figures"].as_array().unwrap().iter().find(|row| row["id"] == "share../server.cost");
    assert_eq!(row.unwrap()["values"], value["figures"][0]["values"]);
}

#[test]
fn what_has_no_such_section_is_refused_and_a_program_of_that_name_runs() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "before.json", 0.44, &[]);
    Profile::default().write(&folder.path().join("other.json")).unwrap();
    let refused =
        |second: &str, status| fails_in(folder.path(), &["share", "compare", "before.json", second], status);
    assert!(refused("other.json", 1).contains("other has no section `share`"));
    assert!(refused("published:kawabe-furuya/e5620", 1).contains("no paper measured what a program shares"));
    assert!(refused("absent.json", 1).contains("absent.json"));
    let missing = coho(&["share", "compare", "before.json"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    let absent = coho(&["share", "--", "compare"]).env("PATH", folder.path()).output().unwrap();
    assert_eq!(absent.status.code(), Some(127), "{absent:?}");
}
