//! What the library says when the program ends, however it ends.

use std::os::unix::process::CommandExt;
use std::process::Command;

use coho_platform::pin;
use coho_testing::{Capability, needs};

use crate::common::{self, texts};

#[test]
fn the_report_comes_however_the_program_ends() {
    needs!(Capability::CCompiler);
    let program = common::program("worker", &[]);
    for way in ["exit", "close", "_exit", "data"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(&program);
        command.arg(way).current_dir(&folder).env("LD_PRELOAD", common::library());
        let said = texts(&command.env("COHO_DELEGATE", "pwrite,verbose").output().unwrap()).1;
        assert_eq!(said.matches(" calls delegated, ").count(), 1, "{way}: {said}");
        if way == "data" {
            assert_eq!(std::fs::read_to_string(folder.path().join("data")).unwrap(), "data");
        }
    }
}

#[test]
fn a_process_that_goes_without_a_cpu_for_nothing_says_so() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = common::program("worker", &[]);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    for (kept, says) in [(&cpus[..1], true), (&cpus[..], false)] {
        let kept = kept.iter().copied().collect();
        let folder = tempfile::tempdir().unwrap();
        let mut command = common::case(&program, "worker", folder.path(), "pwrite");
        command.env("COHO_DELEGATE", "pwrite").env("COHO_DELEGATE_CPUS", cpus[1].to_string());
        // SAFETY: no more than a system call.
        unsafe { command.pre_exec(move || pin::confine(&kept)) };
        let said = texts(&command.output().unwrap()).1;
        let line = format!(
            "s of processor time (a forked process makes its calls itself), though CPU {} was kept free for hosts",
            cpus[1]
        );
        assert_eq!(said.contains(&line), says, "{said}");
    }
}

#[test]
fn processes_of_a_command_take_hosts_in_turn() {
    needs!(Capability::CCompiler, Capability::TwoCpus);
    let program = common::program("worker", &[]);
    let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
    let folder = tempfile::tempdir().unwrap();
    let turns = folder.path().join("turns");
    std::fs::write(&turns, "").unwrap();
    for turn in 0..3 {
        let mut command = common::case(&program, "exit", folder.path(), "pwrite");
        command
            .env("COHO_DELEGATE_CPUS", format!("{},{}", cpus[0], cpus[1]))
            .env("COHO_DELEGATE_TURNS", &turns);
        let said = texts(&command.output().unwrap()).1;
        let line = format!("this process's hosts are on CPUs [{}]", cpus[turn % 2]);
        assert!(said.contains(&line), "{turn}: {said}");
    }
}
