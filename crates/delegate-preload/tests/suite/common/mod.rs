//! What the tests share: the library, the programs in C, and what the library says at their ends.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

pub fn library() -> PathBuf {
    // The dependency has cargo build it beside the tests.
    let file = coho_delegate_preload::NAME;
    std::env::current_exe().unwrap().with_file_name(file)
}

/// Compiles a program, once.
pub fn program(name: &str, flags: &[&str]) -> PathBuf {
    static MADE: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!(env!("CARGO_PKG_NAME"), "-programs"));
    let program = folder.join(name.rsplit('/').next().unwrap_or(name));
    let mut made = Mutex::lock(&MADE).unwrap();
    if made.get_or_insert_default().insert(program.clone()) {
        std::fs::create_dir_all(&folder).unwrap();
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-w", "-pthread", "-o"]).arg(&program).args(flags).arg(source).arg("-lm");
        assert!(compile.status().unwrap().success());
    }
    program
}

/// All calls that can be delegated.
pub fn all() -> String {
    coho_delegate_preload::names().collect::<Vec<_>>().join(",")
}

/// Long enough for hosts on any machine to begin.
pub const PATIENT: &str = "50000000";

/// A program's case in a folder, delegating these calls if there are some.
pub fn case(program: &Path, case: &str, folder: &Path, calls: &str) -> Command {
    let mut command = Command::new("timeout");
    command.arg("300").arg(program).arg(case).current_dir(folder);
    if !calls.is_empty() {
        command.env("COHO_DELEGATE", format!("{calls},verbose")).env("LD_PRELOAD", library());
    }
    command
}

/// Runs a case to its end in a folder, with hosts that are waited for so many microseconds.
#[track_caller]
pub fn run_in(folder: &Path, program: &Path, case: &str, calls: &str, patience: &str) -> Output {
    let mut command = self::case(program, case, folder, calls);
    let output = command.env("COHO_DELEGATE_PATIENCE", patience).output().unwrap();
    assert!(output.status.success(), "{case} {calls}: {output:?}");
    output
}

/// The same in a folder of its own.
#[track_caller]
pub fn run(program: &Path, case: &str, calls: &str, patience: &str) -> Output {
    run_in(tempfile::tempdir().unwrap().path(), program, case, calls, patience)
}

/// Standard output and standard error of a case in a file system of 64 KiB.
pub fn in_small(program: &Path, case: &str, calls: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64k none . && cd \"$PWD\" && exec \"$0\" $1";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(program).arg(case).current_dir(&folder);
    if !calls.is_empty() {
        command.env("LD_PRELOAD", library()).env("COHO_DELEGATE", calls);
    }
    texts(&command.output().unwrap())
}

/// A test for each of a program's cases, by `same`; where no case stands, it has the test's name.
#[allow(unused_macros, reason = "not every program of tests has cases")]
macro_rules! cases {
    ($($name:ident: $case:literal)+) => { $(
        #[test]
        fn $name() {
            same($case);
        }
    )+ };
    ($($name:ident)+) => { $(
        #[test]
        fn $name() {
            same(stringify!($name));
        }
    )+ };
}

#[allow(unused_imports, reason = "as above")]
pub(crate) use cases;

/// Standard output and standard error, as text.
pub fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// How many calls the library says that it has delegated, and how many of them hosts executed: in the process with the
/// most, as the program may start others.
pub fn delegated(output: &Output) -> (u64, u64) {
    let errors = texts(output).1;
    let said = |line: &str| {
        let (all, rest) = line.strip_prefix("coho delegate: ")?.split_once(" calls delegated, ")?;
        Some((all.parse().ok()?, rest.split(' ').next()?.parse().ok()?))
    };
    errors.lines().filter_map(said).max().unwrap_or_else(|| panic!("{errors}"))
}

/// Writes that the library says were done later.
pub fn later(output: &Output) -> u64 {
    let errors = texts(output).1;
    let line = errors
        .lines()
        .find_map(|line| line.strip_prefix("coho delegate: ")?.strip_suffix(" writes done later"));
    line.map_or(0, |number| number.parse().unwrap())
}
