//! Calls that the running program tries delegated, and goes on making itself.

use coho_testing::{Capability, needs};

use crate::common::{case, program, texts};

/// A host that shares its program's CPU never gains: both calls are tried, neither is delegated, and no host is left.
#[test]
fn what_does_not_gain_is_made_at_home_and_no_host_is_left() {
    needs!(Capability::CCompiler);
    // SAFETY: no arguments.
    let cpu = unsafe { libc::sched_getcpu() }.to_string();
    let folder = tempfile::tempdir().unwrap();
    let mut command = case(&program("choices", &[]), &cpu, folder.path(), "auto,stat,pwrite");
    let output = command.env("COHO_DELEGATE_CPUS", &cpu).output().unwrap();
    let (told, said) = texts(&output);
    assert_eq!(told, "200000 1\n", "{output:?}");
    for call in ["stat", "pwrite"] {
        let row = said.lines().find_map(|line| line.strip_prefix("coho delegate: ")?.strip_prefix(call));
        let row = row.unwrap_or_else(|| panic!("{call}: {said}"));
        assert!(row.contains(" 0 of 1 threads "), "{row}");
    }
}
