//! `coho run --delegate`: programs whose system calls another core executes, and what is said of it.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coho_platform::pin;
use coho_profile::Profile;
use coho_testing::{Capability, needs};
use coho_topology::CpuSet;
use tempfile::TempDir;

use crate::report_profiles::calls::timed;
use crate::support::{coho, fails, json};

/// Writes a file line by line and says where each of its threads may run; ends with status 7.
const PROGRAM: &str = r#"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    int out = open("out", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    for (int i = 0; i < 20000; i++) {
        struct stat status;
        char line[20];
        if (stat("out", &status) || write(out, line, sprintf(line, "%d\n", i)) < 2)
            return 1;
    }
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], line[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (status && fgets(line, sizeof line, status))
            if (!strncmp(line, "Cpus_allowed_list:\t", 19))
                fputs(line + 19, stdout);
    }
    fputs("done\n", stderr);
    return 7;
}
"#;

fn compiled(folder: &Path, text: &str, options: &[&str]) -> PathBuf {
    let program = folder.join("program");
    let source = program.with_extension("c");
    std::fs::write(&source, text).unwrap();
    let status = Command::new("cc").args(options).arg("-o").arg(&program).arg(&source).status().unwrap();
    assert!(status.success());
    program
}

/// A folder with nothing remembered.
fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// `coho run ARGUMENTS` in a folder, which it also keeps its state in.
fn delegate(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = coho(&[&["run"], arguments].concat());
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .env_remove("LD_PRELOAD")
        .env_remove("COHO_DELEGATE");
    command
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// The first two CPUs: the program's and the host's.
fn two() -> [u32; 2] {
    let cpus: Vec<_> = pin::allowed().unwrap().iter().take(2).collect();
    cpus.try_into().unwrap()
}

#[test]
fn a_program_keeps_its_output_and_status_and_leaves_the_host_its_cpu() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    let folder = folder();
    let program = compiled(folder.path(), PROGRAM, &[]);
    let program = program.to_str().unwrap();
    let lines: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    let [own, host] = two();
    let [place, host_cpus] = [own.to_string(), host.to_string()];
    for list in ["--delegate=stat,write", "--delegate=stat,write:async", "--delegate=write:async"] {
        let place = ["-q", list, "--place", &place, "--host-cpus", &host_cpus, "--", program];
        let mut command = delegate(folder.path(), &place);
        // So patient a program has its host to the end, also where it would write quicker itself.
        let output = command.env("COHO_DELEGATE_PATIENCE", "1000000").output().unwrap();
        let (told, errors) = texts(&output);
        assert_eq!((output.status.code(), &*errors), (Some(7), "done\n"), "{list}");
        assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), lines, "{list}");
        let mut cpus: Vec<&str> = told.lines().collect();
        cpus.sort_unstable_by_key(|cpu| cpu.parse::<u32>().unwrap());
        assert_eq!(cpus, [&own.to_string(), &host.to_string()], "{list}");
    }
    // The same where nobody says where.
    let output = delegate(folder.path(), &["-q", "--delegate=stat", program]).output().unwrap();
    let (told, errors) = texts(&output);
    assert_eq!((output.status.code(), &*errors), (Some(7), "done\n"));
    let cpus: Vec<CpuSet> = told.lines().map(|line| line.parse().unwrap()).collect();
    assert!(cpus.len() == 2 && !cpus[0].intersects(&cpus[1]), "{told}");
}

#[test]
fn calls_have_hosts_of_their_own() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    let folder = folder();
    let program = compiled(folder.path(), PROGRAM, &[]);
    let program = program.to_str().unwrap();
    let [own, host] = two();
    // With two CPUs both have the same one.
    let other = pin::allowed().unwrap().iter().nth(2).unwrap_or(host);
    let [place, stats, writes] = [own.to_string(), format!("stat,open={host}"), format!("write={other}")];
    for list in ["--delegate=stat,write", "--delegate=stat,write:async", "--delegate=auto,stat,write"] {
        let place = [list, "--place", &place, "--host-cpus", &stats, "--host-cpus", &writes, "--", program];
        let output = delegate(folder.path(), &place).output().unwrap();
        let (told, errors) = texts(&output);
        assert_eq!(output.status.code(), Some(7), "{list}: {errors}");
        let said = format!("hosts on CPU {host} for stat, open, CPU {other} for write");
        assert!(errors.contains(&said), "{list}: {errors}");
        let mut cpus: Vec<u32> = told.lines().map(|cpu| cpu.parse().unwrap()).collect();
        cpus.sort_unstable();
        let mut expected = vec![own, host, other];
        expected.dedup();
        assert!(cpus == expected || list.contains("auto") && cpus == [own], "{list}: {cpus:?}");
    }
}

#[test]
fn each_process_takes_a_host_s_cpu_in_turn() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    let folder = folder();
    let program = compiled(folder.path(), PROGRAM, &[]);
    let [own, host] = two();
    // With two CPUs both have the same one.
    let other = pin::allowed().unwrap().iter().nth(2).unwrap_or(host);
    let [place, hosts] = [own.to_string(), format!("{host},{other}")];
    let script = format!("{0}; {0}; true", program.display());
    let arguments =
        ["--delegate=stat,write,verbose", "--place", &place, "--host-cpus", &hosts, "--host-per-process"];
    let mut command = delegate(folder.path(), &[&arguments[..], &["--", "sh", "-c", &script]].concat());
    let (_, said) = texts(&command.env("COHO_DELEGATE_PATIENCE", "1000000").output().unwrap());
    assert!(said.contains("each process takes one of a list, in turn"), "{said}");
    for cpu in [host, other] {
        assert!(said.contains(&format!("this process's hosts are on CPUs [{cpu}]")), "{cpu}: {said}");
    }
}

#[test]
fn auto_keeps_output_and_status_too() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    let folder = folder();
    let program = compiled(folder.path(), PROGRAM, &[]);
    let program = program.to_str().unwrap();
    for arguments in
        [&["-q", "--delegate", "--", program][..], &["-q", "--delegate=stat,auto", "--", program]]
    {
        let output = delegate(folder.path(), arguments).output().unwrap();
        assert_eq!((output.status.code(), &*texts(&output).1), (Some(7), "done\n"), "{arguments:?}");
    }
}

#[test]
fn the_library_says_what_it_did_if_the_environment_asks_for_it() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    let folder = folder();
    let program = compiled(folder.path(), PROGRAM, &[]);
    let mut command = delegate(folder.path(), &["-q", "--delegate=stat", program.to_str().unwrap()]);
    let (_, errors) = texts(&command.env("COHO_DELEGATE", "verbose").output().unwrap());
    assert!(errors.contains("coho delegate: ") && errors.contains("calls delegated"), "{errors}");
}

#[test]
fn signals_end_a_program_as_without() {
    needs!(Capability::TwoCpus);
    let folder = folder();
    for (signal, name) in [(libc::SIGTERM, "TERM"), (libc::SIGSEGV, "SEGV")] {
        let kill = format!("kill -{name} $$");
        let output =
            delegate(folder.path(), &["-q", "--delegate=stat", "--", "sh", "-c", &kill]).output().unwrap();
        assert_eq!(output.status.code(), Some(128 + signal), "{output:?}");
    }
    // One that is sent to coho is the program's.
    let script = "trap 'exit 9' TERM; echo ready >ready; while :; do sleep 0.01; done";
    let mut child =
        delegate(folder.path(), &["-q", "--delegate=write", "--", "sh", "-c", script]).spawn().unwrap();
    while !folder.path().join("ready").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(9), None));
}

#[test]
fn wrong_usage_says_what_there_is() {
    let unknown = fails(&["run", "--delegate=stat,getpid", "--", "true"], 2);
    assert!(unknown.contains("'getpid'"), "{unknown}");
    for name in coho_run::delegation::NAMES.into_iter().chain(["write:async", "auto"]) {
        assert!(unknown.contains(name), "{name}: {unknown}");
    }
}

#[test]
fn hosts_are_on_allowed_cpus_and_leave_the_program_some() {
    let allowed = pin::allowed().unwrap();
    let other = (0..).find(|cpu| !allowed.contains(*cpu)).unwrap().to_string();
    let why = fails(&["run", "--delegate=stat", "--host-cpus", &other, "--", "touch", "ran"], 1);
    assert!(why.contains(&format!("hosts cannot be on CPU {other}: ")), "{why}");
    let why =
        fails(&["run", "--delegate=stat", "--host-cpus", &allowed.to_string(), "--", "touch", "ran"], 1);
    assert!(why.contains("all of the program's CPUs"), "{why}");
    assert!(!Path::new("ran").exists());
}

#[test]
fn what_cannot_be_delegated_runs_as_without() {
    let folder = folder();
    let first = pin::allowed().unwrap().first().unwrap();
    let script = "echo \"$LD_PRELOAD\"; exit 3";
    let mut command = delegate(folder.path(), &["--delegate=stat", "--", "sh", "-c", script]);
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(move || pin::confine(&CpuSet::from_iter([first]))) };
    let output = command.output().unwrap();
    let (told, errors) = texts(&output);
    assert_eq!((output.status.code(), &*told), (Some(3), "\n"));
    for said in [&format!("needs a second CPU beside CPU {first}"), "the program runs as without --delegate"]
    {
        assert!(errors.contains(said), "{errors}");
    }
    needs!(Capability::CCompiler);
    let program = compiled(folder.path(), "int main(void) { return 5; }\n", &["-static"]);
    let output = delegate(folder.path(), &["--delegate", "--", program.to_str().unwrap()]).output().unwrap();
    let (_, errors) = texts(&output);
    assert!(output.status.code() == Some(5) && errors.contains("statically"), "{errors}");
    let told = fails(&["run", "--delegate", "--try", "--", program.to_str().unwrap()], 1);
    assert!(told.contains("nothing to compare"), "{told}");
}

/// What a program finds in its environment, and what was said.
fn handed_on(folder: &Path, arguments: &[&str]) -> (String, String) {
    let script = "echo \"$COHO_DELEGATE|$COHO_DELEGATE_FLUSH\"";
    texts(&delegate(folder, &[arguments, &["--", "sh", "-c", script]].concat()).output().unwrap())
}

#[test]
fn auto_tries_what_gains_by_the_profile() {
    needs!(Capability::TwoCpus);
    let folder = folder();
    let all = coho_run::delegation::NAMES.join(",") + ",auto|\n";
    let (told, errors) = handed_on(folder.path(), &["--delegate"]);
    assert_eq!(told, all);
    assert!(errors.contains("no profile says which calls gain (`coho calls --footprint`"), "{errors}");

    let mut profile = timed();
    profile.write(&folder.path().join("p.json")).unwrap();
    let (told, errors) = handed_on(folder.path(), &["--delegate", "-p", "p.json"]);
    assert_eq!(told, "write,auto|\n");
    assert!(errors.contains("coho: delegate: auto, of write; hosts on CPU "), "{errors}");
    // What is named is tried, whatever the profile says.
    assert_eq!(handed_on(folder.path(), &["-q", "--delegate=auto,stat", "-p", "p.json"]).0, "stat,auto|\n");

    profile.calls.as_mut().unwrap().footprint.retain(|row| row.call == "getpid");
    profile.write(&folder.path().join("none.json")).unwrap();
    let (told, errors) = handed_on(folder.path(), &["--delegate=auto", "-p", "none.json"]);
    assert_eq!(told, "|\n");
    assert!(
        errors.contains("no call gains on another core at any footprint: the program runs as without"),
        "{errors}"
    );
}

#[test]
fn what_a_crash_may_lose_is_said_where_writes_are_done_later() {
    needs!(Capability::TwoCpus);
    let folder = folder();
    let (told, errors) = handed_on(folder.path(), &["--delegate=write:async"]);
    assert_eq!(told, "write:async|\n");
    assert!(
        errors.contains("may lose its last writes, a log's last lines among them: those of the last 1ms"),
        "{errors}"
    );
    let (told, errors) = handed_on(folder.path(), &["--delegate=write:async", "--delegate-flush", "250us"]);
    assert_eq!(told, "write:async|250\n");
    assert!(errors.contains("of the last 250us"), "{errors}");
    let (_, errors) = handed_on(folder.path(), &["--delegate=write"]);
    assert!(!errors.contains("may lose"), "{errors}");
    assert_eq!(handed_on(folder.path(), &["-q", "--delegate=write:async"]).1, "");
}

#[test]
fn libraries_go_together() {
    needs!(Capability::TwoCpus);
    let folder = folder();
    let cpu = two()[0].to_string();
    let arguments = ["-q", "--openmp", "--per-thread", "--place", &cpu, "--delegate=stat"];
    let script = ["--", "sh", "-c", "echo $LD_PRELOAD"];
    let (told, errors) =
        texts(&delegate(folder.path(), &[&arguments[..], &script].concat()).output().unwrap());
    for library in ["libcoho_pin.so", "libcoho_openmp.so", "libcoho_delegate_preload.so"] {
        assert!(told.contains(library), "{library}: {told}{errors}");
    }
}

#[test]
fn with_and_without_are_tried_in_turn() {
    needs!(Capability::TwoCpus);
    let folder = folder();
    let arguments = ["--delegate=stat", "--try", "--repeat", "6", "--json", "--", "true"];
    let output = delegate(folder.path(), &arguments).output().unwrap();
    let (told, errors) = texts(&output);
    assert!(output.status.success(), "{errors}");
    let trial = json(&told);
    let placements = trial["placements"].as_array().unwrap();
    let names: Vec<_> = placements.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["direct", "delegated"]);
    assert!(placements.iter().all(|one| one["seconds"]["n"] == 6), "{trial}");
    let cpus = |at: usize| placements[at]["cpus"].as_array().unwrap().len();
    assert!(cpus(1) < cpus(0), "the hosts' CPUs are the program's only without: {trial}");
    assert!(errors.contains("coho: direct runs on CPU"), "{errors}");
    assert!(!folder.path().join("coho").exists(), "nothing is remembered as a placement");
}

#[test]
fn choices_are_predicted_from_a_profile_with_curves() {
    let folder = folder();
    let file = folder.path().join("p.json");
    timed().write(&file).unwrap();
    let output = coho(&["predict", "delegate", "--json"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let rows = json(&texts(&output).0);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4, "two calls in two modes: {rows:?}");
    let row = |call: &str, mode: &str| {
        let mut own = rows.iter().filter(|row| row["call"] == call && row["mode"] == mode);
        own.next().unwrap_or_else(|| panic!("{call}, {mode}: {rows:?}"))
    };
    let waits = row("write", "sync");
    assert_eq!((&waits["payload_bytes"], &waits["from_footprint_bytes"]), (&1.into(), &(512 << 10).into()));
    assert_eq!((&waits["gain_ns"], &waits["delegate"]), (&3900.0.into(), &"write".into()), "{waits}");
    let posts = row("write", "async");
    assert_eq!(
        (&posts["from_footprint_bytes"], &posts["delegate"]),
        (&(8 << 10).into(), &"write:async".into())
    );
    for mode in ["sync", "async"] {
        let never = row("getpid", mode);
        assert!(never["delegate"].is_null(), "{never}");
    }
    assert!(row("getpid", "sync")["from_footprint_bytes"].is_null());

    let output = coho(&["predict", "delegate"]).arg(&file).output().unwrap();
    let text = texts(&output).0;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for words in ["512 KiB", "never", "write:async", "CPUs 0 and 1, one-way"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_profile_without_curves_is_told_from_one_in_which_nothing_gains() {
    let folder = folder();
    let file = folder.path().join("p.json");
    Profile::default().write(&file).unwrap();
    let file = file.to_str().unwrap();
    let why = fails(&["predict", "delegate", file], 1);
    assert!(why.contains(&format!("`coho calls --footprint -o {file}` measures them")), "{why}");
    let why = fails(&["predict", "delegate", "published:shimosawa-hori-ishikawa", "--json"], 1);
    assert!(why.contains("coho calls --footprint"), "{why}");
}
