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
    let program = folder.join(name);
    let mut made = Mutex::lock(&MADE).unwrap();
    if made.get_or_insert_default().insert(program.clone()) {
        std::fs::create_dir_all(&folder).unwrap();
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-w", "-pthread", "-o"]).arg(&program).args(flags).arg(source);
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
    command.arg("60").arg(program).arg(case).current_dir(folder);
    if !calls.is_empty() {
        command.env("COHO_DELEGATE", format!("{calls},verbose")).env("LD_PRELOAD", library());
    }
    command
}

/// Standard output and standard error, as text.
pub fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// How many calls the library says that it has delegated, and how many of them hosts executed.
pub fn delegated(output: &Output) -> (u64, u64) {
    let errors = texts(output).1;
    let said = errors.lines().find_map(|line| {
        let (all, rest) = line.strip_prefix("coho delegate: ")?.split_once(" calls delegated, ")?;
        Some((all.parse().ok()?, rest.split(' ').next()?.parse().ok()?))
    });
    said.unwrap_or_else(|| panic!("{errors}"))
}

/// Writes that the library says were done later.
pub fn later(output: &Output) -> u64 {
    let errors = texts(output).1;
    let line = errors
        .lines()
        .find_map(|line| line.strip_prefix("coho delegate: ")?.strip_suffix(" writes done later"));
    line.map_or(0, |number| number.parse().unwrap())
}
