//! `coho counters` as scripts and people call it, on machines with performance counters and without.

use serde_json::{Value, json};

use crate::support::{assert_valid, json as parse, succeeds};

fn section(text: &str) -> Value {
    let section = parse(text);
    assert_valid(&json!({"schema": "coho-profile/1", "counters": section}));
    section
}

#[test]
fn tools_events_and_the_instruction_under_the_names_that_scripts_ask_for() {
    let found = section(&succeeds(&["counters", "--quick", "--json"]));
    let rdpmc = &found["rdpmc"];
    match rdpmc["available"].as_bool().unwrap() {
        true => assert!(rdpmc["trapped"].is_boolean() && rdpmc["ns"]["median"].is_number(), "{rdpmc}"),
        false => assert!(
            rdpmc["trapped"].is_null() && rdpmc["ns"].is_null() && rdpmc["note"].is_string(),
            "{rdpmc}"
        ),
    }
    for tool in found["tools"].as_array().unwrap() {
        assert!(tool["name"].is_string(), "{tool}");
        for side in ["user", "kernel"] {
            for column in ["L1DR", "L1DM", "L1IM", "L2M", "L3M", "INS", "CYCLE", "STALL"] {
                let figure =
                    tool[side].get(column).unwrap_or_else(|| panic!("{side} lacks {column}: {tool}"));
                assert!(figure.is_null() || figure["median"].is_number(), "{figure}");
            }
        }
        // A dash needs a reason.
        let nothing = tool["ns"].is_null() && tool["user"].as_object().unwrap().values().all(Value::is_null);
        assert!(!nothing || tool["not_available"].is_string(), "{tool}");
    }
    for event in found["events"].as_array().unwrap() {
        assert!(
            event["passed"].is_boolean() && event["event"].is_string() && event["name"].is_string(),
            "{event}"
        );
        assert!(
            event["chosen"] == false || event["passed"] == true,
            "what fails its test is not used: {event}"
        );
    }
}

#[test]
fn a_page_of_80_columns_with_the_published_table() {
    for arguments in [&["counters", "--quick"][..], &["counters", "--quick", "--full"]] {
        let told = succeeds(arguments);
        assert!(told.contains("RDPMC"), "{told}");
        assert_eq!(told.contains("5741"), arguments.contains(&"--full"), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    }
}
