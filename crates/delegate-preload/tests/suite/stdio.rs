//! What stdio does with files, under the library and without it: the same output and files. The C library makes these calls
//! for itself.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

use std::ffi::CStr;
use std::path::PathBuf;

use coho_testing::{Capability, needs};

use crate::common::{PATIENT, cases, in_small, program, run, run_in, texts};

fn stdio() -> PathBuf {
    program("stdio", &[])
}

/// The number before these words in what the library says.
fn said(errors: &str, words: &str) -> u64 {
    let line = |line: &str| line.strip_prefix("coho delegate: ")?.split_once(words)?.0.parse().ok();
    errors.lines().find_map(line).unwrap_or(0)
}

#[track_caller]
fn same(case: &str) {
    needs!(Capability::CCompiler);
    let without = texts(&run(&stdio(), case, "", "")).0;
    assert!(!without.is_empty());
    for (calls, patience) in [
        ("open,close,read,write", ""),
        ("open,close,read,write", "1000"),
        ("write:async", ""),
        ("write:async,open,close,read,write,stat", "1000"),
    ] {
        assert_eq!(texts(&run(&stdio(), case, calls, patience)).0, without, "{case} {calls}");
    }
}

cases! {
    what_is_printed_is_in_the_files: "print"
    streams_are_written_and_read_in_turn: "update"
    errors_reach_the_streams: "errors"
    lines_of_threads_stay_in_order: "threads"
    children_see_what_was_printed: "children"
}

#[test]
fn what_stdio_writes_last_is_not_lost() {
    needs!(Capability::CCompiler);
    let contents = |calls| {
        let folder = tempfile::tempdir().unwrap();
        run_in(folder.path(), &stdio(), "exit", calls, "");
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
    for (calls, least) in [("write", 1000), ("open,close,write", 1000), ("write:async", 1)] {
        let errors = texts(&run(&stdio(), "print", calls, PATIENT)).1;
        let unseen = errors.contains("makes for itself are not seen");
        assert_eq!(unseen, !has_jumps(), "{errors}");
        let words = if calls == "write:async" { " writes done later" } else { " calls delegated, " };
        assert!(unseen || said(&errors, words) >= least, "{calls}: {errors}");
    }
}

#[test]
fn a_full_file_system_is_told_to_the_stream() {
    needs!(Capability::CCompiler, Capability::Mounts);
    let expected = "1 ENOSPC\nin order 1\n1 ENOSPC\n";
    for calls in ["", "write", "write:async", "write:async,close"] {
        assert_eq!(in_small(&stdio(), "full", calls), (expected.into(), String::new()), "{calls}");
    }
}
