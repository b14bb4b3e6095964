//! What belongs to the program stays as it is, and as it is without the library.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coho_testing::{Capability, needs};

use crate::support::{compile_file, finish, library};

#[test]
fn nothing_of_the_program_s_is_touched() {
    needs!(Capability::Gcc);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../preload/tests/programs/state.c");
    let program = compile_file(&source, &["-w", "-lm"]);
    let folder = tempfile::tempdir().unwrap();
    let run = |is_preloaded: bool| {
        let mut command = Command::new(&program);
        command.arg("openmp").current_dir(&folder).env_remove("LD_PRELOAD");
        if is_preloaded {
            command.env("LD_PRELOAD", library());
        }
        let finished = finish(&mut command, Duration::from_secs(60));
        assert_eq!(finished.status, Some(0), "{}", finished.errors);
        finished.output
    };
    let without = run(false);
    assert!(!without.contains("changed"), "{without}");
    assert_eq!(run(true), without);
}
