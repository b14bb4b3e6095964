//! `coho run --openmp`: OpenMP programs as they are, on coho's teams.

use std::path::{Path, PathBuf};
use std::process::Command;

use coho_profile::{BarrierTime, Estimate, ForkJoinTime, Profile, Sync, SyncPeer};
use coho_testing::{Capability, needs};
use serde_json::Value;
use tempfile::TempDir;

fn coho(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    command.args(words).env_remove("COHO_OPENMP").env("OMP_NUM_THREADS", "2");
    command
}

/// A program, compiled with these options.
fn program(folder: &TempDir, text: &str, options: &[&str]) -> PathBuf {
    let program = folder.path().join("program");
    let source = program.with_extension("c");
    std::fs::write(&source, text).unwrap();
    let compiled =
        Command::new("gcc").args(["-o"]).arg(&program).arg(&source).args(options).output().unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    program
}

/// Counts its threads, and ends with status 7.
const REGION: &str = "#include <stdio.h>\nint main(void) { int n = 0;\n#pragma omp parallel reduction(+ : n)\nn++;\n\
                      printf(\"%d threads\\n\", n); return 7; }\n";

fn decision(program: &Path) -> Value {
    let output = coho(&["run", "--openmp", "--check", "--json"]).arg(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_program_keeps_its_output_and_its_status() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, REGION, &["-fopenmp"]);
    for words in [&["run", "-q", "--openmp", "--"][..], &["run", "-q", "--openmp"]] {
        let output = coho(words).arg(&program).env("COHO_OPENMP", "verbose").output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert_eq!(output.stdout, b"2 threads\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "coho openmp: taken over\n");
    }
    let off = coho(&["run", "-q", "--openmp"]).arg(&program).env("COHO_OPENMP", "off").output().unwrap();
    assert_eq!((off.status.code(), off.stdout, off.stderr), (Some(7), b"2 threads\n".to_vec(), Vec::new()));
}

#[test]
fn what_is_not_known_stands_aside_and_says_why() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(
        &folder,
        "#include <stdio.h>\nint main(void) { int n = 0;\n#pragma omp target map(tofrom : n)\n\
         for (int i = 0; i < 9; i++) n = n * 3 + i;\nprintf(\"%d\\n\", n); return 0; }\n",
        &["-fopenmp"],
    );
    let output =
        coho(&["run", "-q", "--openmp"]).arg(&program).env("COHO_OPENMP", "verbose").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.starts_with("coho openmp: stands aside: imports GOMP_"),
        "{errors}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4916\n");
    let decision = decision(&program);
    assert_eq!((&decision["served"], &decision["runtime"]), (&Value::Bool(false), &Value::from("libgomp")));
    let missing = decision["missing"].as_array().unwrap();
    assert!(missing.iter().any(|name| name.as_str().unwrap().contains("target")), "{decision}");
    assert!(decision["reason"].as_str().unwrap().contains("target"), "{decision}");
}

#[test]
fn a_check_tells_what_is_imported_without_running_the_program() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let decided = decision(&program(&folder, REGION, &["-fopenmp"]));
    assert_eq!((&decided["served"], &decided["runtime"]), (&Value::Bool(true), &Value::from("libgomp")));
    assert!(decided["imports"].as_array().unwrap().contains(&"GOMP_parallel".into()), "{decided}");
    assert_eq!((&decided["missing"], decided.get("reason")), (&Value::Array(Vec::new()), None));

    let decided = decision(&program(&folder, "int main(void) { return 0; }\n", &[]));
    assert_eq!(
        (&decided["served"], &decided["runtime"], &decided["imports"]),
        (&Value::Bool(false), &Value::from("none"), &Value::Array(Vec::new()))
    );

    let decided = decision(&program(&folder, REGION, &["-fopenmp", "-static"]));
    assert!(decided["reason"].as_str().unwrap().contains("statically"), "{decided}");
}

#[test]
fn what_cannot_be_checked_is_said() {
    for (program, why) in
        [("no-such-program", "there is no program"), ("/proc/self/status", "not a 64-bit ELF")]
    {
        let output = coho(&["run", "--openmp", "--check", program]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && errors.contains(why), "{errors}");
    }
    for words in [
        &["run", "--check", "true"][..],
        &["run", "--json", "true"],
        &["run", "--no-such-option", "--", "true"],
    ] {
        let output = coho(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

#[test]
fn with_and_without_are_tried_in_turn() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, &REGION.replace("return 7", "return 0"), &["-fopenmp"]);
    let output =
        coho(&["run", "--openmp", "--try", "--repeat", "6", "--json", "--"]).arg(&program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let trial: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> =
        trial["placements"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["libgomp", "coho"]);
    assert!(trial["placements"].as_array().unwrap().iter().all(|one| one["seconds"]["n"] == 6), "{trial}");
    assert!(trial["decided"].is_boolean(), "{trial}");
}

/// 50 regions of 10 barriers, a loop and a `single` each, and one region of another size.
const COUNTED: &str = "#include <stdio.h>\nint main(void) { int n = 0;\nfor (int i = 0; i < 50; i++) {\n\
                       #pragma omp parallel num_threads(2)\n{ for (int j = 0; j < 7; j++) {\n#pragma omp barrier\n}\n\
                       #pragma omp for schedule(dynamic)\nfor (int j = 0; j < 4; j++) {\n#pragma omp atomic\nn++;\n}\n\
                       #pragma omp single\nn++;\n\
                       #pragma omp barrier\n} }\n\
                       #pragma omp parallel num_threads(3)\n{\n#pragma omp atomic\nn++;\n}\n\
                       printf(\"%d\\n\", n); return 0; }\n";

fn predicted(counts: &Path, profile: &Path, words: &[&str]) -> std::process::Output {
    coho(&["predict", "openmp"]).arg(counts).arg("-p").arg(profile).args(words).output().unwrap()
}

#[test]
fn regions_and_barriers_are_counted_and_priced() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, COUNTED, &["-fopenmp"]);
    let file = folder.path().join("counts.json");
    let output =
        coho(&["run", "-q", "--openmp", "--count"]).arg(&file).arg("--").arg(&program).output().unwrap();
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"253\n"[..], &b""[..]), "{output:?}");
    let counts: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let process = &counts["processes"][0];
    let (two, three) = (&process["teams"][0], &process["teams"][1]);
    let figures = ["threads", "regions", "nested", "barriers", "loops", "singles"];
    assert_eq!(figures.map(|name| two[name].as_u64().unwrap()), [2, 50, 0, 500, 50, 50], "{counts}");
    assert_eq!(figures.map(|name| three[name].as_u64().unwrap()), [3, 1, 0, 0, 0, 0], "{counts}");
    let seconds = |of: &Value, name: &str| of[name].as_f64().unwrap();
    for team in [two, three] {
        assert!(0.0 < seconds(team, "waiting_s") && seconds(team, "waiting_s") <= seconds(team, "inside_s"));
    }
    assert!(seconds(two, "inside_s") + seconds(three, "inside_s") <= seconds(process, "seconds"), "{counts}");

    let profile = folder.path().join("profile.json");
    priced(&[2]).write(&profile).unwrap();
    let lacks = predicted(&file, &profile, &["--json"]);
    let told: Value = serde_json::from_slice(&lacks.stdout).unwrap();
    assert_eq!(lacks.status.code(), Some(1), "{told}");
    assert!(told["processes"][0]["not_available"].as_str().unwrap().contains("--threads 3"), "{told}");

    priced(&[2, 3]).write(&profile).unwrap();
    let output = predicted(&file, &profile, &["--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let process = &told["processes"][0];
    let in_all = (51.0 * 200.0 + 500.0 * 100.0) * 1e-9;
    let predicted_s = seconds(&process["predicted_s"], "median");
    assert!((predicted_s - seconds(process, "work_s") - in_all).abs() < 1e-9, "{told}");
    let error = predicted_s / seconds(process, "measured_s") - 1.0;
    assert!((seconds(process, "error") - error).abs() < 1e-9, "{told}");
    let libgomp = seconds(&process["libgomp_s"], "median");
    assert!((libgomp - seconds(process, "work_s") - 10.0 * in_all).abs() < 1e-8, "{told}");
    assert!(told["findings"][0].as_str().unwrap().contains("times as long"), "{told}");

    let output = predicted(&file, &profile, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for word in ["fork and join", "500", "predicted  ", "measured   ", "libgomp    "] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// Fork and join of 200 ns and barriers of 100; libgomp's take ten times as long.
fn priced(teams: &[u32]) -> Profile {
    let mut sync = Sync::default();
    for &threads in teams {
        sync.barriers.push(BarrierTime {
            algorithm: "fbs".into(),
            layout: "separate-lines".into(),
            threads,
            mapping: "sequential".into(),
            ns: Some(Estimate::exact(100.0)),
            ..BarrierTime::default()
        });
        sync.fork_join.push(ForkJoinTime {
            algorithm: "team".into(),
            threads,
            mapping: "sequential".into(),
            total_ns: Some(Estimate::exact(200.0)),
            ..ForkJoinTime::default()
        });
        sync.peers.extend([("barrier", 1000.0), ("fork-join", 2000.0)].map(|(operation, ns)| SyncPeer {
            name: "libgomp".into(),
            operation: operation.into(),
            threads,
            ns: Some(Estimate::exact(ns)),
            ..SyncPeer::default()
        }));
    }
    Profile { sync: Some(sync), ..Profile::default() }
}

#[test]
fn counts_are_missing_only_with_a_reason() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counts.json");
    let none = coho(&["run", "-q", "--openmp", "--count"]).arg(&file).args(["--", "true"]).output().unwrap();
    let errors = String::from_utf8_lossy(&none.stderr);
    assert!(none.status.success() && errors.contains("nothing was counted") && !file.exists(), "{errors}");
    for (text, why) in [
        ("", "does not hold counts of `coho run --openmp --count`"),
        ("{\"openmp_counts\":2,\"command\":[],\"processes\":[]}", "version 2"),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = predicted(&file, &file, &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && errors.contains(why), "{errors}");
    }
}

/// A program that calls a function of LLVM's OpenMP runtime that coho does not serve, and a stand-in for that runtime.
fn of_another_compiler(folder: &TempDir) -> PathBuf {
    let runtime = folder.path().join("libomp.so.5");
    let source = folder.path().join("libomp.c");
    std::fs::write(
        &source,
        "int omp_get_max_threads(void) { return 1; }\nvoid __kmpc_omp_target_task_alloc(void) {}\n",
    )
    .unwrap();
    let compiled = Command::new("gcc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libomp.so.5", "-o"])
        .args([&runtime, &source])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    let text = "int omp_get_max_threads(void);\nvoid __kmpc_omp_target_task_alloc(void);\n\
                int main(void) { __kmpc_omp_target_task_alloc(); return omp_get_max_threads() - 1; }\n";
    let path = format!("-Wl,-rpath,{}", folder.path().display());
    program(folder, text, &[runtime.to_str().unwrap(), &path])
}

#[test]
fn what_another_runtime_runs_is_said() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = of_another_compiler(&folder);
    let shell = format!("{0} && {0}", program.display());
    for (command, who) in
        [(vec![program.to_str().unwrap()], "the program"), (vec!["sh", "-c", &shell], "2 processes")]
    {
        let output = coho(&["run", "-q", "--openmp", "--"]).args(&command).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.starts_with(&format!(
                "coho: libomp has run {who}, not coho's teams: imports __kmpc_omp_target_task_alloc"
            )),
            "{said}"
        );
        let tried =
            coho(&["run", "--openmp", "--try", "--repeat", "1", "--"]).args(&command).output().unwrap();
        let said = String::from_utf8_lossy(&tried.stderr);
        assert_eq!((tried.status.code(), &tried.stdout[..]), (Some(1), &b""[..]), "{tried:?}");
        assert!(
            said.contains("there is nothing to compare: ") && said.contains("__kmpc_omp_target_task_alloc"),
            "{said}"
        );
    }
    let decided = decision(&program);
    let missing = Value::from(vec!["__kmpc_omp_target_task_alloc"]);
    assert_eq!(
        (&decided["runtime"], &decided["served"]),
        (&"libomp".into(), &Value::Bool(false)),
        "{decided}"
    );
    assert_eq!(decided["missing"], missing, "{decided}");
    // coho prints nothing if its own runtime ran the process, or if the user asked for libgomp.
    let with_libgomp = self::program(&folder, REGION, &["-fopenmp"]);
    let output = coho(&["run", "-q", "--openmp", "--", "sh", "-c"]).arg(&with_libgomp).output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(7), Vec::new()));
}

#[test]
fn a_command_without_openmp_is_told_so() {
    let run = coho(&["run", "-q", "--openmp", "--", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.starts_with("coho: nothing ran on coho's teams"), "{said}");
    let tried = coho(&["run", "--openmp", "--try", "--repeat", "1", "--", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&tried.stderr);
    assert!(tried.status.code() == Some(1) && said.contains("there is nothing to compare"), "{said}");
}

#[test]
fn a_check_says_that_it_does_not_look_at_what_a_program_starts() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, REGION, &["-fopenmp"]);
    let check = |words: &[&str]| {
        let output = coho(&["run", "--openmp", "--check", "--"]).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let path = program.to_str().unwrap();
    let said = check(&["env", "OMP_DYNAMIC=false", path]);
    assert!(
        said.starts_with("env itself would run as without --openmp: it imports no OpenMP functions."),
        "{said}"
    );
    assert!(said.contains(&format!("Its argument {path} would run on coho's teams.")), "{said}");
    assert!(said.contains("What it opens or starts while it runs was not examined"), "{said}");
    let script = folder.path().join("script");
    std::fs::write(&script, format!("#!/bin/sh\n{path}\n")).unwrap();
    let said = check(&[script.to_str().unwrap()]);
    assert!(said.contains("itself would run as without --openmp: it is a script."), "{said}");
    assert!(said.contains("opens or starts"), "{said}");
    assert!(!check(&[path]).contains("starts"));
}

#[test]
fn what_a_command_starts_is_tried_under_its_own_name() {
    needs!(Capability::Gcc);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, &REGION.replace("return 7", "return 0"), &["-fopenmp"]);
    let output = coho(&["run", "--openmp", "--try", "--repeat", "6", "--json", "--", "sh", "-c"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let trial: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(trial["placements"][0]["name"], "libgomp");
}

/// A region without work, 100,000 times, and another that is executed once.
const EMPTY: &str = "#include <stdio.h>\nint main(void) { int n = 0;\nfor (int i = 0; i < 100000; i++) {\n\
                     #pragma omp parallel\n__asm__ volatile(\"\" ::: \"memory\");\n}\n\
                     #pragma omp parallel reduction(+ : n)\nn++;\nprintf(\"%d threads\\n\", n); return 3; }\n";

#[test]
fn numbers_of_threads_are_found_and_told() {
    needs!(Capability::Gcc);
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, EMPTY, &["-fopenmp"]);
    let words = ["run", "-q", "--openmp", "--threads", "auto", "--json", "--"];
    let output = coho(&words).arg(&program).output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(3), &b"2 threads\n"[..]), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let process = &told["processes"][0];
    assert_eq!(process["kept"], Value::Null, "{told}");
    let with = |executions: u64| {
        let regions = process["regions"].as_array().unwrap();
        regions.iter().find(|region| region["executions"] == executions).unwrap()
    };
    let (empty, once) = (with(100_000), with(1));
    assert_eq!((&empty["threads"], &empty["of"], &empty["decided"]), (&1.into(), &2.into(), &true.into()));
    let ns = |threads: u64| {
        let tried = empty["tried"].as_array().unwrap().iter();
        tried.filter(|one| one["threads"] == threads).map(|one| one["ns"].as_f64().unwrap()).next().unwrap()
    };
    assert!(ns(1) < ns(2), "{told}");
    assert_eq!((&once["threads"], &once["decided"]), (&2.into(), &false.into()), "{told}");
    assert!(once["place"].as_str().unwrap().starts_with("program+0x"), "{told}");

    let output = coho(&["run", "--openmp", "--threads", "auto", "--"]).arg(&program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"2 threads\n"[..]), "{output:?}");
    assert!(said.contains("has 1 thread of 2 in 100000 executions: "), "{said}");
    assert!(said.contains("has 2 threads of 2 in 1 executions: too few to compare"), "{said}");

    let asks = "#include <omp.h>\nint main(void) { int n = omp_get_max_threads();\n#pragma omp parallel\n\
                __asm__ volatile(\"\" :: \"r\"(n));\nreturn 0; }\n";
    let program = self::program(&folder, asks, &["-fopenmp"]);
    let output = coho(&["run", "--openmp", "--threads", "auto", "--"]).arg(&program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("omp_get_max_threads; OMP_DYNAMIC=true allows fewer"), "{said}");
    let other = coho(&["run", "--threads", "auto", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(other.status.code() == Some(2) && said.contains("--threads auto is for --openmp"), "{said}");
}
