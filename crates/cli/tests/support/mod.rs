//! Running the command and looking at what it says.
#![allow(dead_code)] // each test file uses some of it

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coho_profile::Profile;
use serde_json::Value;

/// The command, with no colours and no terminal.
pub fn coho(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(arguments);
    command
}

pub fn run(arguments: &[&str]) -> Output {
    coho(arguments).output().unwrap()
}

/// Standard output of a run that succeeds.
pub fn succeeds(arguments: &[&str]) -> String {
    succeeds_in(Path::new("."), arguments)
}

/// The same of a run in a folder.
pub fn succeeds_in(folder: &Path, arguments: &[&str]) -> String {
    let output = coho(arguments).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "coho {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a run that ends with `status`.
pub fn fails(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "coho {arguments:?}: {errors}");
    assert!(output.stdout.is_empty(), "a failed run prints no result");
    errors
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Asserts that a profile follows what `coho schema` prints.
pub fn assert_valid(profile: &Value) {
    let schema = json(&succeeds(&["schema"]));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(profile).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// The report of a profile.
pub fn page(profile: &Profile) -> String {
    let folder = tempfile::tempdir().unwrap();
    profile.write(&folder.path().join("mine.json")).unwrap();
    succeeds_in(folder.path(), &["report", "mine.json", "-o", "page.html"]);
    std::fs::read_to_string(folder.path().join("page.html")).unwrap()
}

/// Asserts that a page holds each of these texts.
pub fn assert_shows(page: &str, what: &[&str]) {
    for text in what {
        assert!(page.contains(text), "{text}");
    }
}

/// A file of the topology crate's own dumps.
pub fn dump(name: &str) -> String {
    let dumps = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../topology/tests/dumps");
    dumps.join(name).to_string_lossy().into_owned()
}

/// Whether there are two CPUs to measure with; says so where there are not.
pub fn two_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !two {
        eprintln!("skipped: needs two CPUs");
    }
    two
}
