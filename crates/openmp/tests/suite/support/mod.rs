//! Compiling programs, and running them with the library preloaded.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Compiles a program of `tests/programs` with OpenMP; its kind is told by its name.
pub fn compile(source: &str, more: &[&str]) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    compile_file(&path, more)
}

/// As [`compile`], by clang, for LLVM's runtime.
pub fn compile_by_clang(source: &str, more: &[&str]) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    compile_by("clang", &path, &[&["-w", "-latomic", "-lm"], more].concat())
}

/// As [`compile`], a file anywhere.
pub fn compile_file(source: &Path, more: &[&str]) -> PathBuf {
    let compiler = match source.extension().and_then(|kind| kind.to_str()) {
        Some("f90") => "gfortran",
        Some("cpp") => "g++",
        _ => "gcc",
    };
    compile_by(compiler, source, more)
}

fn compile_by(compiler: &str, source: &Path, more: &[&str]) -> PathBuf {
    // Tests run at a time: each has a file of its own.
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join(source.file_stem().unwrap());
    let output = Command::new(compiler)
        .args(["-O1", "-fopenmp", "-pthread", "-o"])
        .arg(&program)
        .arg(source)
        .args(more)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&output.stderr));
    program
}

pub fn library() -> PathBuf {
    // The dependency has cargo build it beside the tests.
    let _ = coho_openmp::NAME;
    std::env::current_exe().unwrap().with_file_name("libcoho_openmp.so")
}

/// The program with the library preloaded, which says what it has decided.
pub fn preloaded(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library()).env("COHO_OPENMP", "verbose");
    command
}

/// A folder of libraries that take the place of the machine's runtimes.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(library(), folder.path().join("libcoho_openmp.so")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/openmp-folder");
    assert!(Command::new(script).arg(folder.path().join("openmp")).status().unwrap().success());
    folder
}

pub struct Finished {
    /// None: a signal ended it.
    pub status: Option<i32>,
    pub output: String,
    pub errors: String,
}

/// Runs a command to its end, which must come within the time.
pub fn finish(command: &mut Command, limit: Duration) -> Finished {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut errors = child.stderr.take().unwrap();
    let output = thread::spawn(move || text(&mut output));
    let errors = thread::spawn(move || text(&mut errors));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > limit {
            child.kill().unwrap();
            let status = child.wait().unwrap();
            panic!("{command:?} did not end within {limit:?}: {status}, {}", errors.join().unwrap());
        }
        thread::sleep(Duration::from_millis(5));
    };
    Finished { status: status.code(), output: output.join().unwrap(), errors: errors.join().unwrap() }
}

fn text(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
