//! `coho compare --claims` from outside.

use std::path::Path;

use coho_profile::{Estimate, Profile};

use crate::support::{fails, json, succeeds};

#[test]
fn a_papers_own_figures_meet_its_claims() {
    let judged = json(&succeeds(&["compare", "--claims", "published:hamada-dimmnet", "--json"]));
    let judged = judged.as_array().unwrap();
    for one in judged {
        let mut fields: Vec<&str> = one.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["claim", "here", "paper", "source", "verdict", "why"]);
        assert_ne!(one["verdict"], "does not hold", "{one}");
    }
    let quarter =
        judged.iter().find(|one| one["claim"].as_str().unwrap().contains("a quarter of those")).unwrap();
    assert_eq!(
        (&quarter["verdict"], &quarter["paper"]),
        (&"holds".into(), &"Hamada et al., about 2001".into())
    );
    assert!(quarter["here"].as_str().unwrap().contains("0.20x"), "{quarter}");
}

#[test]
fn the_table_keeps_to_the_page_and_names_what_would_tell() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    Profile::default().write(&file).unwrap();
    let file = file.to_str().unwrap();
    let shown = succeeds(&["compare", "--claims", file]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(
        !shown.contains("hold here")
            && !shown.contains("holds here")
            && shown.contains("coho coherence -o PROFILE"),
        "{shown}"
    );
    let paper = succeeds(&["compare", "--claims", "published:hamada-dimmnet"]);
    assert!(!shown.contains("would decide") && shown.contains("stays open if"), "{shown}");
    assert!(!paper.contains("Commands that"), "nothing measures the paper's machine: {paper}");
    let judged = json(&succeeds(&["compare", "--claims", file, "--json"]));
    assert!(judged.as_array().unwrap().iter().all(|one| one["verdict"] == "cannot be told"));
    let c6 =
        judged.as_array().unwrap().iter().find(|one| one["claim"].as_str().unwrap().contains("C6")).unwrap();
    assert!(c6["why"].as_str().unwrap().contains("--without-idle C6"), "{c6}");
    let all = judged.as_array().unwrap().len();
    assert!(shown.starts_with(&format!("Of {all} conclusions, {all} cannot be told.\n")), "{shown}");
}

/// One figure without an interval decides nothing, as a profile that a paper did not print tells it.
#[test]
fn a_single_sample_is_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let paper = coho_profile::published::read("kawabe-furuya/x7560").unwrap().machines.remove(0).1;
    let judged = |profile: &Profile| {
        profile.write(&file).unwrap();
        json(&succeeds(&["compare", "--claims", file.to_str().unwrap(), "--json"]))
    };
    let single = judged(&paper);
    assert!(single.as_array().unwrap().iter().all(|one| one["verdict"] == "cannot be told"), "{single}");
    let mut measured = paper;
    let coherence = measured.coherence.as_mut().unwrap();
    let many = |ns: &mut Estimate| ns.n = 100;
    coherence.pairs.iter_mut().for_each(|pair| many(&mut pair.ns));
    for single in &mut coherence.singles {
        many(&mut single.locked_ns);
        many(&mut single.unlocked_ns);
    }
    let judged = judged(&measured);
    let holds = judged.as_array().unwrap().iter().filter(|one| one["verdict"] == "holds").count();
    assert!(holds >= 8, "{judged}");
    // A profile that was measured says how far that goes; a published one has no run.
    let host = measured.host.as_mut().unwrap();
    (host.date, host.coho_version) = (Some("2026-11-23T08:00:00Z".into()), Some("0.1.0".into()));
    measured.write(&file).unwrap();
    let goes = "as good as the run that measured its figures";
    let told = |of: &str| succeeds(&["compare", "--claims", of]).replace('\n', " ");
    let shown = told(file.to_str().unwrap());
    assert!(shown.contains(goes), "{shown}");
    assert!(!shown.contains("2026"), "the profile's date is that of its last section: {shown}");
    assert!(!told("published:kawabe-furuya/x7560").contains(goes));
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    assert!(fails(&["compare", "--claims", "published:kawabe-furuya"], 1).contains("has 2 machines"));
    assert!(fails(&["compare", "--claims", "a.json", "b.json", "c.json"], 2).contains("--claims"));
    assert!(fails(&["compare"], 2).contains("required"));
    assert!(!Path::new("a.json").exists());
}
