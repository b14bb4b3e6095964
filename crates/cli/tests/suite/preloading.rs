//! Programs with sanitizers, or of another C library, run under every library that is preloaded, or without it and with a
//! word.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coho_testing::{Capability, needs};

/// Compiles an OpenMP program, also one that has options of its own.
fn program(folder: &Path, options: &str) -> PathBuf {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    let code = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n{options}\nint main(void) {{ int n = 0, *p = malloc(40);\n\
         #pragma omp parallel num_threads(2) reduction(+ : n)\nn += 1;\n\
         p[3] = n; printf(\"n=%d\\n\", p[3]); free(p); return 0; }}\n"
    );
    std::fs::write(&source, code).unwrap();
    let mut compile = Command::new("gcc");
    compile.args(["-g", "-fopenmp", "-fsanitize=address", "-o"]).arg(&program).arg(&source);
    assert!(compile.status().unwrap().success());
    program
}

fn coho(arguments: &[&str], program: &Path) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.arg("run").args(arguments).arg("--").arg(program).env_remove("ASAN_OPTIONS");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

const WAYS: [&[&str]; 4] = [
    &["--openmp"],
    &["--delegate=stat,write"],
    &["--place", "0", "--per-thread"],
    &["--place", "0", "--per-process"],
];

#[test]
fn programs_with_address_sanitizer_run() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "");
    for way in WAYS {
        let (output, said) = coho(way, &program);
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"n=2\n"[..]), "{way:?}: {said}");
    }
    let (output, _) = coho(&["--openmp", "--check", "--json"], &program);
    let said = String::from_utf8_lossy(&output.stdout).replace(' ', "");
    assert!(said.contains("\"served\":true"), "{said}");
}

#[test]
fn programs_that_insist_run_without_and_it_is_said() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let options = "const char *__asan_default_options(void) { return \"verify_asan_link_order=1\"; }";
    let program = program(folder.path(), options);
    for way in WAYS {
        let (output, said) = coho(way, &program);
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"n=2\n"[..]), "{way:?}: {said}");
        assert!(said.contains("verify_asan_link_order=0"), "{way:?}: {said}");
    }
    let (output, _) = coho(&["--openmp", "--check", "--json"], &program);
    let said = String::from_utf8_lossy(&output.stdout).replace(' ', "");
    assert!(said.contains("\"served\":false"), "{said}");
}

/// A program is of musl if its loader has musl's name, which here stands for this system's own.
#[test]
fn programs_of_musl_and_their_scripts_run_without_and_it_is_said() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let usual = Command::new("gcc").arg("-print-file-name=ld-linux-x86-64.so.2").output().unwrap();
    symlink(String::from_utf8(usual.stdout).unwrap().trim(), at("ld-musl-test.so.1")).unwrap();
    std::fs::write(
        at("program.c"),
        "#include <stdio.h>\n#include <stdlib.h>\n\
         int main(void) { char *it = getenv(\"LD_PRELOAD\"); puts(it ? it : \"none\"); return 0; }\n",
    )
    .unwrap();
    let mut loader = OsString::from("-Wl,--dynamic-linker=");
    loader.push(at("ld-musl-test.so.1"));
    let program = at("program");
    let mut compile = Command::new("gcc");
    compile.arg(loader).arg("-o").arg(&program).arg(at("program.c"));
    assert!(compile.status().unwrap().success());
    let script = at("script");
    std::fs::write(&script, format!("#!{}\n", program.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for way in WAYS {
        for command in [&program, &script] {
            let (output, said) = coho(way, command);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert_eq!((output.status.code(), &*printed), (Some(0), "none\n"), "{way:?}: {said}");
            assert!(said.contains("it is linked with musl"), "{way:?}: {said}");
        }
    }
}
