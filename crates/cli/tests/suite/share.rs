//! `coho share`: what sharing lines costs a program, and why that cannot be told of others.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coho_testing::{Capability, needs};
use serde_json::Value;

use crate::support::{assert_valid, coho, json};

/// The program, compiled with these options under a name of its own.
fn program(name: &str, options: &[&str]) -> PathBuf {
    compiled("share.c", name, options)
}

fn compiled(source: &str, name: &str, options: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let mut compiler = Command::new("cc");
    let compiled = compiler.args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).args(options).status();
    assert!(compiled.unwrap().success());
    program
}

/// The section that a run with these arguments gives.
fn share(options: &[&str], program: &Path, arguments: &[&str]) -> Value {
    let _alone = coho_testing::alone();
    let output = coho(&[&["share", "--json"], options, &["--"]].concat())
        .arg(program)
        .args(arguments)
        .output()
        .unwrap();
    let [told, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success() && errors.contains("done"), "the program's own output: {errors}");
    json(&told)
}

#[test]
fn counters_in_one_line_cost_more_than_on_lines_of_their_own() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    // No library can be preloaded into the second.
    let [usual, fixed] = [("share-counters", &[][..]), ("share-static", &["-static"])]
        .map(|(name, options)| program(name, options));
    let cpu_times = |program: &Path, between: &str| {
        let share = share(&["--repeat", "6"], program, &["counters", between, "200000000"]);
        let total = &share["total"];
        let told = total["share_of_cpu_time"].is_object();
        assert!(told != total["why_not"].is_string(), "either a cost or a reason: {total}");
        let (all, one) = (&total["cpu_s"]["median"], &total["one_cpu_s"]["median"]);
        Some(all.as_f64()? / one.as_f64()?)
    };
    // Without the second time, the threads never had both CPUs.
    let padded = cpu_times(&usual, "128");
    for program in [usual, fixed] {
        if let (Some(shared), Some(padded)) = (cpu_times(&program, "8"), padded) {
            assert!(
                shared > padded,
                "{}: {shared} and {padded} times the CPU time of one CPU",
                program.display()
            );
        }
    }
}

#[test]
fn a_line_is_named_with_its_bytes_and_padded_counters_have_none() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    // No library can be preloaded into the second.
    let builds = [("share-lines", &["-g"][..]), ("share-lines-static", &["-g", "-static"])];
    for (name, options) in builds {
        counters_are_named_and_padded_ones_are_not(&program(name, options));
    }
}

fn counters_are_named_and_padded_ones_are_not(program: &Path) {
    let lines = |how: &str, between: &str| {
        let share = share(&["--repeat", "2"], program, &[how, between, "100000000"]);
        let ran_together = share["total"]["at_once"]["median"].as_f64().unwrap_or(0.0) > 1.5;
        assert!(share["lines"].is_array() != share["why_no_lines"].is_string(), "{share}");
        // Threads that other work keeps from running at the same time share nothing.
        ran_together.then(|| share["lines"].as_array().cloned().unwrap_or_default())
    };
    if let Some(falsely) = lines("counters", "8") {
        let [line] = &falsely[..] else { panic!("{falsely:?}") };
        assert_eq!((line["kind"].as_str(), line["threads"].as_u64()), (Some("false"), Some(2)), "{line}");
        assert!(line["at"][0].as_str().is_some_and(|at| at.starts_with("share.c:")), "{line}");
        assert!(line["fix"]["what"].is_string(), "{line}");
        let parts = line["parts"].as_array().unwrap();
        assert!(parts.len() == 2 && parts.iter().all(|part| part["bytes"] == 8), "{line}");
    }
    if let Some(padded) = lines("counters", "128") {
        assert_eq!(padded, Vec::<Value>::new());
    }
}

#[test]
fn fields_of_allocated_memory_are_named_and_their_declaration_is_changed() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = compiled("queue.c", "share-queue", &["-g"]);
    let share = share(&["--repeat", "2"], &program, &["100000000"]);
    if share["total"]["at_once"]["median"].as_f64().unwrap_or(0.0) <= 1.5 {
        return;
    }
    let line = &share["lines"][0];
    assert!(
        line["object"].as_str().is_some_and(|object| object.starts_with("allocated at queue.c:")),
        "{line}"
    );
    let names: Vec<_> = line["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str()).collect();
    assert_eq!(names, [Some("queue.head"), Some("queue.tail")], "{line}");
    let what = line["fix"]["what"].as_str().unwrap();
    assert!(what.starts_with("put `queue.head` and `queue.tail` on different lines"), "{what}");
    assert!(what.contains("aligned_alloc"), "malloc does not know the type's alignment: {what}");
    let patch = line["fix"]["patch"].as_str().unwrap();
    assert!(patch.contains("+    _Alignas(64) volatile long head, tail;"), "{patch}");
}

#[test]
fn goroutines_counters_are_named_with_their_source_line() {
    needs!(Capability::Go, Capability::TwoCpus);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("share-go");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/share.go");
    let mut compiler = Command::new("go");
    compiler.args(["build", "-o"]).arg(&program).arg(&source).current_dir(folder);
    assert!(compiler.env("GOCACHE", folder.join("go-cache")).env("GOFLAGS", "").status().unwrap().success());
    let text = std::fs::read_to_string(source).unwrap();
    let line_of = |code: &str| 1 + text.lines().position(|line| line.contains(code)).unwrap();
    for (how, code, repeats) in
        [("atomic", "atomic.Add", "40000000"), ("plain", "*mine++", "300000000"), ("apart", "", "100000000")]
    {
        let share = share(&["--repeat", "2"], &program, &[how, repeats]);
        if share["total"]["at_once"]["median"].as_f64().unwrap_or(0.0) <= 1.5 {
            // Other work kept the threads from running at the same time.
            continue;
        }
        let lines = share["lines"].as_array().unwrap_or_else(|| panic!("{share}"));
        if how == "apart" {
            assert_eq!(*lines, Vec::<Value>::new());
            continue;
        }
        // Goroutines move between threads, so what one of them alone touches may seem shared.
        let [line] = &lines[..] else { panic!("{how}: {lines:?}") };
        assert_eq!(line["object"], "global main.counters", "{line}");
        assert_eq!(line["at"][0], format!("share.go:{}", line_of(code)), "{line}");
        let parts = line["parts"].as_array().unwrap();
        assert_eq!(
            [&parts[0]["name"], &parts[1]["name"]],
            ["main.counters[0]", "main.counters[1]"],
            "{line}"
        );
    }
}

/// Such a program is linked with the C library, but Go's runtime handles all signals.
#[test]
fn goroutines_of_a_dynamic_program_are_sampled_too() {
    needs!(Capability::Go, Capability::CCompiler, Capability::TwoCpus);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("share-cgo");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut compiler = Command::new("go");
    compiler.args(["build", "-o"]).arg(&program).args(["share.go", "share_c.go"]).current_dir(sources);
    compiler.env("GOCACHE", folder.join("go-cache")).env("GOFLAGS", "").env("CGO_ENABLED", "1");
    assert!(compiler.status().unwrap().success());
    let share = share(&["--repeat", "1"], &program, &["atomic", "40000000"]);
    if share["total"]["at_once"]["median"].as_f64().unwrap_or(0.0) > 1.5 {
        let [line] = &share["lines"].as_array().unwrap()[..] else { panic!("{share}") };
        assert_eq!(line["object"], "global main.counters", "{line}");
    }
}

/// Whether a process still runs.
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_program_ends_with_coho_even_if_that_is_killed() {
    needs!(Capability::CCompiler, Capability::Tracing);
    let _alone = coho_testing::alone();
    for (name, options) in [("share-killed", &[][..]), ("share-killed-static", &["-static"])] {
        let program = program(name, options);
        let mut command = coho(&["share", "--"]);
        // It would take hours.
        let words = ["sh", "-c", "echo $$; exec \"$0\" counters 8 100000000000000"];
        let command = match options {
            [] => command.args(words).arg(program),
            _ => command.arg(&program).args(["counters", "8", "100000000000000"]),
        };
        let mut coho = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let own = coho.id().to_string();
        let child = || {
            let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap();
            children.split_ascii_whitespace().next().map(str::to_owned)
        };
        let threads =
            |process: &str| std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
        let process = loop {
            match child() {
                Some(process) if threads(&process) == 3 => break process,
                _ => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        };
        coho.kill().unwrap();
        coho.wait().unwrap();
        let ended = (0..2000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            !runs(&process)
        });
        assert!(ended, "{name}: {process} still runs");
    }
}

#[test]
fn a_process_with_mounts_of_its_own_is_named_by_its_own_files() {
    needs!(
        Capability::CCompiler,
        Capability::TwoCpus,
        Capability::Tracing,
        Capability::Mounts,
        Capability::Root
    );
    let _alone = coho_testing::alone();
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs none $0 && cp $1 $0/elsewhere && exec $0/elsewhere counters 8 5000000000";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(folder.path());
    let mut running = command.arg(program("share-mounts", &["-g"])).stdout(Stdio::null()).spawn().unwrap();
    let process = running.id();
    // Until it is the program, with its threads.
    while std::fs::read_dir(format!("/proc/{process}/task")).unwrap().count() < 3 {
        assert!(running.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let watch = ["share", "--json", "--attach", &process.to_string(), "--duration", "1"];
    let output = coho(&watch).output().unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(output.status.success() && !folder.path().join("elsewhere").exists(), "{output:?}");
    let share = json(&String::from_utf8(output.stdout).unwrap());
    let seconds = [&share["method"]["parameters"]["sampled_s"], &share["method"]["duration_s"]];
    let [sampled, elapsed] = seconds.map(|seconds| seconds.as_f64().unwrap());
    if sampled > 1.5 * elapsed {
        let [line] = &share["lines"].as_array().unwrap()[..] else { panic!("{share}") };
        assert!(line["at"][0].as_str().unwrap().starts_with("share.c:"), "{line}");
    }
}

/// The states of a process's threads, and who traces them.
fn states(process: u32) -> Vec<(char, String)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let state = |task: PathBuf| {
        let status = std::fs::read_to_string(task.join("status")).unwrap();
        let word = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
        (word("State:").chars().next().unwrap(), word("TracerPid:").to_owned())
    };
    tasks.map(|task| state(task.unwrap().path())).collect()
}

#[test]
fn a_process_that_runs_is_watched_and_runs_on() {
    needs!(Capability::CCompiler, Capability::TwoCpus, Capability::Tracing);
    let _alone = coho_testing::alone();
    for (name, options) in [("share-attached", &["-g"][..]), ("share-attached-static", &["-g", "-static"])] {
        let mut command = Command::new(program(name, options));
        let running = command.args(["counters", "8", "3000000000"]).stdout(Stdio::piped()).spawn().unwrap();
        let process = running.id().to_string();
        let watch = ["share", "--json", "--attach", &process, "--duration", "1"];
        let output = coho(&watch).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        for (state, tracer) in states(running.id()) {
            assert!(state != 't' && state != 'T' && tracer == "0", "{state} {tracer}");
        }
        let share = json(&String::from_utf8(output.stdout).unwrap());
        assert!(share["total"]["share_of_cpu_time"].is_null() && share["total"]["why_not"].is_string());
        let seconds = [&share["method"]["parameters"]["sampled_s"], &share["method"]["duration_s"]];
        let [sampled, elapsed] = seconds.map(|seconds| seconds.as_f64().unwrap());
        // Other work may keep the threads from running at the same time.
        if sampled > 1.5 * elapsed {
            let [line] = &share["lines"].as_array().unwrap()[..] else { panic!("{share}") };
            assert_eq!(
                (line["kind"].as_str(), line["cost_share"].is_null()),
                (Some("false"), true),
                "{line}"
            );
            assert!(line["at"][0].as_str().unwrap().starts_with("share.c:"), "{line}");
        }
        // However coho ends.
        for signal in [libc::SIGINT, libc::SIGKILL] {
            let mut watching = coho(&watch).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            while states(running.id()).iter().any(|(_, tracer)| *tracer == "0") {
                assert_eq!(watching.try_wait().unwrap(), None);
            }
            // SAFETY: a child that has not been waited for.
            unsafe { libc::kill(watching.id() as libc::pid_t, signal) };
            watching.wait().unwrap();
            for (state, tracer) in states(running.id()) {
                assert!(state != 't' && state != 'T' && tracer == "0", "{state} {tracer}");
            }
        }
        let output = running.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"done\n"[..]));
    }
}

#[test]
fn long_rounds_are_preceded_by_what_one_run_each_shows() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = program("share-first", &["-g"]);
    let _alone = coho_testing::alone();
    let mut command = coho(&["share", "--json", "--repeat", "1000", "--time-limit", "1s", "--"]);
    let output = command.arg(&program).args(["counters", "8", "100000000"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    // Other work may keep its threads from ever running at the same time.
    let total = &json(&String::from_utf8(output.stdout).unwrap())["total"];
    if total["at_once"]["median"].as_f64().is_some_and(|at_once| at_once > 1.5) {
        assert!(told.contains("provisional, by one run each: "), "{told}");
        assert!(told.contains("provisional, by one recorded run: "), "{told}");
    }
}

/// Has coho end by a signal once `is_time` finds so in what it and the program have printed.
fn ended(mut command: Command, is_time: impl Fn(&str) -> bool) -> (Option<i32>, String) {
    let mut coho = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut errors, mut told) = (coho.stderr.take().unwrap(), Vec::new());
    let mut byte = [0];
    while !is_time(&String::from_utf8_lossy(&told)) && errors.read(&mut byte).unwrap() == 1 {
        told.extend(byte);
    }
    // SAFETY: a child that has not been waited for.
    unsafe { libc::kill(coho.id() as libc::pid_t, libc::SIGTERM) };
    errors.read_to_end(&mut told).unwrap();
    (coho.wait().unwrap().code(), String::from_utf8(told).unwrap())
}

#[test]
fn a_signal_before_the_first_round_ends_it_all() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = program("share-early", &[]);
    let _alone = coho_testing::alone();
    let mut command = coho(&["share", "--repeat", "1000", "--time-limit", "20s", "--"]);
    command.arg(&program).args(["counters", "8", "300000000"]);
    // The run that is recorded then is the last before the rounds. Without it, threads never had both CPUs.
    let (status, told) = ended(command, |told| told.contains("one run each: "));
    if told.contains("one run each: ") {
        assert_eq!(status, Some(128 + libc::SIGTERM), "{told}");
        assert!(told.contains("no round was complete"), "{told}");
    }
}

#[test]
fn what_the_program_has_started_ends_with_it() {
    needs!(Capability::CCompiler);
    let program = program("share-started", &[]);
    let _alone = coho_testing::alone();
    let mut command =
        coho(&["share", "--", "sh", "-c", "\"$0\" counters 8 100000000000000 & echo $! >&2; wait"]);
    command.arg(&program);
    let (status, told) = ended(command, |told| told.contains('\n'));
    assert_eq!(status, Some(128 + libc::SIGTERM), "{told}");
    let started = told.lines().next().unwrap();
    assert!(!runs(started), "{told}");
}

#[test]
fn what_cannot_be_watched_is_told_why() {
    let refused = |process: &str| {
        let output = coho(&["share", "--attach", process]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let absent = refused("99999999");
    assert!(absent.contains("there is no process 99999999"), "{absent}");
    let both = coho(&["share", "--attach", "1", "--", "true"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2), "{both:?}");
}

#[test]
fn samples_that_perf_has_recorded_are_read_or_refused_by_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("samples.txt");
    let read = |text: &str| {
        std::fs::write(&samples, text).unwrap();
        coho(&["share", "--json", "--perf"]).arg(&samples).output().unwrap()
    };
    let sample = |thread: u64, time: u64, address: u64| {
        format!(
            "  416/{thread}  5.{time:09}:  {address:x}  68100144 |OP STORE|LVL L1 hit| {:x}\n",
            thread << 16
        )
    };
    let turns = |turn: u64| sample(417 + turn % 2, 1000 * turn, 0x7f00_0000_1000 + 8 * (turn % 2));
    let output = read(&(0..40).map(turns).collect::<String>());
    let share = json(&String::from_utf8(output.stdout).unwrap());
    let line = &share["lines"][0];
    assert_eq!((line["kind"].as_str(), line["threads"].as_u64()), (Some("false"), Some(2)), "{share}");
    assert!(share["total"]["why_not"].is_string(), "{share}");
    for (text, why) in [("nothing", "no memory samples"), ("PERFILE2", "perf")] {
        let output = read(text);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && error.contains(why) && error.contains("samples.txt"),
            "{error}"
        );
    }
    let both = coho(&["share", "--perf", "x", "--attach", "1"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_program_without_room_to_be_recorded_is_told_so() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = program("share-limited", &[]);
    let _alone = coho_testing::alone();
    let mut limited = Command::new("sh");
    // The limit leaves room for the program, but not for the file that it is recorded into.
    limited.args(["-c", "ulimit -v 110000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_coho")]);
    let output = limited
        .args(["share", "--json", "--repeat", "1", "--"])
        .arg(&program)
        .args(["counters", "8", "50000000"])
        .output()
        .unwrap();
    let share = json(&String::from_utf8(output.stdout).unwrap());
    if share["total"]["at_once"]["median"].as_f64().unwrap_or(0.0) > 1.5 {
        let why = share["why_no_lines"].as_str().unwrap_or_default();
        assert!(why.contains("107 MiB of addresses (ulimit -v)"), "{share}");
    }
}

#[test]
fn what_cannot_be_told_has_a_reason_and_no_figure() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let usual = program("share-reasons", &[]);
    let reason = |options: &[&str], program: &Path, arguments: &[&str]| {
        let total = share(options, program, arguments)["total"].take();
        assert!(total["share_of_cpu_time"].is_null(), "{total}");
        total["why_not"].as_str().unwrap().to_owned()
    };
    let alone = reason(&[], &usual, &["counters", "8", "100000000", "1"]);
    assert!(alone.contains("hardly ran at the same time"), "{alone}");
    let first = coho_platform::pin::allowed().unwrap().first().unwrap().to_string();
    let one_cpu = reason(&["--cpus", &first], &usual, &["counters", "8", "1000"]);
    assert!(one_cpu.contains("one CPU only"), "{one_cpu}");
}

#[test]
fn a_ring_that_spins_is_ended_and_has_no_cost() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = program("share-ring", &[]);
    let total = share(&["--repeat", "6"], &program, &["ring", "8", "1000000"])["total"].take();
    let why = total["why_not"].as_str().unwrap();
    // Other work may keep the two threads from running at the same time at all.
    assert!(why.contains("by spinning") || why.contains("hardly ran"), "{why}");
    assert!(total["share_of_cpu_time"].is_null());
}

#[test]
fn the_program_keeps_its_output_and_its_status() {
    let _alone = coho_testing::alone();
    let output = coho(&["share", "--", "sh", "-c", "echo once; exit 7"]).output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(7), &b"once\n"[..]), "{output:?}");
    let absent = coho(&["share", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(absent.status.code(), Some(127), "{absent:?}");
    let option = coho(&["share", "--no-such-option", "true"]).output().unwrap();
    assert_eq!(option.status.code(), Some(2), "{option:?}");
}

#[test]
fn a_profile_keeps_the_section_beside_its_others() {
    let _alone = coho_testing::alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let mut command = coho(&["share", "-o"]);
    let output = command.arg(&file).args(["--", "sh", "-c", "echo mine"]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && told.starts_with("mine\n"), "{told}");
    assert!(told.contains("cannot be told"), "{told}");
    let profile = json(&std::fs::read_to_string(&file).unwrap());
    assert_valid(&profile);
    assert_eq!(profile["share"]["command"], serde_json::json!(["sh", "-c", "echo mine"]));
    assert!(profile["host"].is_object());
}
