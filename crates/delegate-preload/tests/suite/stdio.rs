//! What stdio does with files, under the library and without it: the same output and files. The C library makes these calls
//! for itself.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use coho_testing::{Capability, needs};

fn library() -> PathBuf {
    // The dependency has cargo build it beside the tests.
    std::env::current_exe().unwrap().with_file_name(coho_delegate_preload::NAME)
}

fn program() -> &'static Path {
    static ONCE: OnceLock<PathBuf> = OnceLock::new();
    ONCE.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/stdio.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stdio");
        let mut compiler = Command::new("cc");
        let compiled = compiler.args(["-O1", "-w", "-pthread", "-o"]).arg(&program).arg(source).status();
        assert!(compiled.unwrap().success());
        program
    })
}

/// Runs a case in this folder, delegating these calls if there are some.
fn run(case: &str, calls: &str, patience: &str, folder: &Path) -> Output {
    let mut command = Command::new("timeout");
    command.arg("300").arg(program()).arg(case).current_dir(folder);
    if !calls.is_empty() {
        command.env("COHO_DELEGATE", format!("{calls},verbose")).env("LD_PRELOAD", library());
        command.env("COHO_DELEGATE_PATIENCE", patience);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{case} {calls}: {output:?}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number before these words in what the library says.
fn said(errors: &[u8], words: &str) -> u64 {
    let line = |line: &str| line.strip_prefix("coho delegate: ")?.split_once(words)?.0.parse().ok();
    text(errors).lines().find_map(line).unwrap_or(0)
}

/// Long enough for hosts on any machine to begin.
const PATIENT: &str = "50000000";

#[track_caller]
fn same(case: &str) {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    let without = run(case, "", "", folder.path());
    assert!(!without.stdout.is_empty());
    for (calls, patience) in [
        ("open,close,read,write", ""),
        ("open,close,read,write", "1000"),
        ("write:async", ""),
        ("write:async,open,close,read,write,stat", "1000"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let with = run(case, calls, patience, folder.path());
        assert_eq!(text(&with.stdout), text(&without.stdout), "{case} {calls}");
    }
}

#[test]
fn what_is_printed_is_in_the_files() {
    same("print");
}

#[test]
fn streams_are_written_and_read_in_turn() {
    same("update");
}

#[test]
fn errors_reach_the_streams() {
    same("errors");
}

#[test]
fn lines_of_threads_stay_in_order() {
    same("threads");
}

#[test]
fn children_see_what_was_printed() {
    same("children");
}

#[test]
fn what_stdio_writes_last_is_not_lost() {
    needs!(Capability::CCompiler);
    let contents = |calls| {
        let folder = tempfile::tempdir().unwrap();
        run("exit", calls, "", folder.path());
        std::fs::read_to_string(folder.path().join("last")).unwrap()
    };
    let expected = contents("");
    assert_eq!(expected.lines().count(), 1000);
    for calls in ["write", "write:async"] {
        assert_eq!(contents(calls), expected, "{calls}");
    }
}

/// Since 2.34 the C library is one file, as the jumps need it.
fn has_jumps() -> bool {
    // SAFETY: a string that stays.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_str().unwrap();
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap());
    (parts.next(), parts.next()) >= (Some(2), Some(34))
}

#[test]
fn calls_of_stdio_s_own_are_delegated() {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    for (calls, least) in [("write", 1000), ("open,close,write", 1000), ("write:async", 1)] {
        let with = run("print", calls, PATIENT, folder.path());
        let unseen = text(&with.stderr).contains("makes for itself are not seen");
        assert_eq!(unseen, !has_jumps(), "{with:?}");
        let words = if calls == "write:async" { " writes done later" } else { " calls delegated, " };
        assert!(unseen || said(&with.stderr, words) >= least, "{calls}: {with:?}");
    }
}

#[test]
fn a_full_file_system_is_told_to_the_stream() {
    needs!(Capability::CCompiler, Capability::Mounts);
    let folder = tempfile::tempdir().unwrap();
    // In a file system of 64 KiB.
    let script = "mount -t tmpfs -o size=64k none . && cd \"$PWD\" && exec \"$0\" full";
    let run = |calls: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).arg(program()).current_dir(&folder);
        if !calls.is_empty() {
            command.env("LD_PRELOAD", library()).env("COHO_DELEGATE", calls);
        }
        command.output().unwrap()
    };
    let expected = "1 ENOSPC\nin order 1\n1 ENOSPC\n";
    for calls in ["", "write", "write:async", "write:async,close"] {
        let with = run(calls);
        assert_eq!((text(&with.stdout).as_str(), text(&with.stderr).as_str()), (expected, ""), "{calls}");
    }
}
