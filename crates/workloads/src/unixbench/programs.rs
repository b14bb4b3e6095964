//! The tests that are C programs: what they measure depends on the compiler or on the program's size, so they are
//! compiled where they run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::Test;
use super::child::{self, Act};
use super::folder::Folder;
use super::functions::{Job, jobs};

/// UnixBench 6.0.0's.
pub const FLAGS: [&str; 4] = ["-O3", "-ffast-math", "-march=native", "-mtune=native"];
/// Time that compiling may take.
const COMPILING: Duration = Duration::from_secs(120);

const SOURCES: [(&str, &str); 7] = [
    ("report.h", include_str!("programs/report.h")),
    ("dhrystone.h", include_str!("programs/dhrystone.h")),
    ("dhrystone_1.c", include_str!("programs/dhrystone_1.c")),
    ("dhrystone_2.c", include_str!("programs/dhrystone_2.c")),
    ("whetstone.c", include_str!("programs/whetstone.c")),
    ("execl.c", include_str!("programs/execl.c")),
    ("spawn.c", include_str!("programs/spawn.c")),
];

const PROGRAMS: [(Test, &str, &[&str]); 4] = [
    (Test::Dhrystone2, "dhrystone", &["dhrystone_1.c", "dhrystone_2.c"]),
    (Test::WhetstoneDouble, "whetstone", &["whetstone.c"]),
    (Test::Execl, "execl", &["execl.c"]),
    (Test::ProcessCreation, "spawn", &["spawn.c"]),
];

/// What the compiler says it is; `None` if there is none.
pub(super) fn compiler() -> Option<String> {
    let output =
        Command::new("cc").arg("--version").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.lines().next().unwrap_or("cc").trim().to_owned())
}

/// The program of a test, in the folder; `None` for a test that is not a program.
pub(super) fn of(test: Test, folder: &Folder) -> Option<PathBuf> {
    PROGRAMS.iter().find(|(of, ..)| *of == test).map(|(_, name, _)| folder.path().join(name))
}

/// Compiles them into the folder.
///
/// # Errors
/// What the compiler says.
pub(super) fn compile(folder: &Folder) -> Result<(), String> {
    for (name, text) in SOURCES {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let compilations: Vec<Job> = PROGRAMS
        .iter()
        .map(|(_, name, sources)| {
            let command = std::iter::once("cc").chain(FLAGS).chain(["-o", *name]);
            let command = command.chain(sources.iter().copied()).chain(["-lm"]);
            Job { command: command.map(OsString::from).collect(), after: Vec::new() }
        })
        .collect();
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let environment = [(OsStr::new("TMPDIR"), folder.path().into())];
    let compile = || jobs(&compilations, &environment, at_once);
    let act = Act::Function("s", &compile);
    child::run(&[(act, None)], folder, COMPILING).map(drop).map_err(|error| format!("cc: {error}"))
}
