//! `coho watch`: whether the machine changed while a benchmark ran.

use serde_json::Value;

use crate::support::{coho, unwrapped};

#[test]
fn the_status_the_output_and_the_file_are_as_a_script_wants_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watched.json");
    let script = "echo of the command; exit 5";
    let output = coho(&["watch", "--json", "--repeat", "2", "-o"])
        .arg(&file)
        .args(["--", "sh", "-c", script])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "of the command\n", "a run that fails is the last");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap());
    assert!(printed["moved"].is_boolean());
    assert_eq!(printed["command"], serde_json::json!({"status": 5, "runs": 1}));
    let when: Vec<&str> =
        printed["windows"].as_array().unwrap().iter().map(|one| one["when"].as_str().unwrap()).collect();
    assert_eq!(when, ["before", "run 1", "after"]);
}

#[test]
fn people_get_the_command_s_output_and_then_what_was_seen() {
    let output = coho(&["watch", "--only-pauses", "--", "echo", "of the command"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = unwrapped(&String::from_utf8(output.stdout).unwrap());
    assert!(text.starts_with("of the command "), "{text}");
    assert!(
        text.contains("What happened during the runs was not seen.") || text.contains("The machine changed"),
        "{text}"
    );
    assert!(text.contains("before") && text.contains("after"), "{text}");
}

#[test]
fn a_program_that_is_not_there_ends_as_in_a_shell() {
    let status = coho(&["watch", "--", "/no/such/program"]).output().unwrap().status;
    assert_eq!(status.code(), Some(127));
}
