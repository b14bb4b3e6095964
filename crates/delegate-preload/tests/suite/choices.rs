//! Calls that the running program tries delegated, and goes on making itself.

use std::path::Path;
use std::process::Command;

use coho_testing::{Capability, needs};

/// A host that shares its program's CPU never gains: both calls are tried, neither is delegated, and no host is left.
#[test]
fn what_does_not_gain_is_made_at_home_and_no_host_is_left() {
    needs!(Capability::CCompiler);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/choices.c");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("choices");
    let compiled = Command::new("cc").args(["-O1", "-w", "-o"]).arg(&program).arg(source).status();
    assert!(compiled.unwrap().success());
    // SAFETY: no arguments.
    let cpu = unsafe { libc::sched_getcpu() }.to_string();
    let mut command = Command::new("timeout");
    command.arg("60").arg(&program).arg(&cpu).current_dir(&folder);
    command.env("LD_PRELOAD", std::env::current_exe().unwrap().with_file_name(coho_delegate_preload::NAME));
    command.env("COHO_DELEGATE", "auto,stat,pwrite,verbose").env("COHO_DELEGATE_CPUS", &cpu);
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "200000 1\n", "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    for call in ["stat", "pwrite"] {
        let row = said.lines().find_map(|line| line.strip_prefix("coho delegate: ")?.strip_prefix(call));
        let row = row.unwrap_or_else(|| panic!("{call}: {said}"));
        assert!(row.contains(" 0 of 1 threads "), "{row}");
    }
}
