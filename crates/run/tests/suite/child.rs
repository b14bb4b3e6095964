//! Commands that are started on CPUs, signalled and waited for.

use std::time::{Duration, Instant};

use coho_platform::pin;
use coho_run::{Job, Output, Signals, Status};
use coho_topology::CpuSet;

fn shell(script: &str) -> Job {
    Job { command: ["sh", "-c", script].map(Into::into).into(), ..Job::default() }
}

fn last_allowed() -> CpuSet {
    CpuSet::from_iter(pin::allowed().unwrap().last())
}

#[test]
fn exit_status_and_signals_are_the_command_s() {
    let signals = Signals::hold().unwrap();
    let status = |script: &str| shell(script).start(&signals).unwrap().wait(&signals).unwrap().status;
    assert_eq!(status("exit 7"), Status::Exited(7));
    assert_eq!(status("kill -KILL $$"), Status::Signalled(libc::SIGKILL));
    assert_eq!(status("kill -KILL $$").exit_status(), 137);
}

#[test]
fn descendants_stay_on_the_cpus() {
    let signals = Signals::hold().unwrap();
    let cpus = last_allowed();
    let script = format!("sh -c 'grep -qx \"Cpus_allowed_list:.{cpus}\" /proc/self/status'; exit $?");
    let job = Job { cpus: Some(cpus), ..shell(&script) };
    assert!(job.start(&signals).unwrap().wait(&signals).unwrap().status.is_success());
}

#[test]
fn cpus_that_the_kernel_refuses_are_an_error_before_anything_runs() {
    let signals = Signals::hold().unwrap();
    let job = Job { cpus: Some(CpuSet::from_iter([65_535])), ..shell("exit 0") };
    assert_eq!(job.start(&signals).unwrap_err().exit_status(), 126);
}

#[test]
fn a_program_that_is_not_there_is_told_from_one_that_cannot_run() {
    let signals = Signals::hold().unwrap();
    let start =
        |program: &str| Job { command: vec![program.into()], ..Job::default() }.start(&signals).unwrap_err();
    assert_eq!(start("/nonexistent/program").exit_status(), 127);
    assert_eq!(start("/").exit_status(), 126);
    assert!(start("").to_string().starts_with("cannot run ''"));
}

#[test]
fn signals_sent_to_this_thread_reach_the_command() {
    let signals = Signals::hold().unwrap();
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let job = Job { output: Output::Piped, ..shell(script) };
    let mut running = job.start(&signals).unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(&mut running.output().unwrap(), &mut ready).unwrap();
    // SAFETY: signals this thread, which holds the signal back.
    unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGTERM) };
    let ended = running.wait(&signals).unwrap();
    assert_eq!((ended.status, ended.asked_to_end), (Status::Exited(9), true));
}

#[test]
fn the_command_begins_with_the_signals_that_the_caller_was_given() {
    let blocked = |signals: &Signals| {
        let job = Job { output: Output::Piped, ..shell("grep SigBlk /proc/self/status") };
        let mut running = job.start(signals).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut running.output().unwrap(), &mut text).unwrap();
        running.wait(signals).unwrap();
        text
    };
    let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let own = own.lines().find(|line| line.starts_with("SigBlk")).unwrap().to_owned();
    assert_eq!(blocked(&Signals::hold().unwrap()).trim_end(), own);
}

#[test]
fn a_wait_ends_when_its_time_has_come() {
    let signals = Signals::hold().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let script = format!("while [ ! -e {} ]; do sleep 0.02; done", end.display());
    let mut running = shell(&script).start(&signals).unwrap();
    let (start, time) = (Instant::now(), Duration::from_millis(20));
    assert_eq!(running.wait_until(&signals, Some(start + time)).unwrap(), None);
    assert!(start.elapsed() >= time);
    std::fs::write(end, "").unwrap();
    assert!(running.wait(&signals).unwrap().wall >= time);
}
