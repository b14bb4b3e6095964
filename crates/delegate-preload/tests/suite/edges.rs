//! What is easily got wrong by who makes a call for somebody else: the same results under the library and without it.

use std::path::PathBuf;
use std::process::Output;

use coho_testing::{Capability, needs};

use crate::common::{self, PATIENT, all, cases, delegated, later, texts};

fn program() -> PathBuf {
    common::program("edges", &["-D_FORTIFY_SOURCE=2"])
}

fn run(case: &str, calls: &str, patience: &str) -> Output {
    common::run(&program(), case, calls, patience)
}

fn same(case: &str) {
    needs!(Capability::CCompiler);
    let without = texts(&run(case, "", "")).0;
    for patience in ["", PATIENT] {
        let with = run(case, &all(), patience);
        assert_eq!(texts(&with).0, without, "{case} {patience}");
        assert!(delegated(&with).0 > 0, "{case}: {with:?}");
    }
    for calls in ["write:async".to_owned(), format!("write:async,{}", all())] {
        let with = run(case, &calls, "");
        assert_eq!(texts(&with).0, without, "{case} {calls}");
        assert!(later(&with) > 0, "{case}: {with:?}");
    }
}

cases! {
    fortified unmapped mapped flags limits special forks vforks cancellation_points interrupts stacks copies walks
    numbers_of_errors folders crowds measures beginnings inputs
}

#[test]
fn where_no_memory_is_left_calls_are_made_at_home() {
    needs!(Capability::CCompiler);
    for calls in ["write:async", "write"] {
        assert_eq!(texts(&run("exhaustion", calls, "")).0, "written\n", "{calls}");
    }
}

/// Afterwards the process has no thread that could act with the rights from before; changes of namespaces are refused to
/// those with several.
fn rights(cases: &[&str]) {
    needs!(Capability::CCompiler, Capability::OtherUsers);
    for case in cases {
        let without = texts(&run(case, "", "")).0;
        for calls in ["write:async".to_owned(), all(), format!("write:async,{}", all())] {
            for _ in 0..3 {
                assert_eq!(texts(&run(case, &calls, "")).0, without, "{case} {calls}");
            }
        }
    }
}

#[test]
fn namespaces() {
    rights(&["namespaces", "another_namespace", "own_table"]);
}

#[test]
fn users() {
    rights(&["users", "effective_user", "file_system_user"]);
}

#[test]
fn filters_and_capabilities() {
    rights(&["filters", "capabilities"]);
}
