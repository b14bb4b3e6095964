//! Preloads the library into programs and looks where their threads are.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_testing::{Capability, Interposer, needs};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn library() -> PathBuf {
    // The dependency makes cargo build the library beside the tests.
    let _ = coho_pin::ORDER;
    std::env::current_exe().unwrap().with_file_name("libcoho_pin.so")
}

/// The C program that prints where its threads are, compiled under this name.
fn program(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    compile(&program);
    program
}

fn compile(program: &Path) {
    let source = Path::new(ROOT).join("tests/where.c");
    let compiled = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(program).arg(source).status();
    assert!(compiled.unwrap().success());
}

fn allowed() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    };
    list.trim().split(',').flat_map(range).collect()
}

/// The last two CPUs, the last one first: an order that no system takes by itself.
fn two() -> [u32; 2] {
    let cpus = allowed();
    [cpus[cpus.len() - 1], cpus[cpus.len() - 2]]
}

/// What the program prints: a line for each thread, of the form `name: CPUs`.
fn run(command: &mut Command, order: &str) -> Vec<String> {
    run_under(&[library()], command, order)
}

fn run_under(libraries: &[PathBuf], command: &mut Command, order: &str) -> Vec<String> {
    let libraries = std::env::join_paths(libraries).unwrap();
    let output = command.env("LD_PRELOAD", libraries).env("COHO_PIN", order).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn threads_take_the_list_s_cpus_in_turn() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let (program, [a, b]) = (program("where"), two());
    let lines = run(Command::new(program).arg("threads"), &format!("{a},{b}"));
    assert_eq!(
        lines,
        [format!("first: {a}"), format!("thread 1: {b}"), format!("thread 2: {a}"), format!("thread 3: {b}"),]
    );
}

/// Libraries that others preload, before this one and after it.
#[test]
fn threads_are_pinned_beside_faketime_fakeroot_jemalloc_and_eatmydata() {
    needs!(Capability::CCompiler, Capability::TwoCpus, Capability::Interposers);
    let (program, [a, b]) = (program("where-beside"), two());
    let order = format!("{a},{b}");
    let alone = run(Command::new(&program).arg("threads"), &order);
    for other in Interposer::ALL.map(Interposer::library) {
        for libraries in [[library(), other.clone()], [other.clone(), library()]] {
            let lines = run_under(&libraries, Command::new(&program).arg("threads"), &order);
            assert_eq!(lines, alone, "{libraries:?}");
        }
    }
}

#[test]
fn what_a_pinned_thread_starts_is_free_and_counts_anew() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let (program, [a, b]) = (program("where-starts"), two());
    let all = allowed().len();
    for how in ["fork", "exec", "vfork", "spawn"] {
        let lines = run(Command::new(&program).arg(how), &format!("{a},{b}"));
        assert_eq!(lines[0], format!("{how}: {all} CPUs"), "{lines:?}");
        assert_eq!(lines[1..], [format!("first: {a}"), format!("thread 1: {b}")], "{how}");
    }
}

#[test]
fn a_thread_with_cpus_of_its_own_keeps_them() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let (program, [a, b]) = (program("where-own"), two());
    let lines = run(Command::new(program).args(["own", &b.to_string()]), &a.to_string());
    assert_eq!(lines, [format!("thread 1: {b}")]);
}

#[test]
fn a_program_of_one_thread_stays_free() {
    let a = allowed()[0];
    let mut command = Command::new("sh");
    let lines = run(command.args(["-c", "sed -n 's/Cpus_allowed:\\t//p' /proc/$$/status"]), &a.to_string());
    let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed:\t")).unwrap();
    assert_eq!(lines, [own]);
}

#[test]
fn the_process_s_mask_is_never_left() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let (program, [a, b]) = (program("where-mask"), two());
    let mut command = Command::new(program);
    let confine = move || {
        // SAFETY: the set is initialised, and the call reads it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(b as usize, &mut set);
            libc::sched_setaffinity(0, size_of_val(&set), &set);
        }
        Ok(())
    };
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(confine) };
    let lines = run(command.arg("threads"), &format!("{a},{b}"));
    assert!(lines.iter().all(|line| line.ends_with(&format!(": {b}"))), "{lines:?}");
}

/// Runs a script whose processes take turns, with a file of its own.
fn dealt(script: &str, order: &str) -> Vec<String> {
    let turns = tempfile::NamedTempFile::new().unwrap();
    turns.as_file().set_len(coho_pin::TURNS_BYTES as u64).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("LD_PRELOAD", library());
    let output = command.env("COHO_DEAL", order).env("COHO_DEAL_TURNS", turns.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

const LOOK: &str = "sed -n 's/Cpus_allowed_list:.//p'";

#[test]
fn processes_take_the_list_s_cpus_in_turn_and_keep_them() {
    needs!(Capability::TwoCpus);
    let [a, b] = two();
    // The shell comes first, then each process that it starts; one that executes another program has had its turn.
    let script =
        format!("{LOOK} /proc/$$/status; {LOOK} /proc/self/status; (exec {LOOK} /proc/self/status); wait");
    let lines = dealt(&script, &format!("{a},{b}"));
    assert_eq!(lines[0], a.to_string());
    // The first look was the second process; the others follow in turn.
    assert_eq!(lines[1..], [a.to_string(), b.to_string()], "{lines:?}");
}

#[test]
fn children_of_a_process_that_chose_its_cpus_keep_them() {
    needs!(Capability::TwoCpus);
    let [a, b] = two();
    let script = format!("taskset -pc {b} $$ >/dev/null; (exec {LOOK} /proc/self/status); wait");
    assert_eq!(dealt(&script, &a.to_string()), [b.to_string()]);
}

/// All but the CPUs that the library is asked to give.
#[test]
fn nothing_else_of_the_program_s_is_touched() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pin-state");
    let source = Path::new(ROOT).join("../preload/tests/programs/state.c");
    let compiled = Command::new("cc")
        .args(["-O1", "-w", "-pthread", "-o"])
        .arg(&program)
        .arg(source)
        .arg("-lm")
        .status();
    assert!(compiled.unwrap().success());
    let [a, b] = two();
    let folder = tempfile::tempdir().unwrap();
    let run = |order: Option<String>| {
        let mut command = Command::new(&program);
        command.arg("threads").current_dir(&folder).env_remove("LD_PRELOAD");
        if let Some(order) = order {
            command.env("LD_PRELOAD", library()).env("COHO_PIN", order);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let without = run(None);
    assert!(!without.contains("changed"), "{without}");
    assert_eq!(run(Some(format!("{a},{b}"))), without);
}

#[test]
fn nonsense_and_absence_change_nothing() {
    needs!(Capability::CCompiler);
    let program = program("where-none");
    let all = allowed().len();
    for order in ["", "x", "99999"] {
        let lines = run(Command::new(&program).arg("threads"), order);
        assert!(lines.iter().all(|line| line.ends_with(&format!(": {all} CPUs")) || all == 1), "{lines:?}");
    }
}

/// A set-user-id program of another user, run by root: the loader drops the library, and the library would do nothing.
#[test]
fn programs_with_other_rights_are_left_alone() {
    needs!(Capability::SetUserId, Capability::CCompiler, Capability::TwoCpus);
    // Among temporary files: there the capability check has shown that the set-user-id bit works.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("where-suid");
    compile(&program);
    let [a, b] = two();
    std::os::unix::fs::chown(&program, Some(65_534), Some(65_534)).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(&program, mode).unwrap();
    let lines = run(Command::new(program).arg("threads"), &format!("{a},{b}"));
    let all = allowed().len();
    assert!(lines.iter().all(|line| line.ends_with(&format!(": {all} CPUs"))), "{lines:?}");
}
