//! CPUs that the program shares with hosts: `auto` takes none that its threads need.

use std::os::unix::process::CommandExt;
use std::process::Output;

use coho_platform::{CpuSet, pin};
use coho_testing::{Capability, needs};

use crate::common;

/// Two of the CPUs.
fn two() -> CpuSet {
    pin::allowed().unwrap().iter().take(2).collect()
}

/// The program on two CPUs, with a host on the second one. Each of its threads works for so long.
fn logged(threads: &str, milliseconds: u32) -> Output {
    let program = common::program("room", &[]);
    let folder = tempfile::tempdir().unwrap();
    let mut command = common::case(&program, threads, folder.path(), "auto,pwrite");
    let cpus = two();
    let host = cpus.iter().last().unwrap().to_string();
    command.arg(milliseconds.to_string());
    command.env("COHO_DELEGATE_CPUS", &host).env("COHO_DELEGATE_LEAVES", &host);
    // SAFETY: no more than a system call.
    unsafe { command.pre_exec(move || pin::confine(&cpus)) };
    command.output().unwrap()
}

/// What the program's threads could use at their ends.
fn masks(output: &Output) -> Vec<CpuSet> {
    common::texts(output).0.lines().map(|line| line.trim().parse().unwrap()).collect()
}

#[test]
fn where_all_cpus_are_busy_no_thread_loses_one_for_good() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    let output = logged("2", 150);
    // One of them may have tried before the other was seen at work.
    assert_eq!(masks(&output), [two(), two()], "{output:?}");
}

#[test]
fn one_thread_tries_on_the_cpus_that_are_left_and_those_that_it_makes_have_all() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    // Where others use the CPUs too, the host may be late, and the thread then waits before it tries again.
    for milliseconds in [150, 600, 2400, 9600] {
        let output = logged("1", milliseconds);
        let [own, made] = masks(&output).try_into().unwrap();
        assert_eq!(made, two(), "{output:?}");
        if common::texts(&output).1.contains(" 1 of 1 threads ") {
            assert_eq!(own, two().iter().take(1).collect(), "{output:?}");
        }
        if common::delegated(&output).0 > 0 {
            return;
        }
    }
    panic!("nothing was tried");
}
