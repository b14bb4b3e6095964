//! The C interface from C: programs compiled by the C compiler and linked to the static and the shared library.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use coho_testing::{Capability, needs};

/// The system libraries that the static library needs, by `rustc --print native-static-libs`.
const NEEDED: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// The folder with the libraries that were built along with this test.
fn libraries() -> PathBuf {
    let test = env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    assert!(deps.join("libcoho_counters.a").exists(), "no static library in {}", deps.display());
    deps.to_path_buf()
}

fn temporary() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The arguments that link the static library.
fn statically() -> Vec<PathBuf> {
    let library = libraries().join("libcoho_counters.a");
    std::iter::once(library).chain(NEEDED.iter().map(PathBuf::from)).collect()
}

/// Compiles and runs a program.
fn run(source: &str, name: &str, linking: &[impl AsRef<OsStr>]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = temporary().join(name);
    let compiled = Command::new("cc")
        .args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2"])
        .arg(folder.join(source))
        .arg("-I")
        .arg(folder.join("include"))
        .arg("-o")
        .arg(&program)
        .args(linking)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).env("LD_LIBRARY_PATH", temporary()).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn c_counts_by_the_static_library() {
    needs!(Capability::CCompiler);
    run("tests/c/check.c", "check-static", &statically());
}

#[test]
fn c_counts_by_the_shared_library() {
    needs!(Capability::CCompiler);
    // An installed library has a link with the name that programs ask for.
    let library = libraries().join("libcoho_counters.so");
    let link = temporary().join("libcoho_counters.so.0");
    let _ = fs::remove_file(&link);
    symlink(&library, &link).unwrap();
    run("tests/c/check.c", "check-shared", &[library]);
}
