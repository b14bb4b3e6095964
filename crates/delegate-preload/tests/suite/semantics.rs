//! Calls under the library and without it: the same results.

use std::path::PathBuf;
use std::process::{Command, Output};

use coho_testing::{Capability, needs};

use crate::common::{self, PATIENT, all, delegated, later, library};

fn program() -> PathBuf {
    common::program("semantics", &[])
}

/// Runs a case in a folder of its own, delegating these calls if there are some.
fn run(case: &str, calls: &str, patience: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = common::case(&program(), case, folder.path(), calls);
    let output = command.env("COHO_DELEGATE_PATIENCE", patience).output().unwrap();
    assert!(output.status.success(), "{case} {calls}: {output:?}");
    output
}

fn same(case: &str) {
    needs!(Capability::CCompiler);
    let without = run(case, "", "");
    for calls in [all().as_str(), "write,pwrite", "stat,close"] {
        for patience in ["", "0", PATIENT] {
            let with = run(case, calls, patience);
            let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(text(&with), text(&without), "{case} {calls} {patience}");
            let (delegated, by_hosts) = delegated(&with);
            assert!(delegated > 0, "{case} {calls}");
            assert!(patience != PATIENT || by_hosts == delegated, "{case} {calls}: {delegated}, {by_hosts}");
        }
    }
    for calls in ["write:async", "write:async,stat,close,pwrite,read"] {
        let with = run(case, calls, "");
        assert_eq!(
            String::from_utf8_lossy(&with.stdout),
            String::from_utf8_lossy(&without.stdout),
            "{case} {calls}"
        );
    }
}

#[test]
fn errors() {
    same("errors");
}

#[test]
fn files() {
    same("files");
}

#[test]
fn signals_reach_the_caller_and_interrupt_it() {
    same("signals");
}

#[test]
fn a_number_that_was_a_file_s_is_looked_at_anew() {
    same("numbers");
}

#[test]
fn handlers_may_write() {
    same("handlers");
}

#[test]
fn lines_that_threads_append_stay_whole() {
    same("threads");
}

#[test]
fn children_make_their_calls_themselves() {
    same("children");
}

#[test]
fn delegation_ends_before_rights_change() {
    same("rights");
}

#[test]
fn cancelled_threads_end() {
    same("cancellation");
}

#[test]
fn what_a_thread_asks_of_itself_is_its_own() {
    same("own");
}

#[test]
fn writes_done_later_are_seen_by_all_that_looks() {
    needs!(Capability::CCompiler);
    let (without, with) = (run("later", "", ""), run("later", "write:async", PATIENT));
    assert_eq!(String::from_utf8_lossy(&with.stdout), String::from_utf8_lossy(&without.stdout));
    assert!(later(&with) > 1000, "{with:?}");
}

/// Standard output and standard error of a case in a file system of 64 KiB.
fn in_small(case: &str, calls: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64k none . && cd \"$PWD\" && exec \"$0\" $1";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(program()).arg(case).current_dir(&folder);
    if !calls.is_empty() {
        command.env("LD_PRELOAD", library()).env("COHO_DELEGATE", calls);
    }
    common::texts(&command.output().unwrap())
}

#[test]
fn an_error_of_a_write_done_later_is_told_once() {
    needs!(Capability::CCompiler, Capability::Mounts);
    let (without, with) = (in_small("full", ""), in_small("full", "write:async"));
    assert_eq!(without.0, "written in order\nerror ENOSPC\nunreported 0\n", "{without:?}");
    assert_eq!(with.0, without.0, "{with:?}");
}

#[test]
fn an_error_of_a_write_done_later_is_its_open_file_s() {
    needs!(Capability::CCompiler, Capability::Mounts);
    let without = in_small("doubles", "");
    assert_eq!(without.0.matches("told 1, then 0 0\n").count(), 8, "{without:?}");
    for calls in ["write:async", &format!("write:async,{}", all())] {
        assert_eq!(in_small("doubles", calls), without, "{calls}");
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
            command
                .arg("count")
                .current_dir(&folder)
                .env("LD_PRELOAD", library())
                .env("COHO_DELEGATE", calls);
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
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).ends_with(expected), "{output:?}");
    }
}
