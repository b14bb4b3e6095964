//! Programs that are left as they are.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use coho_testing::{Capability, Privileged, needs};

use crate::common::{compiled, items, library, recording, run};

#[test]
fn nothing_of_the_program_s_is_touched() {
    needs!(Capability::CCompiler);
    let program = compiled("../../../preload/tests/programs/state.c", "cc", &["-lm"]);
    let folder = tempfile::tempdir().unwrap();
    let mut plain = Command::new(&program);
    let plain = plain.arg("threads").current_dir(&folder).env_remove("LD_PRELOAD").output().unwrap();
    let without = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.status.success() && !without.contains("changed"), "{without}");
    let with = crate::common::run_with(&program, &["threads"], |command| {
        command.current_dir(&folder);
    });
    assert_eq!(with.printed(), without);
}

#[test]
fn without_a_recording_nothing_happens() {
    needs!(Capability::CCompiler);
    let program = compiled("threads.c", "cc", &[]);
    let nothing = tempfile::NamedTempFile::new().unwrap();
    for file in ["", "/nonexistent/recording", nothing.path().to_str().unwrap()] {
        let output = recording(&program, &["churn"], file.as_ref()).output().unwrap();
        assert!(
            output.status.success() && output.stdout == b"2000\n" && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    let output = Command::new(&program).arg("churn").env("LD_PRELOAD", library()).output().unwrap();
    assert!(output.stdout == b"2000\n" && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_program_of_one_thread_is_not_recorded() {
    assert_eq!(run("/bin/echo".as_ref(), &["x"]).items, []);
}

/// A set-user-id program of another user, run by root: the loader drops the library, and the library would do nothing.
#[test]
fn programs_with_other_rights_are_left_alone() {
    needs!(Capability::SetUserId, Capability::CCompiler);
    let privileged = Privileged::of(&compiled("threads.c", "cc", &[]));
    let file = tempfile::NamedTempFile::new().unwrap();
    coho_recording::create(file.as_file(), 16).unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let output = recording(&privileged.program(), &["counters"], file.path()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(items(file.as_file()), []);
}
