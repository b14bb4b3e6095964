//! Every example runs, and prints what it should.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_testing::{Capability, data, needs};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// What a program prints that must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// A folder for what one test writes.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(SCRATCH).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles `c/NAME.c` against the header and the static library, which cargo has put beside the tests; runs it.
fn c(name: &str, library: &str) -> String {
    let folder = folder(&format!("{name}-c"));
    let program = folder.join(name);
    let built = std::env::current_exe().unwrap().with_file_name(format!("libcoho_{library}.a"));
    let include = Path::new(ROOT).join("../crates").join(library).join("include");
    let source = Path::new(ROOT).join("c").join(name).with_extension("c");
    let arguments: [&OsStr; 6] =
        ["-I".as_ref(), include.as_ref(), "-o".as_ref(), program.as_ref(), source.as_ref(), built.as_ref()];
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-O1"]).args(arguments);
    output(compile.args(["-lpthread", "-ldl", "-lm"]));
    output(Command::new(program).current_dir(folder))
}

#[test]
fn topology_of_a_file() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topology"));
    let text = output(command.arg(data("cpuid/AMD-FX-8150.cpuid")));
    assert!(text.starts_with("AMD FX(tm)-8150"), "{text}");
    for line in ["module    0-1 | 2-3 | 4-5 | 6-7", "CPUs 0 and 1 share: module", "CPUs 1 and 2 share: L3"] {
        assert!(text.lines().any(|other| other == line), "{line}:\n{text}");
    }
}

#[test]
fn topology_of_this_machine() {
    let text = output(&mut Command::new(env!("CARGO_BIN_EXE_topology")));
    assert!(text.lines().any(|line| line.starts_with("package ")), "{text}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn cpuid_dump_is_read_again() {
    let text = output(&mut Command::new(env!("CARGO_BIN_EXE_cpuid_dump")));
    let topology = coho_topology::load_text(&text).unwrap().topology;
    assert!(!topology.pus.is_empty(), "{text}");
}

/// Four counts after the time, each with its value or why there is none.
#[track_caller]
fn is_the_cost_of_a_call(text: &str, counted: &str) {
    assert!(text.starts_with("time, cold"), "{text}");
    assert_eq!(text.lines().count(), 5, "{text}");
    for line in text.lines().skip(1) {
        assert!(line.contains("not available: ") || line.contains(counted), "{line}");
    }
}

#[test]
fn counters_in_rust() {
    is_the_cost_of_a_call(&output(&mut Command::new(env!("CARGO_BIN_EXE_counters"))), " of reading)");
}

#[test]
fn counters_in_c() {
    needs!(Capability::CCompiler);
    is_the_cost_of_a_call(&c("counters", "counters"), "of reading taken off");
}

#[test]
fn sync_in_rust() {
    assert_eq!(output(&mut Command::new(env!("CARGO_BIN_EXE_sync"))), "328350\n");
}

#[test]
fn sync_in_c() {
    needs!(Capability::CCompiler);
    assert_eq!(c("sync", "sync"), "328350\n");
    assert_eq!(c("pi", "sync"), "3.141593 3.141593\n");
}

#[test]
fn delegate_in_rust() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_delegate"));
    assert_eq!(output(command.current_dir(folder("delegate-rust"))), "100 lines\n");
}

#[test]
fn delegate_in_c() {
    needs!(Capability::CCompiler);
    assert_eq!(c("delegate", "delegate"), "100 lines\n");
}
