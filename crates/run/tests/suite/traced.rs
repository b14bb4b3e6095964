//! Programs that are traced, so that coho can move their threads: they must not notice anything else.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use coho_platform::pin;
use coho_run::{Ended, Job, Output, Signals, Status, Traced};
use coho_testing::{Capability, in_own_process, needs};
use coho_topology::CpuSet;

/// A program without a loader.
fn program() -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("threads-static");
    let own = program.with_extension(std::process::id().to_string());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/threads.c");
    let mut compiler = Command::new("cc");
    let compiled = compiler.args(["-O1", "-static", "-pthread", "-o"]).arg(&own).arg(source).status();
    assert!(compiled.unwrap().success());
    // At once, as several tests make it.
    std::fs::rename(own, &program).unwrap();
    program
}

/// Its end and what it printed, with its threads sampled or not.
fn run(what: &str, order: &[u32], are_sampled: bool) -> (Ended, String) {
    let signals = Signals::hold().unwrap();
    let command = vec![program().into(), what.into()];
    let traced = Some(Traced { turns: order.to_vec(), are_sampled });
    let job = Job { command, traced, output: Output::Piped, ..Job::default() };
    let mut running = job.start(&signals).unwrap();
    let mut output = running.output().unwrap();
    let until = Some(Instant::now() + Duration::from_secs(60));
    let ended = running.wait_until(&signals, until).unwrap().expect("it hangs");
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    (ended, text)
}

fn words(cpus: &CpuSet) -> String {
    cpus.iter().map(|cpu| format!(" {cpu}")).collect()
}

#[test]
fn threads_take_the_cpus_in_turn_and_what_is_no_thread_keeps_them_all() {
    needs!(Capability::CCompiler);
    in_own_process(threads_take_the_cpus_in_turn_and_what_is_no_thread_keeps_them_all, || {
        let all = pin::allowed().unwrap();
        let order: Vec<u32> = all.iter().take(2).collect();
        let (ended, text) = run("", &order, false);
        assert_eq!(ended.status, Status::Exited(7));
        let at = |turn: usize| order[turn % order.len()];
        let threads: String = (1..=3).map(|turn| format!("thread {}\n", at(turn))).collect();
        let once = format!("{threads}first {}\nchild{}\n", order[0], words(&all));
        assert_eq!(text, once);
        // A program that takes the process's place begins anew.
        assert_eq!(run("executes", &order, true).1, once.repeat(2));
    });
}

#[test]
fn a_traced_program_ends_as_it_would_alone() {
    needs!(Capability::CCompiler);
    in_own_process(a_traced_program_ends_as_it_would_alone, || {
        let order: Vec<u32> = pin::allowed().unwrap().iter().take(1).collect();
        for are_sampled in [false, true] {
            for what in ["churn", "signals", "stops"] {
                assert_eq!(run(what, &order, are_sampled).0.status, Status::Exited(0), "{what}");
            }
            assert_eq!(run("dies", &order, are_sampled).0.status, Status::Signalled(libc::SIGABRT));
        }
    });
}

#[test]
fn a_traced_program_that_is_given_up_is_gone() {
    needs!(Capability::CCompiler);
    in_own_process(a_traced_program_that_is_given_up_is_gone, || {
        let signals = Signals::hold().unwrap();
        let command = vec![program().into(), "spins".into()];
        let traced = Some(Traced { turns: pin::allowed().unwrap().iter().collect(), are_sampled: true });
        let job = Job { command, traced, output: Output::Piped, ..Job::default() };
        let mut running = job.start(&signals).unwrap();
        let mut output = running.output().unwrap();
        let process = running.id();
        let threads = || std::fs::read_dir(format!("/proc/{process}/task")).unwrap().count();
        while threads() < 4 {
            let soon = Some(Instant::now() + Duration::from_millis(20));
            assert_eq!(running.wait_until(&signals, soon).unwrap(), None);
        }
        drop(running);
        assert!(!Path::new(&format!("/proc/{process}")).exists());
        output.read_to_string(&mut String::new()).unwrap();
    });
}

#[test]
#[ignore = "a tracer that another test starts"]
fn samples_until_it_is_killed() {
    let signals = Signals::hold().unwrap();
    let command = vec![program().into(), "spins".into()];
    let traced = Some(Traced { turns: pin::allowed().unwrap().iter().collect(), are_sampled: true });
    let job = Job { command, traced, output: Output::Nowhere, ..Job::default() };
    let mut running = job.start(&signals).unwrap();
    eprintln!("process {}", running.id());
    running.wait_until(&signals, Some(Instant::now() + Duration::from_secs(60))).unwrap();
}

#[test]
fn a_program_whose_tracer_is_killed_runs_on() {
    needs!(Capability::CCompiler, Capability::Tracing);
    let mut random = fastrand::Rng::new();
    for _ in 0..8 {
        let mut tracer = Command::new(std::env::current_exe().unwrap());
        tracer.args(["--exact", "traced::samples_until_it_is_killed", "--ignored", "--nocapture"]);
        let mut tracer = tracer.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(tracer.stderr.take().unwrap()).lines().map(Result::unwrap);
        let process = told.filter_map(|line| line.strip_prefix("process ")?.parse::<i32>().ok()).next();
        let process = process.unwrap();
        std::thread::sleep(Duration::from_millis(random.u64(20..60)));
        tracer.kill().unwrap();
        tracer.wait().unwrap();
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
        for task in tasks.map(|task| task.unwrap().path()) {
            let status = std::fs::read_to_string(task.join("status")).unwrap();
            assert!(status.contains("State:\tR") && status.contains("TracerPid:\t0"), "{status}");
        }
        // SAFETY: the process was found running a moment ago, and nobody else ends it.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
}
