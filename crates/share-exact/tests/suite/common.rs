//! What the tests share: the library, the programs, and what was counted of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coho_recording::{Access, Item, Record, Recording, create};

/// Cargo builds the library beside the tests. They don't name its crate, whose functions would take the place of
/// theirs.
pub fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libcoho_tsan.so")
}

/// Compiles a program with the calls that the library has, under a name of its own.
pub fn compiled(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("{}-{name}", env!("CARGO_PKG_NAME")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let mut compile =
        Command::new(if source.extension().is_some_and(|end| end == "cpp") { "g++" } else { "gcc" });
    compile
        .args(["-fsanitize=thread", "-O1", "-g", "-w", "-pthread", "-o"])
        .arg(&program)
        .arg(source)
        .args(flags);
    assert!(compile.status().unwrap().success());
    program
}

/// The program under the library, which counts into a file if there is one.
pub fn under(program: &Path, arguments: &[&str], file: Option<&Path>) -> Command {
    let mut command = Command::new("timeout");
    command.arg("300").arg(program).args(arguments).env("LD_PRELOAD", library());
    // Beside other work, threads of OpenMP that spin wait for each other for long.
    command.env("OMP_WAIT_POLICY", "passive");
    if let Some(file) = file {
        command.env(coho_recording::FILE, file);
    }
    command
}

/// A run to its good end, and what was recorded.
#[track_caller]
pub fn run(program: &Path, arguments: &[&str]) -> (String, Vec<Item>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    create(file.as_file(), 1024).unwrap();
    let output = under(program, arguments, Some(file.path())).output().unwrap();
    (printed(&output), items(file.as_file()))
}

#[track_caller]
pub fn printed(output: &Output) -> String {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn items(file: &File) -> Vec<Item> {
    let mut items = Vec::new();
    Recording::open(file).unwrap().for_each(|item| items.push(item)).unwrap();
    items
}

/// The addresses that a line of it holds.
pub fn addresses(printed: &str) -> Vec<u64> {
    let number = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    printed.lines().next().unwrap_or_default().split(' ').filter_map(number).collect()
}

/// How often each thread reads and writes these bytes, by processes and threads.
pub fn counts(items: &[Item], address: u64, bytes: u8) -> BTreeMap<(u32, u32), (u64, u64)> {
    let mut counts = BTreeMap::new();
    for item in items {
        let Record::Counted { address: at, bytes: of, access, times, .. } = item.record else { continue };
        if (at, of) == (address, bytes) {
            let entry: &mut (u64, u64) = counts.entry((item.process, item.thread)).or_default();
            entry.0 += if access == Access::Write { 0 } else { times };
            entry.1 += if access == Access::Read { 0 } else { times };
        }
    }
    counts
}
