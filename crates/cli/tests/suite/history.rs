//! What a survey of a host knows of earlier ones, with histories made up for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use coho_testing::{Capability, alone, needs};
use serde_json::{Value, json};

use crate::support::{assert_valid, coho, first_cpus, json as parse, unwrapped};

/// A folder for state, with a history if one is given.
struct State(tempfile::TempDir);

impl State {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("coho")).unwrap();
        Self(folder)
    }

    fn history(&self) -> PathBuf {
        self.0.path().join("coho/history.json")
    }

    fn surveys(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.history()).unwrap();
        parse(&text)["surveys"].as_array().unwrap().clone()
    }

    fn write(&self, surveys: &[Value]) {
        let log = json!({"schema": "coho-history/1", "surveys": surveys});
        fs::write(self.history(), log.to_string()).unwrap();
    }

    fn measure(&self, more: &[&str]) -> Output {
        let cpus = first_cpus(2);
        let all = ["coherence", "--quick", "--no-reads", "--cpus", &cpus];
        let _alone = alone();
        let done = coho(&[&all[..], more].concat()).env("XDG_STATE_HOME", self.0.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done
    }

    fn section(&self, more: &[&str]) -> Value {
        let text = String::from_utf8(self.measure(&[more, &["--json"]].concat()).stdout).unwrap();
        let section = parse(&text);
        assert_valid(&json!({"schema": "coho-profile/1", "coherence": section}));
        section
    }
}

/// The survey of the same host with every step so many times as long.
fn times(survey: &Value, factor: f64) -> Value {
    let mut survey = survey.clone();
    for step in survey["steps_ns"].as_object_mut().unwrap().values_mut() {
        for name in ["median", "low", "high", "min"] {
            step[name] = json!(step[name].as_f64().unwrap() * factor);
        }
        let value = step["median"].clone();
        step["modes"] = json!([{"value": value, "share": 1.0}]);
    }
    survey
}

#[test]
fn the_next_survey_knows_the_earlier_ones() {
    needs!(Capability::TwoCpus);
    let state = State::new();
    let first = state.section(&[]);
    assert_eq!((&first["history"]["surveys"], &first["history"]["disagree"]), (&json!(0), &json!(0)));
    let kept = state.surveys();
    assert_eq!(kept.len(), 1);
    // Far from any mode that the present one may have, on either side.
    let far = times(&kept[0], 1000.0);
    let mut elsewhere = far.clone();
    elsewhere["host"]["boot"] = json!("another boot");
    state.write(&[far.clone(), elsewhere, far]);
    let second = state.section(&[]);
    assert_eq!((&second["history"]["surveys"], &second["history"]["disagree"]), (&json!(2), &json!(2)));
    let modes = second["history"]["modes_ns"].as_array().unwrap();
    assert!(modes.len() >= 2 && modes.is_sorted_by(|a, b| a.as_f64() < b.as_f64()), "{modes:?}");
    let notes = second["notes"].to_string();
    assert!(notes.contains("ns in 2 of 2 other surveys in the last"), "{notes}");
    assert_eq!(state.surveys().len(), 4, "it is kept itself");
    let told = String::from_utf8(state.measure(&[]).stdout).unwrap();
    assert!(unwrapped(&told).contains("other surveys in the last"), "{told}");
}

#[test]
fn without_history_nothing_is_read_or_written() {
    needs!(Capability::TwoCpus);
    let state = State::new();
    let section = state.section(&["--no-history"]);
    assert!(section.get("history").is_none() && !state.history().exists());
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("mine.json");
    let done = coho(&["survey", "--quick", "--no-history", "--time-limit", "3", "--json", "-o"])
        .arg(&profile)
        .env("XDG_STATE_HOME", state.0.path())
        .output()
        .unwrap();
    assert!(done.status.success());
    assert!(parse(&String::from_utf8(done.stdout).unwrap())["coherence"].get("history").is_none());
    assert!(!state.history().exists());
}

#[test]
fn a_survey_keeps_its_own_and_writes_it_into_the_profile() {
    needs!(Capability::TwoCpus);
    let state = State::new();
    let folder = tempfile::tempdir().unwrap();
    for earlier in 0..2 {
        let done = coho(&["survey", "--quick", "--json", "-o", "mine.json"])
            .current_dir(folder.path())
            .env("XDG_STATE_HOME", state.0.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let printed = parse(&String::from_utf8(done.stdout).unwrap());
        let read = parse(&fs::read_to_string(folder.path().join("mine.json")).unwrap());
        assert_eq!(printed["coherence"]["history"], read["coherence"]["history"]);
        assert_eq!(printed["coherence"]["history"]["surveys"], json!(earlier));
    }
}

#[test]
fn a_profile_from_elsewhere_never_meets_the_history() {
    let state = State::new();
    fs::write(state.history(), "not even JSON").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("matrix.csv"), "\n25\n90,92\n91,93,26\n").unwrap();
    let done = coho(&["coherence", "--from", "matrix.csv", "--json"])
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", state.0.path())
        .output()
        .unwrap();
    let section = parse(&String::from_utf8(done.stdout).unwrap());
    assert!(section.get("history").is_none());
    assert!(section["method"]["not_available"].get("history").is_none(), "{section}");
}

/// The history that stands there is no history: named, left alone, and the survey goes on. Returns why.
fn is_ignored(state: &State) -> String {
    let before = fs::read(state.history());
    let section = state.section(&[]);
    assert_eq!(section["history"]["surveys"], json!(0));
    let why = section["method"]["not_available"]["history"].as_str().unwrap_or_else(|| panic!("{section}"));
    assert!(why.contains("history.json"), "{why}");
    assert!(section["pairs"].as_array().is_some_and(|pairs| !pairs.is_empty()));
    assert_eq!(fs::read(state.history()).ok(), before.ok());
    assert!(String::from_utf8(state.measure(&[]).stdout).unwrap().contains("history"));
    why.to_owned()
}

#[test]
fn what_is_no_history_is_named_and_left_alone() {
    needs!(Capability::TwoCpus);
    let state = State::new();
    for text in ["", "{\"schema\":", "[]", "\u{0}\u{0}"] {
        fs::write(state.history(), text).unwrap();
        assert!(is_ignored(&state).contains("delete it"));
    }
    // Of a later version, whatever it keeps.
    for rest in ["\"surveys\": []", "\"hosts\": {}"] {
        fs::write(state.history(), format!("{{\"schema\": \"coho-history/9\", {rest}}}")).unwrap();
        let why = is_ignored(&state);
        assert!(why.contains("coho-history/9") && !why.contains("delete"), "{why}");
    }
    let huge = fs::File::create(state.history()).unwrap();
    huge.set_len(1 << 36).unwrap();
    drop(huge);
    let section = state.section(&[]);
    assert!(section["method"]["not_available"]["history"].as_str().unwrap().contains("longer than"));
}

#[test]
fn links_and_others_files_are_not_followed() {
    needs!(Capability::TwoCpus);
    let state = State::new();
    let target = state.0.path().join("elsewhere");
    fs::write(&target, "{\"schema\": \"coho-history/1\", \"surveys\": []}").unwrap();
    std::os::unix::fs::symlink(&target, state.history()).unwrap();
    is_ignored(&state);
    assert!(state.history().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "{\"schema\": \"coho-history/1\", \"surveys\": []}");
    needs!(Capability::Root);
    fs::remove_file(state.history()).unwrap();
    fs::write(state.history(), "{\"schema\": \"coho-history/1\", \"surveys\": []}").unwrap();
    std::os::unix::fs::chown(state.history(), Some(65_534), None).unwrap();
    is_ignored(&state);
}

#[test]
fn surveys_at_the_same_time_lose_nothing() {
    needs!(Capability::TwoCpus);
    let state = State::new();
    let start = |folder: &Path| {
        let cpus = first_cpus(2);
        let all = ["coherence", "--quick", "--no-reads", "--method", "turn", "--cpus", &cpus, "--json"];
        coho(&all).env("XDG_STATE_HOME", folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let running: Vec<_> = (0..8).map(|_| start(state.0.path())).collect();
    let outputs = running.into_iter().map(|child| child.wait_with_output().unwrap());
    // Of sixteen threads on two CPUs some may never meet their partners.
    let met = |output: Output| {
        serde_json::from_slice::<Value>(&output.stdout).is_ok_and(|it| it.get("history").is_some())
    };
    let met = outputs.filter(|output| output.status.success()).map(met).filter(|met| *met).count();
    assert!(met > 0);
    assert_eq!(state.surveys().len(), met);
}

/// An audit has other pairs, and a line at another home other times.
#[test]
fn only_the_same_pairs_and_homes_are_compared() {
    needs!(Capability::TwoCpus);
    let state = State::new();
    let surveys =
        |home: &str| state.section(&["--method", "turn", "--home", home])["history"]["surveys"].clone();
    assert_eq!((surveys("a"), surveys("b"), surveys("a")), (json!(0), json!(0), json!(1)));
}

/// `sudo` may keep the user's HOME. The survey goes on, and root leaves no file there.
#[test]
fn in_another_users_home_no_history_is_kept() {
    needs!(Capability::TwoCpus, Capability::Root);
    let state = State::new();
    fs::remove_dir(state.0.path().join("coho")).unwrap();
    std::os::unix::fs::chown(state.0.path(), Some(65_534), None).unwrap();
    let section = state.section(&[]);
    let why = section["method"]["not_available"]["history"].as_str().unwrap();
    assert!(why.contains("belongs to another user"), "{why}");
    assert!(section.get("history").is_none() || section["history"]["surveys"] == json!(0), "{section}");
    assert_eq!(fs::read_dir(state.0.path()).unwrap().count(), 0);
}
