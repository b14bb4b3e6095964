//! `coho run` as people call it: the command's CPUs, its exit status, and what is said.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use coho_platform::pin;
use coho_testing::{Capability, needs};
use coho_topology::CpuSet;

use crate::support::{assert_valid, coho, json, run, succeeds};

const WHERE: &str = "sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status";

/// The CPUs that a command may use under a placement.
fn cpus(placement: &str) -> CpuSet {
    succeeds(&["run", "--quiet", "--place", placement, "--", "sh", "-c", WHERE]).parse().unwrap()
}

#[test]
fn a_command_and_its_descendants_run_where_the_placement_says() {
    let allowed = pin::allowed().unwrap();
    assert_eq!(cpus("none"), allowed);
    let last = allowed.last().unwrap();
    assert_eq!(cpus(&last.to_string()), CpuSet::from_iter([last]));
    assert_eq!(cpus("compact").len(), 1);
    assert!(cpus("spread").is_subset(&allowed) && cpus("smt").is_subset(&allowed));
    let grandchild = format!("sh -c \"{WHERE}\"; true");
    let output = succeeds(&["run", "-q", "--place", "compact", "--", "sh", "-c", &grandchild]);
    assert_eq!(output.parse::<CpuSet>().unwrap().len(), 1, "{output}");
}

/// A mask is called a mask, and CPUs that are dealt out are.
#[test]
fn a_job_s_processes_are_dealt_out_if_that_is_asked_for() {
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    let list = format!("{},{}", cpus[1], cpus[0]);
    let script = format!("(exec {WHERE}); (exec {WHERE}); true");
    let said = |arguments: &[&str]| {
        let all = [&["run", "--place", &list][..], arguments, &["--", "sh", "-c", &script]].concat();
        let output = coho(&all).output().unwrap();
        let [told, seen] = [output.stderr, output.stdout].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{told}");
        (told, seen.lines().map(|line| line.parse().unwrap()).collect::<Vec<CpuSet>>())
    };
    let (told, seen) = said(&[]);
    assert!(
        told.contains("one mask, within which the scheduler places") && !told.contains("on the next"),
        "{told}"
    );
    assert!(seen.iter().all(|mask| mask.len() == 2), "{seen:?}");
    let (told, seen) = said(&["--per-process"]);
    assert!(told.contains("each new process on the next") && !told.contains("mask"), "{told}");
    assert!(seen.iter().all(|mask| mask.len() == 1) && seen[0] != seen[1], "{told}: {seen:?}");
    let one = coho(&["run", "--place", &cpus[0].to_string(), "--", "true"]).output().unwrap();
    let told = String::from_utf8(one.stderr).unwrap();
    assert!(!told.contains("mask") && !told.contains("on the next"), "one CPU is not dealt out: {told}");
}

#[test]
fn the_inherited_mask_is_never_left() {
    let first = pin::allowed().unwrap().first().unwrap();
    for placement in ["compact", "spread", "none", "smt"] {
        let mut command = coho(&["run", "-q", "--place", placement, "--", "sh", "-c", WHERE]);
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(move || pin::confine(&CpuSet::from_iter([first]))) };
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), first.to_string(), "{placement}");
    }
}

#[test]
fn a_command_is_ended_by_a_limit_on_files_as_without_coho() {
    let kill = format!("kill -{} $$", libc::SIGXFSZ);
    let mut command = coho(&["run", "-q", "--place", "none", "--", "sh", "-c", &kill]);
    let usual = || {
        // SAFETY: one system call between fork and exec.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: as above.
    let status = unsafe { command.pre_exec(usual) }.status().unwrap();
    assert_eq!(status.code(), Some(128 + libc::SIGXFSZ));
}

#[test]
fn says_what_it_chose_in_one_line_with_two_figures() {
    let output = run(&["run", "--place", "compact", "--", "true"]);
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(line.starts_with("coho: compact: CPU ") && line.lines().count() == 1, "{line}");
    assert!(line.matches('%').count() == 2 || pin::allowed().unwrap().len() == 1, "{line}");
    assert!(line.chars().count() <= 81, "{line}");
    assert!(output.stdout.is_empty());
    let line = |arguments: &[&str]| {
        let output = run(&[&["run"], arguments, &["--", "true"]].concat());
        String::from_utf8(output.stderr).unwrap()
    };
    let none = line(&["--place", "none"]);
    assert!(
        none.contains("the scheduler chooses among CPUs ") || pin::allowed().unwrap().len() == 1,
        "{none}"
    );
    assert!(none.contains("; load "), "{none}");
    let cpus = pin::allowed().unwrap().len();
    let told = line(&["--place", "compact", "--threads", &(cpus + 3).to_string()]);
    assert!(told.contains(&format!("{} threads share {cpus} CPU", cpus + 3)), "{told}");
    assert!(!line(&["--place", "compact", "--threads", "1"]).contains("share"));
    let told = line(&["--place", "60000"]);
    assert!(told.contains("CPU 60000 cannot be used: there is no such CPU; this machine has "), "{told}");
}

#[test]
fn exit_statuses_are_the_command_s() {
    let status = |arguments: &[&str]| run(arguments).status.code();
    assert_eq!(status(&["run", "--", "sh", "-c", "exit 5"]), Some(5));
    assert_eq!(status(&["run", "--", "sh", "-c", "kill -TERM $$"]), Some(128 + 15));
    assert_eq!(status(&["run", "--", "/nonexistent"]), Some(127));
    assert_eq!(status(&["run", "--", "/"]), Some(126));
}

#[test]
fn a_signal_to_coho_is_one_to_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let script = format!("trap 'exit 42' TERM; : > {}; while :; do sleep 0.05; done", ready.display());
    let mut child = coho(&["run", "-q", "--", "sh", "-c", &script]).spawn().unwrap();
    while !ready.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let sent = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(42));
}

#[test]
fn openmp_s_variables_name_the_cpus_in_order() {
    let allowed = pin::allowed().unwrap();
    let mut list: Vec<_> = allowed.iter().map(|cpu| cpu.to_string()).collect();
    list.reverse();
    let places = list.iter().map(|cpu| format!("{{{cpu}}}")).collect::<Vec<_>>().join(",");
    let script = "echo $OMP_PLACES $OMP_PROC_BIND";
    let told = succeeds(&["run", "-q", "--omp-places", "--place", &list.join(","), "--", "sh", "-c", script]);
    assert_eq!(told.trim(), format!("{places} close"));
}

/// A folder for what is remembered, so that no test finds another's.
fn remembering(folder: &std::path::Path, arguments: &[&str]) -> std::process::Output {
    coho(arguments).env("XDG_STATE_HOME", folder).output().unwrap()
}

#[test]
fn what_was_tried_is_remembered_and_acted_on() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("mine.json").display().to_string();
    let tried = ["run", "--try", "compact,none", "--repeat", "2", "--json", "-p", &profile, "--", "true"];
    let output = remembering(folder.path(), &tried);
    assert!(output.status.success(), "{output:?}");
    let found = json(&String::from_utf8(output.stdout).unwrap());
    let names: Vec<_> =
        found["placements"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["compact", "none"]);
    assert!(found["placements"][0]["seconds"]["median"].as_f64().unwrap() > 0.0, "{found}");
    assert!(found["placements"][0]["counters"]["cpu_seconds"].is_object(), "{found}");
    assert!(found["best"].is_string() && found["decided"] == false, "two rounds decide nothing: {found}");
    let file = json(&std::fs::read_to_string(&profile).unwrap());
    assert_valid(&file);
    assert_eq!(file["run"]["commands"]["true"]["best"], found["best"]);

    let output = remembering(folder.path(), &["run", "--place", "auto", "-p", &profile, "--", "true"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("coho: auto, as tried 20") && !told.contains("nothing is remembered"), "{told}");
    // Undecided: the scheduler keeps the choice.
    assert!(told.contains("coho: none: ") && output.status.success(), "{told}");
}

#[test]
fn auto_tries_what_is_not_remembered_and_then_runs_it() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "--place", "auto", "--repeat", "1", "--", "sh", "-c", "echo ran; exit 0"];
    let output = remembering(folder.path(), &arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("nothing is remembered of 'sh -c "), "{told}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "ran\n", "only the last run speaks");
    let file = json(&std::fs::read_to_string(folder.path().join("coho/profile.json")).unwrap());
    assert!(file["run"]["commands"]["sh -c 'echo ran; exit 0'"]["best"].is_string(), "{file}");
}

/// What `--place auto` says of a command in a folder, whose state is another's.
fn auto_in(folder: &Path, state: &Path, words: &[&str]) -> String {
    let arguments = [&["run", "--place", "auto", "--repeat", "1"][..], words].concat();
    let output = coho(&arguments).current_dir(folder).env("XDG_STATE_HOME", state).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {told}");
    told
}

#[test]
fn a_verdict_is_of_the_command_that_was_tried_and_of_no_other() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let state = folder.path();
    for script in [folder.path(), other.path()].map(|folder| folder.join("one.sh")) {
        std::fs::write(script, "exit 0\n").unwrap();
    }
    std::fs::write(folder.path().join("two.sh"), "exit 0\n").unwrap();
    let here = |words: &[&str]| auto_in(folder.path(), state, words);
    let new = |told: String| told.contains("nothing is remembered of") && told.contains("as tried");
    let known = |told: String| !told.contains("it runs ") && told.contains("auto, as tried 20");
    assert!(new(here(&["--", "sh", "one.sh"])));
    assert!(known(here(&["--", "sh", "one.sh"])));
    for another in
        [&["--", "sh", "two.sh"][..], &["--", "sh", "one.sh", "2"], &["--threads", "2", "--", "sh", "one.sh"]]
    {
        assert!(new(here(another)), "{another:?}");
        assert!(known(here(another)), "{another:?}");
    }
    // The same words mean something else elsewhere, and each place remembers its own.
    assert!(new(auto_in(other.path(), state, &["--", "sh", "one.sh"])));
    assert!(known(auto_in(other.path(), state, &["--", "sh", "one.sh"])));
    assert!(known(here(&["--", "sh", "one.sh"])));
    std::fs::write(folder.path().join("one.sh"), "exit 0 # changed\n").unwrap();
    let told = here(&["--", "sh", "one.sh"]);
    assert!(told.contains("one.sh has changed since 'sh one.sh' was tried"), "{told}");
    assert!(known(here(&["--", "sh", "one.sh"])));
    // A name that the user gives stands for the command wherever it runs.
    assert!(new(here(&["--name", "mine", "--", "sh", "one.sh"])));
    assert!(known(auto_in(other.path(), state, &["--name", "mine", "--", "sh", "one.sh"])));
}

/// A script that appends what it reads, and how many bytes that was.
const READS: &str = "wc -c >>seen; exit 0";

fn seen(folder: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(folder.join("seen")).unwrap();
    text.lines().map(|line| line.trim().parse().unwrap()).collect()
}

#[test]
fn each_run_of_a_trial_reads_the_file_that_is_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("in"), "x".repeat(3000)).unwrap();
    let run = |arguments: &[&str], input: Stdio| {
        let _ = std::fs::remove_file(at.join("seen"));
        let command =
            [&["run", "-p", "p.json", "--repeat", "2"][..], arguments, &["--", "sh", "-c", READS]].concat();
        let output = coho(&command).current_dir(at).stdin(input).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        (seen(at), told.contains("the trials read nothing"))
    };
    let file = |skipped: u64| {
        let mut file = std::fs::File::open(at.join("in")).unwrap();
        file.seek(SeekFrom::Start(skipped)).unwrap();
        Stdio::from(file)
    };
    let (read, told) = run(&["--try", "none,compact"], file(0));
    assert!(read.len() >= 3 && read.iter().all(|&bytes| bytes == 3000) && !told, "{read:?}");
    // From where it stands, as the command alone would; and what a trial reads is there for the run itself.
    let (read, told) = run(&["--place", "auto", "--name", "skips"], file(1000));
    assert!(read.len() >= 3 && read.iter().all(|&bytes| bytes == 2000) && !told, "{read:?}");
    let (read, told) = run(&["--try", "none,compact"], Stdio::null());
    assert!(read.iter().all(|&bytes| bytes == 0) && !told, "{read:?}");
    // A pipe can be read once: that run is the command's own.
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"once").unwrap();
    drop(writer);
    let (read, told) = run(&["--place", "auto", "--name", "piped"], reader.into());
    let (last, trials) = read.split_last().unwrap();
    assert!(*last == 4 && trials.iter().all(|&bytes| bytes == 0) && told, "{read:?}");
}

#[test]
fn a_cpu_that_is_named_is_used_if_the_kernel_allows_it() {
    needs!(Capability::TwoCpus);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    let (mask, named) = (CpuSet::from_iter([cpus[0]]), cpus[1].to_string());
    let narrow = |arguments: &[&str]| {
        let mut command = coho(arguments);
        let mask = mask.clone();
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(move || pin::confine(&mask)) };
        let output = command.output().unwrap();
        let [told, seen] = [output.stderr, output.stdout].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), told, seen.trim().to_owned())
    };
    let (status, told, seen) = narrow(&["run", "--place", &named, "--", "sh", "-c", WHERE]);
    assert_eq!((status, &*seen), (Some(0), &*named), "{told}");
    assert!(told.contains(&format!("beyond the inherited mask {mask}")), "{told}");
    let (_, told, seen) = narrow(&["run", "--place", &format!("{mask},60000"), "--", "sh", "-c", WHERE]);
    assert!(seen == mask.to_string() && told.contains("not CPU 60000: there is no such CPU"), "{told}");
    let (_, _, seen) = narrow(&["run", "-q", "--place", "none", "--", "sh", "-c", WHERE]);
    assert_eq!(seen, mask.to_string(), "a CPU that nobody names is left alone");
    let both = format!("{},{}", cpus[0], cpus[1]);
    let (status, told, _) = narrow(&["coherence", "--quick", "--time-limit", "200ms", "--cpus", &both]);
    assert_eq!(status, Some(0), "{told}");
    // Where too few are left, the mask is named, and the way round it.
    for command in
        [&["coherence", "--quick"][..], &["coherence", "--watch-for", "200ms"], &["barrier", "--quick"]]
    {
        let (status, told, _) = narrow(command);
        assert!(status == Some(1) && told.contains(&format!("the inherited mask is {mask}")), "{told}");
        assert!(told.contains("taskset -c "), "{told}");
    }
}

#[test]
fn a_command_without_two_hyphens_is_told_to_have_them() {
    let told = |arguments: &[&str]| {
        let output = coho(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for option in ["--try", "--live", "--delegate"] {
        let (status, words) = told(&["run", option, "./no-such-list", "1"]);
        assert!(status == Some(2) && words.contains("put `--` before it: `-- ./no-such-list`"), "{words}");
    }
    let (status, words) = told(&["idle", "--dma-latency", "10", "./server"]);
    assert!(status == Some(2) && words.contains("put `--` before it"), "{words}");
    // The name of a call, and of a program.
    let (status, words) = told(&["run", "--delegate", "stat", "file"]);
    assert!(
        status == Some(2) && words.contains("`--delegate=stat`") && words.contains("`--delegate -- stat`"),
        "{words}"
    );
    for live in [&["--live", "none"][..], &["--live=none"]] {
        let (status, words) =
            told(&[&["run"], live, &["--rate", "x ([0-9]+)", "--", "echo", "x 1"]].concat());
        assert!(status == Some(0) && words.contains("live: "), "{words}");
    }
}

#[test]
fn trials_are_told_within_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "--try", "compact,spread,none", "--repeat", "6", "--", "sleep", "0.01"];
    let output = remembering(folder.path(), &arguments);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("best") && told.lines().all(|line| line.chars().count() <= 80), "{told}");
    let failed = remembering(folder.path(), &["run", "--try", "none", "--", "false"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8(failed.stderr).unwrap().contains("status 1"));
}

#[path = "../../../run/examples/pair.rs"]
#[allow(dead_code, reason = "its main is for a program of its own")]
mod pair;

#[test]
#[ignore = "a program that another test starts"]
fn five_thousand_trips() {
    pair::trips(Some(5000)).unwrap();
}

/// Two threads that take turns: which CPUs they want is for a quiet machine to say.
#[test]
fn a_verdict_on_a_pair_of_threads_is_what_its_figures_carry() {
    needs!(Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap().display().to_string();
    let first = pin::allowed().unwrap().first().unwrap().to_string();
    let list = format!("{first},spread");
    let mut command = coho(&["run", "--try", &list, "--per-thread", "--repeat", "6", "--json", "--"]);
    command.args([this.as_str(), "--exact", "--ignored", "run::five_thousand_trips"]);
    let output = command.env("XDG_STATE_HOME", folder.path()).output().unwrap();
    let found = json(&String::from_utf8(output.stdout).unwrap());
    let [one, spread] = &found["placements"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!((one["name"].as_str(), spread["name"].as_str()), (Some(&*first), Some("spread")));
    let (best, other) = if found["best"] == one["name"] { (one, spread) } else { (spread, one) };
    assert!(found["best"] == best["name"] && best["times_best"].is_null(), "{found}");
    assert_eq!(found["decided"], other["times_best"]["low"].as_f64() > Some(1.0), "{found}");
}

/// Tells tenfold progress while it finds itself on one CPU, until a file is there; a child of its own looks longer.
const LIKES_ONE: &str = r#"
cpus() { sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status; }
(while [ ! -e gone ]; do sleep 0.02; done; cpus > after) &
while [ ! -e end ]; do
    case $(cpus) in *[,-]*) echo rate 10;; *) echo rate 100;; esac
    sleep 0.01
done
cpus > settled
exit 6"#;

#[test]
fn a_live_command_ends_up_where_the_verdict_says_and_leaves_no_trace() {
    needs!(Capability::TwoCpus);
    let allowed = pin::allowed().unwrap();
    let last = allowed.last().unwrap().to_string();
    let list = format!("--live=none,{last}");
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let mut child = coho(&["run", &list, "--rate", "rate ([0-9]+)", "--period", "50ms", "--json"])
        .args(["-p", "mine.json", "--name", "likes one", "--", "sh", "-c", LIKES_ONE])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut heard = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let settled = heard.find(|line| line.starts_with("coho: ")).unwrap();
    std::fs::write(folder.join("end"), "").unwrap();
    assert!(
        heard.by_ref().take_while(|line| !line.starts_with("coho: ")).all(|line| line.starts_with("rate "))
    );
    let mut section = String::new();
    child.stdout.take().unwrap().read_to_string(&mut section).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6));

    // Where others use the CPUs too, a line may come late and tell of the CPUs before, and the verdict be another.
    let found = json(&section);
    let best = found["best"].as_str().unwrap();
    assert!(settled.starts_with(&format!("coho: live: {best}")), "{settled}");
    let where_it_was: CpuSet =
        std::fs::read_to_string(folder.join("settled")).unwrap().trim().parse().unwrap();
    assert_eq!(where_it_was, if best == last { last.parse().unwrap() } else { allowed.clone() }, "{settled}");
    let placements = found["examinations"][0]["placements"].as_array().unwrap();
    let names: Vec<_> = placements.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", &last]);
    for placement in placements {
        // What it says of itself.
        let rate = placement["rate"]["median"].as_f64().unwrap();
        assert!((10.0..=100.0).contains(&rate), "{placement}");
    }
    let profile = json(&std::fs::read_to_string(folder.join("mine.json")).unwrap());
    assert_valid(&profile);
    assert_eq!(profile["run"]["live"]["likes one"], found);
    // What outlives the command has its CPUs back.
    std::fs::write(folder.join("gone"), "").unwrap();
    let after = loop {
        match std::fs::read_to_string(folder.join("after")) {
            Ok(text) if text.ends_with('\n') => break text,
            _ => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    assert_eq!(after.trim().parse::<CpuSet>().unwrap(), allowed);
}

#[test]
fn progress_is_never_guessed() {
    let output = run(&["run", "--live=compact,none", "--", "true"]);
    let told = String::from_utf8(output.stderr).unwrap();
    match output.status.code() {
        Some(1) => {
            assert!(told.contains("instructions are not counted") && told.contains("--rate"), "{told}")
        }
        status => assert!(status == Some(0) && told.contains("ended before"), "{told}"),
    }
}

#[test]
fn a_trial_waits_for_all_that_a_run_has_started() {
    let folder = tempfile::tempdir().unwrap();
    // The orphan of each run must be gone before the next begins.
    let script = "[ -e here ] && exit 1; (: > here; sleep 0.2; rm here) & sleep 0.05";
    let command = ["run", "--try", "none", "--repeat", "2", "--json", "--", "sh", "-c", script];
    let output =
        coho(&command).env("XDG_STATE_HOME", folder.path()).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stays = ["run", "--try", "none", "--repeat", "1", "--", "sh", "-c", "sleep 30 >&- 2>&- &"];
    let output = remembering(folder.path(), &stays);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("(sleep)"), "{told}");
}

/// A program of threads that every system with a C compiler can make.
#[test]
fn each_thread_of_a_dynamic_program_takes_the_next_cpu() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let cpus: Vec<_> = pin::allowed().unwrap().iter().collect();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../pin/tests/where.c");
    let program = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("where").display().to_string();
    let compile = |flags: &[&str]| {
        let compiled =
            Command::new("cc").args(flags).args(["-pthread", "-o", &program]).arg(&source).status();
        compiled.is_ok_and(|status| status.success())
    };
    assert!(compile(&[]));
    let [last, other] = [cpus[cpus.len() - 1], cpus[cpus.len() - 2]];
    let list = format!("{last},{other}");
    let arguments = ["run", "--per-thread", "--place", &list, "--", &program];
    let told = succeeds(&arguments);
    assert_eq!(told, format!("first: {last}\nthread 1: {other}\nthread 2: {last}\nthread 3: {other}\n"));
    if compile(&["-static"]) {
        let output = run(&arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && told.contains("linked statically"), "{told}");
    }
}
