//! `coho findings`, and what of it stands at the head of the survey and the report.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use coho_profile::{Estimate, Home, PairMethod, PlacementTime, Profile, Runs, Trial};
use serde_json::Value;

use crate::report_profiles::{self, HOSTILE, Shape};
use crate::support::{self, coho, fails, json, page, saved, succeeds, succeeds_in};

/// Two packages of two L3s of two cores.
fn machine() -> Profile {
    let shape = Shape { packages: 2, l3s: 2, cores: 2, threads: 1 };
    report_profiles::profile(&shape, &[(PairMethod::Turn, Home::A)])
}

/// It claims a core and an L3 for each CPU, which its times do not bear out, and its one trial is of a hostile program.
fn hostile() -> Profile {
    let claimed = Shape { packages: 1, l3s: 1, cores: 8, threads: 1 };
    let topology = report_profiles::profile(&claimed, &[]).topology;
    let best = PlacementTime { name: "spread".into(), ..PlacementTime::default() };
    let times_best = Some(Estimate { low: 1.9, high: 2.1, n: 40, ..Estimate::exact(2.0) });
    let other = PlacementTime { name: HOSTILE.into(), times_best, ..PlacementTime::default() };
    let trial = Trial {
        best: Some("spread".into()),
        winners: vec!["spread".into()],
        decided: true,
        placements: vec![best, other],
        ..Trial::default()
    };
    let run = Some(Runs { commands: [(HOSTILE.to_owned(), trial)].into(), ..Runs::default() });
    Profile { topology, run, ..machine() }
}

fn list(text: &str) -> Vec<Value> {
    json(text).as_array().unwrap().clone()
}

#[test]
fn scripts_get_a_list_whose_evidence_stands_in_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let profile = machine();
    profile.write(&folder.path().join("mine.json")).unwrap();
    let all = list(&succeeds_in(folder.path(), &["findings", "mine.json", "--json"]));
    assert!(all.len() > 2, "{all:?}");
    let file = json(&profile.to_json());
    for finding in &all {
        let mut keys: Vec<_> = finding.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["act", "brief", "condition", "evidence", "id", "level", "next", "text"]);
        assert!(["warning", "advice", "note"].contains(&finding["level"].as_str().unwrap()), "{finding}");
        for pointer in finding["evidence"].as_array().unwrap() {
            assert!(file.pointer(pointer.as_str().unwrap()).is_some(), "{finding}");
        }
    }
    let ids: Vec<_> = all.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"pin-team") && ids.contains(&"sharing-cost"), "{ids:?}");
}

#[test]
fn people_get_marks_and_lines_that_fit() {
    let folder = saved(&hostile());
    let text = succeeds_in(folder.path(), &["findings", "mine.json"]);
    assert!(text.starts_with(" 1 ! ") && text.contains("\n 2 > ") && text.contains(" - "), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let broken = |line: &&str| line.chars().count() > 80 && line.split_whitespace().count() > 1;
    assert_eq!(text.lines().find(broken), None);
    machine().write(&folder.path().join("mine.json")).unwrap();
    let mut narrow = coho(&["findings", "mine.json", "--full"]);
    let narrow = narrow.current_dir(folder.path()).env("COLUMNS", "50").output().unwrap();
    let full = String::from_utf8(narrow.stdout).unwrap();
    assert!(full.lines().all(|line| line.chars().count() <= 50), "{full}");
    assert!(full.contains("\n   rests on /") && !text.contains("rests on"), "{full}");
    assert!(
        succeeds(&["findings", "published:nakamura-fbs"])
            .starts_with("This profile's figures support no finding")
    );
    assert_eq!(succeeds(&["findings", "published:nakamura-fbs", "--json"]).trim(), "[]");
}

#[test]
fn a_machine_is_named_where_there_are_several() {
    assert!(fails(&["findings", "published:kawabe-furuya"], 1).contains("published:kawabe-furuya/e5620"));
    assert_eq!(list(&succeeds(&["findings", "published:kawabe-furuya/e5620", "--json"])).len(), 1);
}

fn write_dated(folder: &Path, name: &str, profile: &Profile, age: Duration) {
    let path = folder.join(name);
    profile.write(&path).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn without_a_name_it_is_the_newest_survey_here_or_what_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let run = || {
        let mut command = coho(&["findings", "--json"]);
        command.current_dir(folder.path()).env("XDG_STATE_HOME", &state).output().unwrap()
    };
    let none = run();
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8(none.stderr).unwrap().contains("coho survey"));
    let count = |output: std::process::Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        list(&String::from_utf8(output.stdout).unwrap()).len()
    };
    fs::create_dir_all(state.join("coho")).unwrap();
    Profile::default().write(&state.join("coho/profile.json")).unwrap();
    assert_eq!(count(run()), 0, "what is remembered");
    let minute = Duration::from_secs(60);
    write_dated(folder.path(), "coho-2026-11-21T21-30-00Z.json", &machine(), minute);
    write_dated(folder.path(), "coho-2026-11-20T21-30-00Z.json", &Profile::default(), 2 * minute);
    write_dated(folder.path(), "coho-notes.json", &Profile::default(), Duration::ZERO);
    assert!(count(run()) > 2, "the newest");
}

#[test]
fn the_report_opens_with_them_and_shows_names_harmlessly() {
    let page = page(&hostile());
    let (before, after) = page.split_once("id=\"findings\"").unwrap();
    assert!(!before.trim_end_matches("<section ").contains("<section"), "a section stands before");
    let (head, _) = after.split_once("</section>").unwrap();
    assert!(head.contains("class=\"warning\"") && head.contains("class=\"advice\""), "{head}");
    assert!(head.contains("<code>coho run --place"), "{head}");
    assert!(head.contains("&lt;script&gt;") && !head.contains("<script"), "{head}");
    let nothing = support::page(&Profile::default());
    assert!(nothing.split_once("id=\"findings\"").unwrap().1.contains("figures support no finding"));
}

/// A summary as text, 80 columns wide.
#[derive(Default)]
struct Written(Vec<u8>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl coho_show::visible::Paint for Written {
    fn paint(&mut self, own: &str) -> std::io::Result<()> {
        std::io::Write::write_all(self, own.as_bytes())
    }
}

fn summary(profile: Profile) -> String {
    let subject = coho_show::Subject::new("mine", profile).answered();
    let mut out = Written::default();
    coho_show::summary::write(&mut out, &subject, false, &[]).unwrap();
    String::from_utf8(out.0).unwrap()
}

#[test]
fn the_summary_of_any_machine_fits_a_terminal_and_its_findings_half_of_it() {
    let matrices = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/matrices");
    let files = matrices.read_dir().unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "csv"));
    let read = |path: std::path::PathBuf| {
        let matrix = coho_model::Matrix::parse(&fs::read_to_string(path).unwrap()).unwrap();
        Profile { coherence: Some(coho_model::coherence_from_matrix(&matrix)), ..Profile::default() }
    };
    let profiles: Vec<Profile> = files.map(read).chain([machine(), hostile()]).collect();
    assert!(profiles.len() > 20, "{}", profiles.len());
    for profile in profiles {
        let text = summary(profile);
        // The survey adds an empty line and the names of three files.
        assert!(text.lines().count() <= 36, "{} lines: {text}", text.lines().count());
        let head = text.split("\n\n").take(2).map(|block| block.lines().count());
        assert!(head.sum::<usize>() <= 25, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    let contradicted = summary(hostile());
    assert!(contradicted.contains("\ntopology: not as claimed: "), "{contradicted}");
}

#[test]
fn a_finding_is_explained_by_its_number() {
    let folder = saved(&hostile());
    let all = list(&succeeds_in(folder.path(), &["findings", "mine.json", "--json"]));
    let one = succeeds_in(folder.path(), &["findings", "mine.json", "--explain", "2"]);
    assert!(one.starts_with(" > ") && one.contains("\n   (") && one.contains("\n   rests on /"), "{one}");
    let as_json = succeeds_in(folder.path(), &["findings", "mine.json", "--explain", "2", "--json"]);
    assert_eq!(json(&as_json), all[1]);
    let refused =
        coho(&["findings", "mine.json", "--explain", "99"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains(&format!("from 1 to {}", all.len())), "{said}");
}
