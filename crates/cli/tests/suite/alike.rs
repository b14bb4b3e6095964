//! What all commands that measure do alike; the program itself lists them.

use std::fs;

use coho_testing::{Capability, needs};
use serde_json::Value;

use crate::support::{MEASURING, assert_refuses, assert_valid, json, output_in, succeeds_in};

#[test]
fn words_that_make_no_sense_are_named() {
    for command in MEASURING.iter().map(|words| words.join(" ")) {
        let refused = [
            ("--cpus one", 2, "one"),
            ("--cpus=", 2, "no CPU"),
            ("--cpus 60000", 1, "60000"),
            ("--time-limit never", 2, "never"),
            ("--time-limit 0", 2, "zero"),
            ("--seed x", 2, "x"),
            ("--quick -o /no/such/place/p.json", 1, "/no/such/place"),
            ("--quick -o /dev/null/p.json", 1, "p.json"),
        ];
        for (words, status, named) in refused {
            assert_refuses(&[(&format!("{command} {words}"), status, named)]);
        }
    }
}

/// Whether a run or a part of it says that it ended early.
fn is_interrupted(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("interrupted") == Some(&Value::Bool(true)) || fields.values().any(is_interrupted)
        }
        Value::Array(all) => all.iter().any(is_interrupted),
        _ => false,
    }
}

#[test]
fn a_time_limit_keeps_what_is_done_beside_what_the_profile_had() {
    needs!(Capability::TwoCpus);
    for command in MEASURING.iter() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.json");
        // A section of a later version, and one that the command does not measure.
        let before = r#"{"schema": "coho-profile/1", "later": {"kept": true}, "run": {"kept": true}}"#;
        fs::write(&file, before).unwrap();
        let limited = |limit| [command, &["--time-limit", limit, "--json", "-o", "p.json"][..]].concat();
        // Beside other work nothing may be done in so short a time, which is an error that changes nothing.
        let short = output_in(folder.path(), &limited("0.05"));
        let found = if short.status.success() {
            json(&String::from_utf8(short.stdout).unwrap())
        } else {
            let errors = String::from_utf8(short.stderr).unwrap();
            assert!(errors.contains("nothing was measured"), "{command:?}: {errors}");
            assert_eq!(fs::read_to_string(&file).unwrap(), before);
            json(&succeeds_in(folder.path(), &limited("2")))
        };
        let profile = json(&fs::read_to_string(&file).unwrap());
        assert_valid(&profile);
        assert!(is_interrupted(&found) && is_interrupted(&profile), "{command:?}: {found}");
        assert!(profile["later"]["kept"] == true && profile["run"]["kept"] == true, "{command:?}");
        assert!(profile["host"].is_object(), "{command:?}");
    }
}
