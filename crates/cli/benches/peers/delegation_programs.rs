//! The programs that run with calls delegated and without.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// A program, what it leaves behind, and where hosts are to be.
pub struct Program {
    pub name: String,
    pub words: Vec<String>,
    pub leaves: Vec<PathBuf>,
    pub host: Option<u32>,
}

impl Program {
    fn new(name: &str, words: &[&str], leaves: &[&Path]) -> Self {
        Self {
            name: name.into(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            leaves: leaves.iter().map(|path| path.to_path_buf()).collect(),
            host: None,
        }
    }
}

/// A line a row, with some work to find out what it is to say.
const PRINTS: &str = "
import sys
out = open(sys.argv[1], 'w', buffering=1)
for i in range(int(sys.argv[2])):
    print(i, sum(range(100)), file=out)
";
/// A transaction a row.
const INSERTS: &str = "
import sqlite3, sys
base = sqlite3.connect(sys.argv[1])
base.execute('create table t (a integer primary key, b text)')
for i in range(int(sys.argv[2])):
    base.execute('insert into t values (?, ?)', (i, hex(i * i)))
    base.commit()
";
const COMPUTES: &str = "
import sys
n = 0
for i in range(int(sys.argv[1])):
    n += i * i % 7
";

/// All, in a folder; or why one cannot be run. Quick ones do a fifth.
pub fn all(folder: &Path, quick: bool) -> Vec<Result<Program, String>> {
    let part = if quick { 5 } else { 1 };
    let count = |all: u32| (all / part).to_string();
    let [tree, copy, archive] = ["tree", "copy", "tree.tar"].map(|name| folder.join(name));
    let [text, base] = ["printed", "base"].map(|name| folder.join(name));
    let python = python();
    let script = |name: &str, script: &str, words: &[&str], leaves: &[&Path]| {
        let python = python.as_ref().map_err(|why| format!("{name}: not available: {why}"))?;
        Ok(Program::new(name, &[&[&python[..], "-c", script], words].concat(), leaves))
    };
    let path = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let trees = || {
        plant(&tree, 5000 / part).map_err(|error| format!("many files: {error}"))?;
        Ok::<_, String>(path(&tree))
    };
    vec![
        logs(folder, 1, 1, quick),
        logs(folder, 4096, 1, quick),
        logs(folder, 1, 2, quick),
        script("Python that prints lines to a file", PRINTS, &[&path(&text), &count(150_000)], &[&text]),
        perl(&text, &count(300_000)),
        script("SQLite, a transaction a row", INSERTS, &[&path(&base), &count(10_000)], &[&base]),
        trees().map(|tree| {
            Program::new("tar of many small files", &["tar", "-cf", &path(&archive), &tree], &[&archive])
        }),
        trees().map(|tree| {
            Program::new("cp -r of many small files", &["cp", "-r", &tree, &path(&copy)], &[&copy])
        }),
        redis(folder, &count(50_000)),
        compiled("sweep").map(|program| {
            let words = [&path(&program)[..], &path(&program), "512", &count(15_000)];
            Program::new("computation in 512 KiB, stat between", &words, &[])
        }),
        script("Python that computes: nothing to delegate", COMPUTES, &[&count(5_000_000)], &[]),
    ]
}

/// Records of this many bytes, with 2 us of work before each, shared among threads.
pub fn logs(folder: &Path, bytes: u32, threads: u32, quick: bool) -> Result<Program, String> {
    let program = compiled("log")?;
    let file = folder.join("records");
    let records = if quick { 40_000 } else { 200_000 };
    let [program, path] = [&program, &file].map(|path| path.display().to_string());
    let words = [&program[..], &path, &bytes.to_string(), &records.to_string(), &threads.to_string()];
    let by = if threads == 1 { String::new() } else { format!(", {threads} threads") };
    Ok(Program::new(&format!("logging, {bytes} B every 2 us{by}"), &words, &[]))
}

/// A filter that prints each line at once, as those do whose readers are not to wait.
fn perl(text: &Path, lines: &str) -> Result<Program, String> {
    const SCRIPT: &str = "seq \"$1\" | sed 's/.*/& line of text/' >\"$0.in\"
exec perl -ne 'BEGIN { $| = 1 } my @f = split; print \"$f[1] $f[0]\\n\" if $f[0] % 7' \"$0.in\" >\"$0\"";
    if !Command::new("perl").arg("-v").output().is_ok_and(|output| output.status.success()) {
        return Err("Perl that prints each line at once: not available: no perl".into());
    }
    let path = text.to_str().expect("a plain path");
    Ok(Program::new("Perl that prints each line at once", &["sh", "-c", SCRIPT, path, lines], &[text]))
}

/// A server with a log of all changes, and the client that makes them.
fn redis(folder: &Path, requests: &str) -> Result<Program, String> {
    const SCRIPT: &str = "
redis-server --port 0 --unixsocket socket --save '' --appendonly yes --daemonize no --dir . >server &
until redis-cli -s socket ping >/dev/null 2>&1; do sleep 0.01; done
redis-benchmark -s socket -c 4 -n \"$1\" -t set -q >/dev/null
redis-cli -s socket shutdown
wait";
    let state = folder.join("redis");
    if !Command::new("redis-benchmark").arg("--version").output().is_ok_and(|output| output.status.success())
    {
        return Err("redis with its log: not available: no redis-benchmark".into());
    }
    let path = state.to_str().expect("a plain path");
    let script = format!("mkdir -p \"$0\" && cd \"$0\" || exit 1{SCRIPT}");
    Ok(Program::new("redis with its log, and its client", &["sh", "-c", &script, path, requests], &[&state]))
}

/// The interpreter itself: what stands for it may start several processes.
fn python() -> Result<String, String> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.map_err(|error| format!("python3: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Files of 100 to 4000 bytes, 100 in a folder.
fn plant(tree: &Path, files: u32) -> std::io::Result<()> {
    for i in 0..files {
        let folder = tree.join((i / 100).to_string());
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(i.to_string()), vec![b'x'; 100 + (i as usize * 37) % 3900])?;
    }
    Ok(())
}

/// An example of the library's, in C.
pub fn compiled(name: &str) -> Result<PathBuf, String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../delegate-preload/examples/c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-pthread", "-o"]).arg(&program).arg(examples.join(name).with_extension("c"));
    command::printed(&mut cc).map_err(|why| format!("{name}: not available: {why}"))?;
    Ok(program)
}
