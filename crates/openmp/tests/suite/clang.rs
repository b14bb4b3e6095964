//! Programs compiled by clang: they print the same with LLVM's runtime as with the preloaded library.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coho_testing::{Capability, needs};

use crate::support::{Finished, compile, compile_by_clang, finish, folder, preloaded};

const LIMIT: Duration = Duration::from_secs(120);

/// What a program compiled by clang prints with the library, for a number of threads.
fn ours(program: &Path, threads: u32, variables: &[(&str, &str)]) -> Finished {
    let mut ours = preloaded(program);
    let ours =
        finish(ours.env("OMP_NUM_THREADS", threads.to_string()).envs(variables.iter().copied()), LIMIT);
    assert_eq!(ours.errors, "coho openmp: taken over\n", "{threads} threads");
    ours
}

/// A program that looks for mistakes itself finds none with the library, for each number of threads.
fn finds_nothing_wrong(program: &Path, threads: &[u32]) {
    for &threads in threads {
        let ours = ours(program, threads, &[]);
        assert_eq!((ours.status, ours.output.as_str()), (Some(0), "0 wrong\n"), "{threads} threads");
    }
}

/// Runs a program with LLVM's runtime and with the library, for each number of threads.
fn same(source: &str, threads: &[u32], variables: &[(&str, &str)]) {
    let program = compile_by_clang(source, &[]);
    for &threads in threads {
        let mut plain = Command::new(&program);
        plain
            .env("OMP_NUM_THREADS", threads.to_string())
            .env("OMP_WAIT_POLICY", "passive")
            .envs(variables.iter().copied());
        let plain = finish(&mut plain, LIMIT);
        let ours = ours(&program, threads, variables);
        assert_eq!((ours.status, ours.output), (plain.status, plain.output), "{source}, {threads} threads");
    }
}

#[test]
fn regions_and_constructs() {
    needs!(Capability::Clang);
    for source in ["parallel.c", "constructs.c", "singles.c", "locks.c", "copy.c"] {
        same(source, &[1, 2, 5], &[]);
    }
    same("constructs.c", &[2], &[("OMP_SCHEDULE", "guided,3"), ("OMP_WAIT_POLICY", "passive")]);
    same("limit.c", &[4], &[("OMP_THREAD_LIMIT", "6")]);
    same("settings.c", &[3], &[("OMP_SCHEDULE", "static,7"), ("OMP_DYNAMIC", "false")]);
}

/// As a league's teams have more threads with the library, only the result is the same.
#[test]
fn loops_of_which_each_team_has_a_part() {
    needs!(Capability::Clang);
    same("distribute.c", &[1, 2], &[]);
}

#[test]
fn iterations_that_wait_for_earlier_ones() {
    needs!(Capability::Clang);
    same("doacross.c", &[1, 2, 5], &[]);
    same("doacross.c", &[3], &[("OMP_SCHEDULE", "dynamic,2")]);
}

#[test]
fn tasks() {
    needs!(Capability::Clang);
    for source in ["tasks.c", "depend.c", "task_queue.c", "common_memory.c"] {
        same(source, &[1, 2, 5], &[]);
    }
    same("processes.c", &[2], &[]);
}

#[test]
fn cancelled_constructs() {
    needs!(Capability::Clang);
    for cancels in ["true", "false"] {
        same("cancel.c", &[2], &[("OMP_CANCELLATION", cancels), ("OMP_MAX_ACTIVE_LEVELS", "2")]);
    }
}

/// The last values of collapsed loops, which LLVM's runtime gets wrong in version 14, are not compared with its own.
#[test]
fn loops() {
    needs!(Capability::Clang, Capability::Gcc);
    let plain = finish(Command::new(compile("loops.c", &[])).env("OMP_NUM_THREADS", "3"), LIMIT);
    let program = compile_by_clang("loops.c", &[]);
    for threads in [1, 3] {
        let ours = ours(&program, threads, &[("OMP_SCHEDULE", "dynamic")]);
        assert_eq!(ours.status, plain.status);
        let wrong = ours.output.lines().zip(plain.output.lines()).find(|(ours, plain)| ours != plain);
        assert_eq!(wrong, None, "{threads} threads");
    }
}

#[test]
fn what_only_clang_s_code_calls() {
    needs!(Capability::Clang);
    let program = compile_by_clang("clang.c", &["-fnoopenmp-use-tls"]);
    finds_nothing_wrong(&program, &[1, 2, 5]);
}

/// Functions that newer compilers call than the one at hand.
#[test]
fn what_newer_compilers_call() {
    needs!(Capability::Clang);
    let program = compile_by_clang("entries.c", &[]);
    finds_nothing_wrong(&program, &[1, 2, 5]);
}

/// Threads of teams have numbers that LLVM's runtime has not given them.
#[test]
fn atomic_operations_that_llvms_runtime_does_under_locks() {
    needs!(Capability::Clang);
    let program = compile_by_clang("long_atomics.c", &[]);
    finds_nothing_wrong(&program, &[1, 2, 5]);
}

#[test]
fn code_of_both_compilers_runs_on_one_team() {
    needs!(Capability::Clang, Capability::Gcc);
    let gnus = compile("both_gnu.c", &["-shared", "-fPIC"]);
    let program = compile_by_clang("both.c", &[gnus.to_str().unwrap()]);
    finds_nothing_wrong(&program, &[2, 5]);
}

/// The loader finds the versions that the programs want, or it would say so.
#[test]
fn a_folder_of_libraries_takes_the_place_of_both_runtimes() {
    needs!(Capability::Clang, Capability::Gcc);
    let folder = folder();
    for program in [compile_by_clang("parallel.c", &[]), compile("parallel.c", &[])] {
        let plain = finish(Command::new(&program).env("OMP_NUM_THREADS", "3"), LIMIT);
        let mut ours = Command::new(&program);
        ours.env("LD_LIBRARY_PATH", folder.path().join("openmp")).env("COHO_OPENMP", "verbose");
        let ours = finish(ours.env("OMP_NUM_THREADS", "3"), LIMIT);
        assert_eq!(ours.errors, "coho openmp: taken over\n");
        assert_eq!((ours.status, ours.output), (plain.status, plain.output));
    }
}

#[test]
fn a_library_of_clang_s_that_is_opened_later_is_taken_over_too() {
    needs!(Capability::Clang, Capability::Gcc);
    let llvms = compile_by_clang("plug_plain.c", &["-shared", "-fPIC"]);
    let gnus = compile("plug_plain.c", &["-shared", "-fPIC"]);
    let [llvms, gnus] = [llvms, gnus].map(|path| path.to_str().unwrap().to_owned());
    for (options, plugs) in [
        (&["-fno-openmp", "-ldl"][..], &[&llvms, &gnus, &llvms][..]),
        (&["-fno-openmp", "-ldl"], &[&gnus, &llvms]),
        (&["-ldl"], &[&llvms, &gnus]),
    ] {
        let program = compile("opener.c", options);
        let plain = finish(Command::new(&program).args(plugs).env("OMP_NUM_THREADS", "3"), LIMIT);
        let ours = finish(preloaded(&program).args(plugs).env("OMP_NUM_THREADS", "3"), LIMIT);
        assert_eq!((ours.status, &ours.output), (plain.status, &plain.output), "{}", ours.errors);
        assert_eq!(ours.errors, "coho openmp: taken over\n");
    }
}
