//! `coho run --openmp`: OpenMP programs as they are, on coho's teams.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use coho_testing::{Capability, needs};
use serde_json::Value;
use tempfile::TempDir;

fn coho(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(words).env_remove("COHO_OPENMP").env("OMP_NUM_THREADS", "2");
    command
}

/// A program, compiled with these options.
fn program(folder: &TempDir, text: &str, options: &[&str]) -> PathBuf {
    let program = folder.path().join("program");
    let source = program.with_extension("c");
    std::fs::write(&source, text).unwrap();
    let compiled =
        Command::new("gcc").args(["-o"]).arg(&program).arg(&source).args(options).output().unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    program
}

/// Counts its threads, and ends with status 7.
const REGION: &str = "#include <stdio.h>\nint main(void) { int n = 0;\n#pragma omp parallel reduction(+ : n)\nn++;\n\
                      printf(\"%d threads\\n\", n); return 7; }\n";

fn decision(program: &Path) -> Value {
    let output = coho(&["run", "--openmp", "--check", "--json"]).arg(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_program_keeps_its_output_and_its_status() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, REGION, &["-fopenmp"]);
    for words in [&["run", "-q", "--openmp", "--"][..], &["run", "-q", "--openmp"]] {
        let output = coho(words).arg(&program).env("COHO_OPENMP", "verbose").output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert_eq!(output.stdout, b"2 threads\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "coho openmp: taken over\n");
    }
    let off = coho(&["run", "-q", "--openmp"]).arg(&program).env("COHO_OPENMP", "off").output().unwrap();
    assert_eq!((off.status.code(), off.stdout, off.stderr), (Some(7), b"2 threads\n".to_vec(), Vec::new()));
}

#[test]
fn what_is_not_known_stands_aside_and_says_why() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(
        &folder,
        "#include <stdio.h>\nint main(void) { int n = 0;\n#pragma omp parallel for ordered(1)\n\
         for (int i = 0; i < 9; i++) {\n#pragma omp ordered depend(sink : i - 1)\nn = n * 3 + i;\n\
         #pragma omp ordered depend(source)\n}\nprintf(\"%d\\n\", n); return 0; }\n",
        &["-fopenmp"],
    );
    let output =
        coho(&["run", "-q", "--openmp"]).arg(&program).env("COHO_OPENMP", "verbose").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.starts_with("coho openmp: stands aside: imports GOMP_"),
        "{errors}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4916\n");
    let decision = decision(&program);
    assert_eq!(decision["takes_over"], false);
    let unsupported = decision["unsupported"].as_array().unwrap();
    assert!(unsupported.iter().any(|name| name.as_str().unwrap().contains("doacross")), "{decision}");
    assert!(decision["reason"].as_str().unwrap().contains("doacross"), "{decision}");
}

#[test]
fn a_check_tells_what_is_imported_without_running_the_program() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let decided = decision(&program(&folder, REGION, &["-fopenmp"]));
    assert_eq!(decided["takes_over"], true, "{decided}");
    assert!(decided["imports"].as_array().unwrap().contains(&"GOMP_parallel".into()), "{decided}");
    assert_eq!((&decided["unsupported"], decided.get("reason")), (&Value::Array(Vec::new()), None));

    let decided = decision(&program(&folder, "int main(void) { return 0; }\n", &[]));
    assert_eq!(
        (&decided["takes_over"], &decided["imports"]),
        (&Value::Bool(false), &Value::Array(Vec::new()))
    );

    let decided = decision(&program(&folder, REGION, &["-fopenmp", "-static"]));
    assert!(decided["reason"].as_str().unwrap().contains("statically"), "{decided}");
}

#[test]
fn what_cannot_be_checked_is_said() {
    for (program, why) in
        [("no-such-program", "there is no program"), ("/proc/self/status", "not a 64-bit ELF")]
    {
        let output = coho(&["run", "--openmp", "--check", program]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && errors.contains(why), "{errors}");
    }
    for words in [&["run", "--check", "true"][..], &["run", "--json", "true"]] {
        let output = coho(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

#[test]
fn with_and_without_are_tried_in_turn() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, &REGION.replace("return 7", "return 0"), &["-fopenmp"]);
    let output =
        coho(&["run", "--openmp", "--try", "--repeat", "6", "--json", "--"]).arg(&program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let trial: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> =
        trial["placements"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["libgomp", "coho"]);
    assert!(trial["placements"].as_array().unwrap().iter().all(|one| one["seconds"]["n"] == 6), "{trial}");
    assert!(trial["decided"].is_boolean(), "{trial}");
}
