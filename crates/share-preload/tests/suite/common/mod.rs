//! What the tests share: the library, the programs, and their recordings.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use coho_recording::{Access, Item, Record, Recording, create};

/// Cargo builds the library beside the tests. They don't name its crate, whose functions would take the place of theirs.
pub fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libcoho_share.so")
}

/// Compiles a program by a compiler, once.
pub fn compiled(source: &str, compiler: &str, flags: &[&str]) -> PathBuf {
    static MADE: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!(env!("CARGO_PKG_NAME"), "-programs"));
    let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
    let program = folder.join(format!("{name}{}", flags.concat().replace('/', "_")));
    let mut made = Mutex::lock(&MADE).unwrap();
    if made.get_or_insert_default().insert(program.clone()) {
        std::fs::create_dir_all(&folder).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let mut compile = Command::new(compiler);
        compile.args(if compiler == "rustc" { &["-O", "-o"][..] } else { &["-O2", "-w", "-pthread", "-o"] });
        compile.arg(&program).arg(source).args(flags);
        assert!(compile.status().unwrap().success());
    }
    program
}

/// What a program printed, and what was recorded of it.
pub struct Run {
    pub output: Output,
    pub items: Vec<Item>,
}

/// A command that records into a file.
pub fn recording(program: &Path, arguments: &[&str], file: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("300").arg(program).args(arguments);
    command.env("LD_PRELOAD", library()).env(coho_recording::FILE, file);
    command
}

/// Runs a program to its end, and reads what was recorded.
#[track_caller]
pub fn run(program: &Path, arguments: &[&str]) -> Run {
    run_with(program, arguments, |_| {})
}

#[track_caller]
pub fn run_with(program: &Path, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Run {
    let file = tempfile::NamedTempFile::new().unwrap();
    create(file.as_file(), 4096).unwrap();
    let mut command = recording(program, arguments, file.path());
    change(&mut command);
    let output = command.output().unwrap();
    let items = items(file.as_file());
    Run { output, items }
}

pub fn items(file: &File) -> Vec<Item> {
    let mut items = Vec::new();
    Recording::open(file).unwrap().for_each(|item| items.push(item)).unwrap();
    items
}

impl Run {
    /// Standard output, after a good end.
    #[track_caller]
    pub fn printed(&self) -> String {
        assert!(self.output.status.success(), "{:?}", self.output);
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// The numbers that a line of it holds, addresses among them.
    #[track_caller]
    pub fn numbers(&self) -> Vec<u64> {
        let printed = self.printed();
        let number = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        printed.lines().next().unwrap_or_default().split(' ').filter_map(|word| number(word).ok()).collect()
    }

    /// Threads with an operand of these 8 bytes, and how many they have. All are accessed so, by instructions of the
    /// function that begins there.
    #[track_caller]
    pub fn threads_at(&self, address: u64, access: Access, function: u64) -> BTreeMap<u32, usize> {
        let mut threads = BTreeMap::new();
        for item in &self.items {
            if let Record::Operand { address: at, pc, bytes, access: how, .. } = item.record
                && (address..address + 8).contains(&at)
            {
                assert_eq!((at, bytes, how), (address, 8, access), "{item:?}");
                assert!((function..function + 128).contains(&pc), "{item:?}: {function:x}");
                *threads.entry(item.thread).or_default() += 1;
            }
        }
        threads
    }

    /// Processes of which there are ticks.
    pub fn ticking(&self) -> BTreeSet<u32> {
        let ticks = self.items.iter().filter(|item| matches!(item.record, Record::Tick { .. }));
        ticks.map(|item| item.process).collect()
    }
}
