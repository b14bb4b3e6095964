//! `coho doctor`, whatever is lacking.

use std::collections::BTreeSet;

use coho_platform::pin;
use coho_testing::{Capability, needs};

use crate::support::{coho, json, succeeds};

fn lacking(text: &str) -> BTreeSet<String> {
    let rows = json(text);
    let rows = rows.as_array().unwrap();
    assert!(rows.len() >= 12, "{text}");
    let text = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().to_owned();
    for row in rows {
        assert!(!text(row, "what").is_empty() && !text(row, "why").is_empty(), "{row}");
        let is_fine = text(row, "state") == "fine";
        assert_eq!(text(row, "costs").is_empty(), is_fine, "{row}");
    }
    rows.iter().filter(|row| row["state"] != "fine").map(|row| text(row, "what")).collect()
}

#[test]
fn the_page_has_every_row_of_the_json_in_forty_lines() {
    let told = lacking(&succeeds(&["doctor", "--json"]));
    let page = succeeds(&["doctor"]);
    assert!(page.lines().count() <= 40, "{page}");
    for what in told {
        let lines: Vec<&str> = page.lines().skip_while(|line| !line.starts_with(&what)).collect();
        assert!(lines.iter().any(|line| line.starts_with("  costs")), "{what}: {page}");
    }
}

#[test]
fn a_mask_and_a_missing_home_are_told_and_are_no_failure() {
    needs!(Capability::TwoCpus);
    let cpu = pin::allowed().unwrap().iter().take(1).collect();
    // A thread of its own, whose mask the command inherits.
    let narrow = std::thread::spawn(move || {
        pin::confine(&cpu).unwrap();
        coho(&["doctor", "--json"]).env_remove("HOME").env_remove("XDG_STATE_HOME").output().unwrap()
    });
    let done = narrow.join().unwrap();
    let told = lacking(&String::from_utf8(done.stdout).unwrap());
    assert!(done.status.success() && told.contains("CPUs") && told.contains("state"), "{told:?}");
}
