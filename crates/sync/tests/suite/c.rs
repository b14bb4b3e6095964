//! The C interface from C and C++, with the static and the shared library, and under ThreadSanitizer.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_testing::{Capability, needs};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Where cargo has put the libraries.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_path_buf()
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, text(&output.stderr));
    text(&output.stdout)
}

/// Compiles a program against a library, runs it, and returns what it prints.
fn run(compiler: &str, flags: &[&str], source: &str, name: &str, library: &OsStr) -> String {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let include = Path::new(ROOT).join("include");
    let mut compile = Command::new(compiler);
    compile.args(flags).args(["-Wall", "-Wextra", "-Werror", "-O1", "-g"]).arg("-I").arg(include);
    compile.arg("-o").arg(&program).arg(Path::new(ROOT).join(source)).args(["-x", "none"]).arg(library);
    succeeds(compile.args(["-lpthread", "-ldl", "-lm"]));
    succeeds(Command::new(&program).env("LD_LIBRARY_PATH", env!("CARGO_TARGET_TMPDIR")))
}

#[test]
fn c_with_the_static_library() {
    needs!(Capability::CCompiler);
    let library = libraries().join("libcoho_sync.a");
    assert_eq!(run("cc", &["-std=c99"], "tests/c/sync.c", "c-static", library.as_ref()), "ok\n");
}

#[test]
fn c_with_the_shared_library() {
    needs!(Capability::CCompiler);
    let library = libraries().join("libcoho_sync.so");
    // Programs look for it by the name that it carries.
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcoho_sync.so.0");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&library, &link).unwrap();
    assert_eq!(run("cc", &["-std=c11"], "tests/c/sync.c", "c-shared", library.as_ref()), "ok\n");
}

#[test]
fn cpp() {
    needs!(Capability::CppCompiler);
    let library = libraries().join("libcoho_sync.a");
    assert_eq!(run("c++", &["-x", "c++"], "tests/c/sync.c", "cpp", library.as_ref()), "ok\n");
}

/// The library and the standard library are built with ThreadSanitizer, for which their sources must be installed; gcc's
/// own runtime lacks symbols that Rust's code needs, so Rust's is linked.
#[test]
fn thread_sanitizer_finds_no_race() {
    needs!(Capability::ThreadSanitizer);
    let host = "x86_64-unknown-linux-gnu";
    let sysroot = PathBuf::from(succeeds(Command::new("rustc").args(["--print", "sysroot"])).trim());
    let runtimes = sysroot.join("lib/rustlib").join(host).join("lib");
    let runtime = std::fs::read_dir(&runtimes)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("_rt.tsan.a")));
    let runtime = runtime.unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tsan");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "-Zbuild-std=std,panic_abort", "--release", "--target", host, "-p", "coho-sync"]);
    build.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=thread -Zexternal-clangrt");
    // Optimised no further than builds quickly: the standard library takes most of the time.
    build.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    build.env("CARGO_PROFILE_RELEASE_LTO", "off");
    build.env("CARGO_TARGET_DIR", &target).current_dir(ROOT);
    succeeds(&mut build);
    let library = target.join(host).join("release/libcoho_sync.a");
    let (object, program) = (target.join("sync.o"), target.join("sync"));
    let mut compile = Command::new("gcc");
    compile.args(["-g", "-O1", "-fsanitize=thread", "-c", "-I"]).arg(Path::new(ROOT).join("include"));
    succeeds(compile.arg(Path::new(ROOT).join("tests/c/sync.c")).arg("-o").arg(&object));
    let mut link = Command::new("g++");
    link.arg("-rdynamic").arg("-o").arg(&program).arg(&object).arg(&library);
    link.arg("-Wl,--whole-archive").arg(runtime).arg("-Wl,--no-whole-archive");
    succeeds(link.args(["-lpthread", "-ldl", "-lm", "-lrt"]));
    // Where the kernel places things at addresses too random for the sanitizer, it asks for less.
    assert_eq!(succeeds(Command::new("setarch").arg("-R").arg(&program)), "ok\n");
}
