//! Other preloaded libraries, before and after this one: each sees what it would see without this one.

use std::path::Path;
use std::process::Command;

use coho_testing::{Capability, needs};

use crate::common::{self, PATIENT, all, delegated, library, texts};

/// What a run leaves.
struct Left {
    printed: String,
    said: String,
    log: String,
    /// Writes that the library which counts has seen.
    counted: Option<String>,
    delegated: u64,
}

fn run(libraries: &[&Path], calls: &str) -> Left {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mapped"), "").unwrap();
    let mut command = Command::new(common::program("others", &[]));
    let paths: Vec<_> = libraries.iter().map(|path| path.to_str().unwrap()).collect();
    command.current_dir(&folder).env("LD_PRELOAD", paths.join(":"));
    if !calls.is_empty() {
        command.env("COHO_DELEGATE", format!("{calls},verbose")).env("COHO_DELEGATE_PATIENCE", PATIENT);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (printed, said) = texts(&output);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
    let delegated = if calls.is_empty() { 0 } else { delegated(&output).0 };
    Left { printed, said, log: read("log").unwrap(), counted: read("count"), delegated }
}

/// Runs the program with another library before this one and after it; returns what the library said in each place.
fn same(name: &str, calls: &str) -> [Left; 2] {
    let other = common::program(name, &["-shared", "-fPIC"]);
    let without = run(&[&other], "");
    let own = library();
    [[&*other, &*own], [&*own, &*other]].map(|libraries| {
        let with = run(&libraries, calls);
        assert_eq!(
            (&with.printed, &with.log),
            (&without.printed, &without.log),
            "{libraries:?}: {}",
            with.said
        );
        assert_eq!(with.counted, without.counted, "{libraries:?}: {}", with.said);
        with
    })
}

#[test]
fn paths_are_mapped() {
    needs!(Capability::CCompiler);
    let [before, after] = same("mapper", &all());
    assert_eq!(before.printed, "stat 0, open 0, write 0\n");
    assert!(!before.said.contains("takes"), "{}", before.said);
    assert!(
        after.said.contains("mapper takes open, stat: the program makes these calls itself"),
        "{}",
        after.said
    );
    assert!(before.delegated > after.delegated && after.delegated > 0, "{} {}", before.said, after.said);
}

#[test]
fn writes_are_counted() {
    needs!(Capability::CCompiler);
    for calls in [all(), "write:async".to_owned()] {
        let [before, after] = same("counter", &calls);
        assert_eq!(before.counted.as_deref(), Some("500"));
        assert!(after.said.contains("counter takes write: "), "{}", after.said);
    }
}

#[test]
fn where_time_is_another_library_s_calls_stay_at_home() {
    needs!(Capability::CCompiler);
    for left in same("clock", &format!("write:async,{}", all())) {
        assert!(left.said.contains("clock tells the time in the C library's place"), "{}", left.said);
        assert_eq!(left.delegated, 0);
    }
}

#[test]
fn another_library_s_vfork_is_called() {
    needs!(Capability::CCompiler);
    let (other, own) = (common::program("forker", &["-shared", "-fPIC"]), library());
    let program = common::program("sharing", &[]);
    for libraries in [format!("{}", other.display()), format!("{}:{}", own.display(), other.display())] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(&program);
        command.arg("vfork_and_close").current_dir(&folder).env("LD_PRELOAD", &libraries);
        let output = command.env("COHO_DELEGATE", all()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(texts(&output).1, "mine\n", "{libraries}");
    }
}
