//! What an earlier run has measured stays in the profile, whatever a later run of the same command lacks; and the
//! command says what stays and what it replaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use coho_platform::pin;
use coho_profile::{
    Contention, ContentionRow, Estimate, LineOperation, Loaded, LoadedRow, Profile, WorkloadResult, Workloads,
};
use coho_testing::{Capability, Filter, needs};
use coho_topology::CpuSet;
use serde_json::Value;

use crate::report_profiles::{acts, calls, sync};
use crate::support::{self, MEASURING, coho, json};

/// A profile with figures in every section that a command measures.
fn whole() -> Profile {
    let mut profile = sync::two();
    let (parts, timed) = (support::measured(), calls::timed());
    (profile.memory, profile.coherence) = (parts.memory, parts.coherence);
    (profile.calls, profile.counters) = (timed.calls, timed.counters);
    acts::add(&mut profile);
    let row = ContentionRow {
        operation: LineOperation::Add,
        mapping: "sequential".into(),
        cpus: vec![0, 1],
        ns: Some(Estimate::exact(50.0)),
        operations_per_s: None,
        times_alone: None,
        shares: Vec::new(),
        jain: None,
        least_over_most: None,
        failures_per_success: None,
        preempted_batches: 0,
    };
    profile.contention = Some(Contention { rows: vec![row], ..Contention::default() });
    let under = LoadedRow { latency_ns: Some(Estimate::exact(90.0)), ..LoadedRow::default() };
    profile.loaded = Some(Loaded { rows: vec![under], ..Loaded::default() });
    let result = WorkloadResult {
        test: "pipe_throughput".into(),
        placement: "none".into(),
        copies: 1,
        unit: "lps".into(),
        value: Some(Estimate::exact(1e6)),
        ..WorkloadResult::default()
    };
    profile.workloads = Some(Workloads { results: vec![result], ..Workloads::default() });
    (profile.host, profile.topology) = (None, None);
    profile
}

/// The quantities of which each section has figures.
fn quantities(profile: &Profile) -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut all: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for figure in profile.figures() {
        let key = figure.quantity.key;
        all.entry(key.split('.').next().unwrap().to_owned()).or_default().insert(key);
    }
    all
}

/// Something that a command needs, taken away from it.
type Lack = (&'static str, fn(&mut Command));

fn before_exec(command: &mut Command, act: impl Fn() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: each caller's action makes system calls alone.
    unsafe { command.pre_exec(act) };
}

fn refused(command: &mut Command, call: libc::c_long) {
    let filter = Filter::refusing(call, libc::EPERM);
    before_exec(command, move || filter.apply());
}

const SECOND_CPU: Lack = ("a second CPU", |command| {
    let first = CpuSet::from_iter(pin::allowed().unwrap().first());
    before_exec(command, move || pin::confine(&first));
});
const PROGRAMS: Lack = ("compilers and mpicc", |command| {
    command.env("PATH", "/nonexistent");
});
const COUNTERS: Lack = ("counters", |command| refused(command, libc::SYS_perf_event_open));
const PINNING: Lack = ("pinned threads", |command| refused(command, libc::SYS_sched_setaffinity));
const FOLDERS: Lack = ("folders for files of its own", |command| refused(command, libc::SYS_mkdirat));

/// Runs a command that lacks something on a profile with everything, and returns what is wrong about what is left.
fn wrong(arguments: &[&str], (lack, take): Lack) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    let before = whole();
    before.write(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let mut command = coho(&[arguments, &["-o", "p.json"][..]].concat());
    take(command.current_dir(folder.path()).env("TMPDIR", folder.path()));
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    let after = Profile::read(&path).unwrap();
    let (had, has) = (quantities(&before), quantities(&after));
    let mut wrong: Vec<String> = Vec::new();
    for (section, keys) in &had {
        let left = has.get(section).cloned().unwrap_or_default();
        if left.is_empty() {
            wrong.push(format!("{section} has no figure left"));
        }
        if !keys.is_subset(&left) && !told.contains("gone: ") && !told.contains("loses figures") {
            wrong.push(format!("{section} loses {:?} without a word", keys.difference(&left)));
        }
    }
    if done.status.code() == Some(1) {
        if sections(&text) != sections(&fs::read_to_string(&path).unwrap()) {
            wrong.push("nothing was measured, and the file has changed".into());
        }
        if !told.contains("keeps its earlier") {
            wrong.push("what stays is not named".into());
        }
    }
    (!wrong.is_empty())
        .then(|| format!("coho {} without {lack}: {}\n{told}", arguments.join(" "), wrong.join("; ")))
}

/// A profile's measured sections: that of the machine is this machine's.
fn sections(text: &str) -> Value {
    let mut profile = json(text);
    for section in ["host", "topology"] {
        profile.as_object_mut().unwrap().remove(section);
    }
    profile
}

#[test]
fn nothing_measured_erases_nothing() {
    needs!(Capability::Filters);
    let _alone = coho_testing::alone();
    let mut cases: Vec<(Vec<&str>, Lack)> = Vec::new();
    for command in MEASURING.iter() {
        let time = if command[0] == "survey" { "1s" } else { "100ms" };
        let command = [command, &["--quick", "--time-limit", time][..]].concat();
        cases.extend([SECOND_CPU, PINNING].map(|lack| (command.clone(), lack)));
    }
    let others: [(&[&str], Lack); 8] = [
        (&["survey", "--quick", "--time-limit", "1s"], FOLDERS),
        (&["calls", "--quick", "--time-limit", "200ms"], FOLDERS),
        (&["calls", "--set", "mpi"], PROGRAMS),
        (&["calls", "--set", "mpi"], SECOND_CPU),
        (&["calls", "--quick", "--footprint", "--time-limit", "500ms"], SECOND_CPU),
        (&["memory", "--quick", "--parts", "transfers,dma"], SECOND_CPU),
        (&["counters", "--quick"], COUNTERS),
        (&["barrier", "--quick", "--peers", "--time-limit", "500ms"], PROGRAMS),
    ];
    cases.extend(others.map(|(command, lack)| (command.to_vec(), lack)));
    let failures: Vec<String> =
        cases.into_iter().filter_map(|(command, lack)| wrong(&command, lack)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn a_matrix_without_times_erases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    whole().write(&at("p.json")).unwrap();
    let text = fs::read_to_string(at("p.json")).unwrap();
    let empty = Profile { coherence: Some(coho_profile::Coherence::default()), ..Profile::default() };
    empty.write(&at("empty.json")).unwrap();
    let from = |name: &str| -> std::process::Output {
        let mut command = coho(&["coherence", "--from", name, "-o", "p.json"]);
        command.current_dir(folder.path()).output().unwrap()
    };
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let done = from("empty.json");
    assert!(String::from_utf8_lossy(&done.stderr).contains("keeps its earlier coherence"), "{done:?}");
    assert_eq!(sections(&read(&at("p.json"))), sections(&text));
    fs::write(at("empty.csv"), "").unwrap();
    assert!(!from("empty.csv").status.success());
    assert_eq!(sections(&read(&at("p.json"))), sections(&text));
}
