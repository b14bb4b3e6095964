//! Calls under the library and without it: the same results.

use std::path::PathBuf;
use std::process::{Command, Output};

use coho_testing::{Capability, needs};

use crate::common::{self, PATIENT, all, cases, delegated, in_small, later, library, texts};

fn program() -> PathBuf {
    common::program("semantics", &[])
}

fn run(case: &str, calls: &str, patience: &str) -> Output {
    common::run(&program(), case, calls, patience)
}

fn same(case: &str) {
    needs!(Capability::CCompiler);
    let without = texts(&run(case, "", "")).0;
    for calls in [all().as_str(), "write,pwrite", "stat,close"] {
        for patience in ["", "0", PATIENT] {
            let with = run(case, calls, patience);
            assert_eq!(texts(&with).0, without, "{case} {calls} {patience}");
            let (delegated, by_hosts) = delegated(&with);
            assert!(delegated > 0, "{case} {calls}");
            assert!(patience != PATIENT || by_hosts == delegated, "{case} {calls}: {delegated}, {by_hosts}");
        }
    }
    for calls in ["write:async", "write:async,stat,close,pwrite,read"] {
        assert_eq!(texts(&run(case, calls, "")).0, without, "{case} {calls}");
    }
}

cases! {
    errors: "errors"
    files: "files"
    signals_reach_the_caller_and_interrupt_it: "signals"
    a_number_that_was_a_file_s_is_looked_at_anew: "numbers"
    handlers_may_write: "handlers"
    lines_that_threads_append_stay_whole: "threads"
    children_make_their_calls_themselves: "children"
    delegation_ends_before_rights_change: "rights"
    cancelled_threads_end: "cancellation"
    what_a_thread_asks_of_itself_is_its_own: "own"
}

#[test]
fn writes_done_later_are_seen_by_all_that_looks() {
    needs!(Capability::CCompiler);
    let (without, with) = (run("later", "", ""), run("later", "write:async", PATIENT));
    assert_eq!(texts(&with).0, texts(&without).0);
    assert!(later(&with) > 1000, "{with:?}");
}

#[test]
fn an_error_of_a_write_done_later_is_told_once() {
    needs!(Capability::CCompiler, Capability::Mounts);
    let (without, with) = (in_small(&program(), "full", ""), in_small(&program(), "full", "write:async"));
    assert_eq!(without.0, "written in order\nerror ENOSPC\nunreported 0\n", "{without:?}");
    assert_eq!(with.0, without.0, "{with:?}");
}

#[test]
fn an_error_of_a_write_done_later_is_its_open_file_s() {
    needs!(Capability::CCompiler, Capability::Mounts);
    let without = in_small(&program(), "doubles", "");
    assert_eq!(without.0.matches("told 1, then 0 0\n").count(), 8, "{without:?}");
    for calls in ["write:async", &format!("write:async,{}", all())] {
        assert_eq!(in_small(&program(), "doubles", calls), without, "{calls}");
    }
}

/// Whatever the moment, the file is the beginning of what was written.
#[test]
fn a_killed_program_leaves_a_beginning() {
    needs!(Capability::CCompiler);
    for calls in ["write", "write:async"] {
        for milliseconds in (5..100).step_by(7) {
            let folder = tempfile::tempdir().unwrap();
            let mut command = Command::new(program());
            command.arg("count").current_dir(&folder);
            command.env("LD_PRELOAD", library()).env("COHO_DELEGATE", calls);
            let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(milliseconds));
            child.kill().unwrap();
            child.wait().unwrap();
            let lines = std::fs::read_to_string(folder.path().join("lines")).unwrap_or_default();
            let whole = lines.rfind('\n').map_or("", |end| &lines[..end]);
            for (number, line) in whole.lines().enumerate() {
                assert_eq!(line, number.to_string(), "{calls}");
            }
        }
    }
}

#[test]
fn nonsense_is_said_and_nothing_delegated() {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    for (calls, cpus, expected) in [
        ("getpid", "", "coho delegate: COHO_DELEGATE: \"getpid\" cannot be delegated\n"),
        (
            "stat",
            "x",
            "coho delegate: COHO_DELEGATE_CPUS must be a list of CPUs, such as 2,3 or 2,3 write=4\n",
        ),
        ("stat", "8000", "the program makes its calls itself\n"),
    ] {
        let mut command = Command::new(program());
        command.arg("errors").current_dir(&folder).env("LD_PRELOAD", library());
        let output = command.env("COHO_DELEGATE", calls).env("COHO_DELEGATE_CPUS", cpus).output().unwrap();
        assert!(output.status.success() && texts(&output).1.ends_with(expected), "{output:?}");
    }
}
