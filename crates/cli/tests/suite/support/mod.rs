//! Running the command and looking at what it says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use coho_probe::EXPERIMENTS;
use coho_profile::{
    BlockState, Coherence, Estimate, Fence, Home, Memory, MemoryRate, Operation, Pair, PairMethod, Profile,
};
use serde_json::Value;
use tempfile::TempDir;

pub mod watched;

/// The command, with no colours and no terminal; what it remembers is not the user's.
pub fn coho(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(arguments).env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR")).env("LC_ALL", "C.UTF-8");
    command
}

/// The commands that measure, each with the first value of an argument that it needs, such as `kernels daxpy`: all that
/// take `--quick` and `--output`. The program is asked for them, so that no test has to name a new one.
pub static MEASURING: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let mut all = Vec::new();
    add_measuring(&[], &mut all);
    assert!(all.len() >= EXPERIMENTS.len(), "{all:?}");
    all
});

/// Whether a line of a help's list begins a command: a question is indented less, and what goes on with a description more.
pub fn begins_a_command(line: &str) -> bool {
    line.starts_with("  ") && !line.starts_with("   ")
}

fn add_measuring(words: &[&'static str], all: &mut Vec<Vec<&'static str>>) {
    let asked = coho(&[words, &["-h"]].concat()).env_remove("COLUMNS").output().unwrap();
    assert!(asked.status.success(), "coho {words:?} -h");
    let help: &str = String::leak(String::from_utf8(asked.stdout).unwrap());
    if help.contains(" --quick ") && help.contains(" --output ") {
        let needed = help.lines().filter(|line| line.starts_with("  <"));
        let values = needed.map(|line| {
            let values = line.split_once("[possible values: ").map(|(_, values)| values.split([',', ']']));
            values.and_then(|mut values| values.next()).unwrap_or_else(|| panic!("no value for {line}"))
        });
        all.push(words.iter().copied().chain(values).collect());
    }
    let listed = help.split_once("\nCommands:\n").and_then(|(_, rest)| rest.split("\n\n").next());
    let lines = listed.into_iter().flat_map(str::lines).filter(|line| begins_a_command(line));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|&name| name != "help") {
        add_measuring(&[words, &[name]].concat(), all);
    }
}

/// What a run of the command in a folder gives.
pub fn output_in(folder: &Path, arguments: &[&str]) -> Output {
    let measures = MEASURING.iter().any(|words| words[0] == arguments[0]) && !arguments.contains(&"--from");
    // Runs that measure take turns: they have the same CPUs.
    let _alone = measures.then(coho_testing::alone);
    coho(arguments).current_dir(folder).output().unwrap()
}

pub fn run(arguments: &[&str]) -> Output {
    output_in(Path::new("."), arguments)
}

/// Standard output of a run that succeeds.
pub fn succeeds(arguments: &[&str]) -> String {
    succeeds_in(Path::new("."), arguments)
}

/// The same of a run in a folder.
pub fn succeeds_in(folder: &Path, arguments: &[&str]) -> String {
    let output = output_in(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "coho {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a run that ends with `status`.
pub fn fails(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "coho {arguments:?}: {errors}");
    assert!(output.stdout.is_empty(), "a failed run prints no result");
    errors
}

/// Asserts that the command refuses words: each with the status, and what it names. None leaves a file.
#[track_caller]
pub fn assert_refuses(refused: &[(&str, i32, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for (words, status, named) in refused {
        let output = output_in(folder.path(), &words.split(' ').collect::<Vec<_>>());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(*status), "coho {words}: {errors}");
        assert!(output.stdout.is_empty() && errors.contains(named), "coho {words}: {errors}");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "coho {words}: {left:?}");
    }
}

/// Runs the command in a folder, expects this status and returns what it says on standard error.
#[track_caller]
pub fn fails_in(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output = output_in(folder, arguments);
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The text on one line: where the command breaks a line depends on the figures in it.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Asserts that a profile follows what `coho schema` prints.
pub fn assert_valid(profile: &Value) {
    let schema = json(&succeeds(&["schema"]));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(profile).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A folder with a profile in it, `mine.json`.
pub fn saved(profile: &Profile) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    profile.write(&folder.path().join("mine.json")).unwrap();
    folder
}

/// The report of a profile.
pub fn page(profile: &Profile) -> String {
    let folder = saved(profile);
    succeeds_in(folder.path(), &["report", "mine.json", "-o", "page.html"]);
    std::fs::read_to_string(folder.path().join("page.html")).unwrap()
}

/// A profile with what the paths between processes are made of, but for calls.
pub fn measured() -> Profile {
    let rate = |state, bytes, rate| MemoryRate {
        op: Operation::Copy,
        instruction: "avx2".into(),
        bytes,
        threads: 1,
        state: Some(state),
        fence: Some(Fence::Call),
        bytes_per_s: Some(Estimate::exact(rate)),
        ..MemoryRate::default()
    };
    let sizes = [(64, 8e9), (4096, 2e10), (1 << 20, 1e10)];
    let rates = sizes.map(|(bytes, value)| {
        [BlockState::Warm, BlockState::Shared, BlockState::Remote].map(|state| rate(state, bytes, value))
    });
    let pair = Pair::new(0, 1, PairMethod::Flags, Home::A, Estimate::exact(100.0));
    let memory = Memory { rates: rates.concat(), ..Memory::default() };
    let coherence = Coherence { pairs: vec![pair], ..Coherence::default() };
    Profile { memory: Some(memory), coherence: Some(coherence), ..Profile::default() }
}

/// Asserts that a page holds each of these texts.
pub fn assert_shows(page: &str, what: &[&str]) {
    for text in what {
        assert!(page.contains(text), "{text}");
    }
}

/// A file of the topology crate's own dumps.
pub fn dump(name: &str) -> String {
    let dumps = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../topology/tests/dumps");
    dumps.join(name).to_string_lossy().into_owned()
}

/// The first CPUs that this process may use, at most so many, as a list for `--cpus`: CPU 0 may be another's.
pub fn first_cpus(most: usize) -> String {
    let cpus: coho_topology::CpuSet = coho_platform::pin::allowed().unwrap().iter().take(most).collect();
    cpus.to_string()
}
