//! The C interface from C and C++, with the static and the shared library.

use std::path::{Path, PathBuf};
use std::process::Command;

use coho_testing::{Capability, needs};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// One of the libraries, which cargo has put beside the tests.
fn library(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, text(&output.stderr));
    text(&output.stdout)
}

/// Compiles a program against a library, runs it, and returns what it prints.
fn run(compiler: &str, flags: &[&str], source: &str, name: &str, library: &Path) -> String {
    let program = Path::new(SCRATCH).join(name);
    let mut compile = Command::new(compiler);
    compile.args(flags).args(["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-I"]);
    compile.arg(Path::new(ROOT).join("include")).arg("-o").arg(&program).arg(Path::new(ROOT).join(source));
    succeeds(compile.args(["-x", "none"]).arg(library).args(["-lpthread", "-ldl", "-lm"]));
    succeeds(Command::new(&program).current_dir(SCRATCH).env("LD_LIBRARY_PATH", SCRATCH))
}

#[test]
fn c_with_the_static_library() {
    needs!(Capability::CCompiler);
    let library = library("libcoho_delegate.a");
    assert_eq!(run("cc", &["-std=c99"], "tests/c/delegate.c", "c-static", &library), "ok\n");
}

#[test]
fn c_with_the_shared_library() {
    needs!(Capability::CCompiler);
    let library = library("libcoho_delegate.so");
    // Programs look for it by the name that it carries.
    let link = Path::new(SCRATCH).join("libcoho_delegate.so.0");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&library, &link).unwrap();
    assert_eq!(run("cc", &["-std=c11"], "tests/c/delegate.c", "c-shared", &library), "ok\n");
}

#[test]
fn cpp() {
    needs!(Capability::CppCompiler);
    let library = library("libcoho_delegate.a");
    assert_eq!(run("c++", &["-x", "c++"], "tests/c/delegate.c", "cpp", &library), "ok\n");
}
