//! What belongs to the program stays as it is, and as it is without the library.

use std::process::Command;

use coho_testing::{Capability, needs};

use crate::common::{self, PATIENT, all, library, texts};

#[test]
fn nothing_of_the_program_s_is_touched() {
    needs!(Capability::CCompiler);
    let program = common::program("../../../preload/tests/programs/state", &[]);
    let run = |calls: &str, case: &str, patience: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(&program);
        command.arg(case).current_dir(&folder).env_remove("LD_PRELOAD");
        if !calls.is_empty() {
            command.env("LD_PRELOAD", library()).env("COHO_DELEGATE", format!("{calls},verbose"));
            command.env("COHO_DELEGATE_PATIENCE", patience);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{calls}: {output:?}");
        let (said, reported) = texts(&output);
        // The folder is another one each time.
        (said.replace(folder.path().to_str().unwrap(), "FOLDER"), reported)
    };
    let without = run("", "calls", "").0;
    for (calls, case, patience) in [
        (all(), "calls", PATIENT),
        (format!("write:async,{}", all()), "calls", "100"),
        (format!("auto,{}", all()), "calls-often", "100"),
    ] {
        let (with, reported) = run(&calls, case, patience);
        assert_eq!(with, without, "{calls}: {reported}");
        assert!(reported.contains("delegated"), "{calls}: {reported}");
    }
    assert!(!without.contains("changed"), "{without}");
}
