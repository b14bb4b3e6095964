//! `coho compare`: what differs between profiles, on 80 columns and as JSON.

use coho_profile::Profile;

use crate::report_profiles as profiles;
use crate::support::{fails, json, saved, succeeds, succeeds_in, unwrapped};

fn compare(a: &Profile, b: &Profile, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    a.write(&folder.path().join("a.json")).unwrap();
    b.write(&folder.path().join("b.json")).unwrap();
    succeeds_in(folder.path(), &[&["compare", "a.json", "b.json"], flags].concat())
}

/// The same machine, with sharing on a die so much slower.
fn slower(factor: f64) -> Profile {
    let mut profile = profiles::two_cpus();
    for pair in &mut profile.coherence.as_mut().unwrap().pairs {
        for value in [&mut pair.ns.median, &mut pair.ns.low, &mut pair.ns.high] {
            *value *= factor;
        }
    }
    profile
}

#[test]
fn a_profile_does_not_differ_from_itself() {
    let text = compare(&profiles::two_cpus(), &profiles::two_cpus(), &[]);
    assert!(text.contains("none differs beyond noise") && !text.contains("differ\n"), "{text}");
    let text = compare(&profiles::two_cpus(), &profiles::two_cpus(), &["--full"]);
    assert!(text.contains("1.00") && !text.contains("differ\n"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.trim_end().ends_with('≠')).collect();
    assert!(rows.is_empty(), "{rows:?}");
}

#[test]
fn a_difference_beyond_noise_is_marked_and_one_within_is_not() {
    for (factor, beyond) in [(1.005, false), (1.5, true)] {
        let json = json(&compare(&profiles::two_cpus(), &slower(factor), &["--json"]));
        let rows = json["figures"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == "pair.turn.on-die.ns").unwrap();
        assert_eq!(row["values"][1]["beyond_noise"], beyond, "{row:#}");
        let ratio = row["values"][1]["ratio"].as_f64().unwrap();
        assert!((ratio - factor).abs() < 1e-9);
    }
}

#[test]
fn facts_counts_and_verdicts_that_differ_are_told() {
    let mut b = profiles::two_modes();
    let host = b.host.as_mut().unwrap();
    host.kernel = Some("Linux 6.12".into());
    host.mitigations.insert("retbleed".into(), "Mitigation: untrained return thunk".into());
    b.topology.as_mut().unwrap().counts.l3 = 2;
    let text = compare(&profiles::two_cpus(), &b, &[]);
    for told in ["Linux 6.12", "mitigation retbleed", "Topology counts", "Verdicts", "unstable"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!text.contains("architecture"), "what is alike is not told: {text}");
}

#[test]
fn a_publication_shows_each_of_its_machines_within_80_columns() {
    let folder = saved(&profiles::two_cpus());
    let text = succeeds_in(folder.path(), &["compare", "mine.json", "published:kawabe-furuya"]);
    // Paper 1: 27.40 ns and 25.59 ns on one die.
    assert!(text.contains("27.4") && text.contains("25.6"), "{text}");
    let widest =
        text.lines().filter(|line| line.starts_with([' ', '─', '═'])).map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 80, "{widest:?}");
    let words = unwrapped(&text);
    assert!(words.contains("here over paper: the measured figure over the published one"), "{text}");
}

#[test]
fn a_publication_of_two_machines_cannot_be_what_is_compared_with() {
    let errors = fails(&["compare", "published:kawabe-furuya", "published:kawabe-furuya/e5620"], 1);
    assert!(errors.contains("published:kawabe-furuya/e5620"), "{errors}");
}

#[test]
fn a_hostile_profile_cannot_steer_the_terminal() {
    let text = compare(&profiles::hostile(), &profiles::two_cpus(), &[]);
    assert!(text.contains("example.invalid") || text.contains("script"), "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn empty_profiles_have_nothing_in_common() {
    let text = compare(&Profile::default(), &profiles::two_cpus(), &[]);
    assert!(text.contains("no figure in common"), "{text}");
}

#[test]
fn the_articles_tables_are_compared_with_each_other() {
    let published = |table: &str| format!("published:kimoto-bulldozer/{table}");
    let arguments = ["compare", &published("c6-off-stock"), &published("c6-off-patched"), "--json"];
    let json = json(&succeeds(&arguments));
    let rows = json["figures"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "workloads.pipe_context_switching.none.1.lps").unwrap();
    let ratio = row["values"][1]["ratio"].as_f64().unwrap();
    assert!((ratio - 154_689.4 / 192_096.2).abs() < 1e-9, "{row:#}");
}

#[test]
fn the_published_machine_most_like_this_one_is_named() {
    let nearest = |profile: &str, flags: &[&str]| {
        succeeds(&[&["compare", profile, "published:nearest"], flags].concat())
    };
    let whole = nearest("published:kcores/epyc-7302", &["--json"]);
    let whole = json(&whole);
    assert_eq!(whole["machines"], 20, "not beside itself");
    let first = &whole["nearest"][0];
    assert_eq!(first["kinship"], "vendor");
    assert!(first["factor"].as_f64().unwrap() < whole["nearest"][1]["factor"].as_f64().unwrap());
    assert!(first["classes"].as_array().unwrap().iter().any(|class| class["ratio"].is_f64()));
    let text = unwrapped(&nearest("published:kcores/epyc-7302", &[]));
    assert!(text.contains("Of 20 published machines, "), "{text}");
    assert!(
        text.contains(first["machine"].as_str().unwrap()) && !text.contains("no figure in common"),
        "{text}"
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("here.json");
    profiles::two_cpus().write(&file).unwrap();
    let text = unwrapped(&nearest(file.to_str().unwrap(), &[]));
    assert!(text.contains("Of 21 published machines, ") && text.contains("rests on one class"), "{text}");
    let none = fails(&["compare", "published:kawabe-furuya/e5620", "published:nearest"], 1);
    assert!(none.contains("no times of pairs of CPUs by compare-and-swap in turn"), "{none}");
}
