//! Programs for each construct, compiled by GCC: they print the same with libgomp as with the preloaded library.

use std::process::Command;
use std::time::Duration;

use coho_testing::{Capability, needs};

use crate::support::{compile, finish, preloaded};

/// Numbers of threads: one, as many as small machines have CPUs, and more.
const THREADS: [u32; 4] = [1, 2, 3, 8];

/// Runs a program with libgomp and with the library, for each number of threads.
fn same(source: &str, threads: &[u32], variables: &[(&str, &str)]) {
    let program = compile(source, &[]);
    for threads in threads {
        let count = threads.to_string();
        let mut plain = Command::new(&program);
        // With many threads or busy CPUs, libgomp's spinning waits take minutes.
        plain
            .env("OMP_NUM_THREADS", &count)
            .env("OMP_WAIT_POLICY", "passive")
            .envs(variables.iter().copied());
        let plain = finish(&mut plain, Duration::from_secs(120));
        let mut ours = preloaded(&program);
        ours.env("OMP_NUM_THREADS", &count).envs(variables.iter().copied());
        let ours = finish(&mut ours, Duration::from_secs(120));
        assert!(ours.errors.contains("coho openmp: taken over"), "{source}, {threads}: {}", ours.errors);
        assert_eq!(ours.status, plain.status, "{source}, {threads} threads: {}", ours.errors);
        assert_eq!(ours.output, plain.output, "{source}, {threads} threads");
    }
}

#[test]
fn regions() {
    needs!(Capability::Gcc);
    same("parallel.c", &THREADS, &[]);
}

#[test]
fn loops() {
    needs!(Capability::Gcc);
    same("loops.c", &[1, 3], &[]);
}

#[test]
fn constructs() {
    needs!(Capability::Gcc);
    same("constructs.c", &THREADS, &[]);
    same("constructs.c", &[2], &[("OMP_SCHEDULE", "guided,3"), ("OMP_WAIT_POLICY", "passive")]);
    same("constructs.c", &[2], &[("OMP_WAIT_POLICY", "active")]);
}

/// Reveals memory that is not zeroed: the C library fills memory that is allocated or freed.
const FILLED: [(&str, &str); 1] = [("MALLOC_PERTURB_", "165")];

#[test]
fn scans() {
    needs!(Capability::Gcc);
    same("scans.c", &[1, 2, 3, 4, 5, 6, 7, 8], &FILLED);
    same("scans.cpp", &THREADS, &FILLED);
}

#[test]
fn conditional_last_values() {
    needs!(Capability::Gcc);
    same("conditional.c", &[1, 2, 3, 4, 5, 6, 7, 8], &FILLED);
    same("conditional.c", &[2], &[("OMP_SCHEDULE", "dynamic,3")]);
}

#[test]
fn memory_that_members_have_in_common_is_freed() {
    needs!(Capability::Gcc);
    same("common_memory.c", &[1, 2, 5], &[]);
}

#[test]
fn singles() {
    needs!(Capability::Gcc);
    same("singles.c", &THREADS, &[]);
}

/// It would take minutes if each spun for as long as it is let.
#[test]
fn a_crowd_does_not_spin_without_end() {
    needs!(Capability::Gcc);
    let program = compile("crowd.c", &[]);
    let mut run = preloaded(&program);
    run.env("OMP_NUM_THREADS", "1").env("OMP_WAIT_POLICY", "active");
    let run = finish(&mut run, Duration::from_secs(60));
    assert_eq!((run.status, run.output.as_str()), (Some(0), "0 wrong\n"), "{}", run.errors);
}

#[test]
fn tasks() {
    needs!(Capability::Gcc);
    same("tasks.c", &THREADS, &[]);
}

#[test]
fn tasks_that_depend_on_others() {
    needs!(Capability::Gcc);
    same("depend.c", &THREADS, &[]);
}

/// libgomp before GCC 13 takes all memory for a place.
#[test]
fn tasks_that_depend_on_all_memory() {
    needs!(Capability::Gcc);
    let program = compile("depend_all.c", &[]);
    for threads in ["2", "3", "8"] {
        let run = finish(preloaded(&program).env("OMP_NUM_THREADS", threads), Duration::from_secs(120));
        assert_eq!((run.status, run.output.as_str()), (Some(0), "0 wrong\n"), "{threads}: {}", run.errors);
    }
}

#[test]
fn who_waits_leaves_others_queues_as_they_are() {
    needs!(Capability::Gcc);
    same("task_queue.c", &[3], &[]);
}

#[test]
fn who_waits_long_for_tasks_sleeps() {
    needs!(Capability::Gcc);
    let program = compile("task_naps.c", &[]);
    for policy in [&[("OMP_WAIT_POLICY", "passive")][..], &[]] {
        let run = finish(preloaded(&program).envs(policy.iter().copied()), Duration::from_secs(120));
        let part: f64 = run.output.trim().parse().unwrap();
        assert!(part < 0.3, "{policy:?}: {part} of a CPU: {}", run.errors);
    }
}

#[test]
fn memory_does_not_grow_with_the_tasks_that_have_been() {
    needs!(Capability::Gcc);
    same("task_memory.c", &[2, 3], &[]);
}

#[test]
fn locks() {
    needs!(Capability::Gcc);
    same("locks.c", &THREADS, &[]);
}

#[test]
fn threads_copies_and_exits() {
    needs!(Capability::Gcc);
    same("processes.c", &[2, 8], &[]);
}

#[test]
fn a_limit_holds_for_regions_within_regions() {
    needs!(Capability::Gcc);
    same("limit.c", &[4], &[("OMP_THREAD_LIMIT", "6")]);
}

/// libgomp's teams hang in a forked child; these do not.
#[test]
fn a_copy_of_the_process_opens_regions_of_its_own() {
    needs!(Capability::Gcc);
    let program = compile("processes.c", &[]);
    let run = finish(preloaded(&program).env("CHILD_OPENS", "1"), Duration::from_secs(120));
    assert_eq!(run.status, Some(3), "{}", run.errors);
    assert_eq!(run.output.matches("copy: 12\n").count(), 3, "{}", run.output);
}

#[test]
fn a_copy_made_within_a_region_opens_regions_within_it() {
    needs!(Capability::Gcc);
    same("copy.c", &[2], &[]);
}

#[test]
fn what_a_thread_may_use_is_asked_when_it_counts() {
    needs!(Capability::Gcc, Capability::TwoCpus);
    same("asked.c", &[4], &[("OMP_STACKSIZE", "8")]);
}

/// Where libgomp ends the program.
#[test]
fn as_many_threads_as_can_be_had_are_a_team() {
    needs!(Capability::Gcc);
    let run = finish(preloaded(&compile("few.c", &[])).env("OMP_STACKSIZE", "8M"), Duration::from_secs(120));
    assert_eq!(
        (run.status, run.output.as_str()),
        (Some(0), "some of 64: yes, again: yes, one more: yes\n"),
        "{}",
        run.errors
    );
    assert_eq!(run.errors.matches("fewer threads than asked").count(), 1, "{}", run.errors);
}

#[test]
fn cpp() {
    needs!(Capability::Gcc);
    same("exceptions.cpp", &THREADS, &[]);
}

#[test]
fn fortran() {
    needs!(Capability::Gcc, Capability::Gfortran);
    same("queries.f90", &[1, 2], &[]);
}

#[test]
fn places() {
    needs!(Capability::Gcc, Capability::TwoCpus);
    for variables in [
        [("OMP_PLACES", "threads"), ("OMP_PROC_BIND", "close")],
        [("OMP_PLACES", "{0},{1}"), ("OMP_PROC_BIND", "spread")],
        [("OMP_PLACES", "cores"), ("OMP_PROC_BIND", "true")],
        [("OMP_PLACES", "{0:2}"), ("OMP_PROC_BIND", "primary")],
        [("OMP_PLACES", "threads"), ("OMP_PROC_BIND", "false")],
        [("OMP_NUM_THREADS", "2,3"), ("OMP_PROC_BIND", "spread,close")],
    ] {
        same("places.c", &[2, 3], &variables);
    }
    same("places.c", &[2], &[]);
}

#[test]
fn limits_and_lists() {
    needs!(Capability::Gcc);
    for variables in [
        [("OMP_THREAD_LIMIT", "3"), ("OMP_DYNAMIC", "false")],
        [("OMP_NUM_THREADS", "3,2"), ("OMP_SCHEDULE", "monotonic:dynamic,4")],
        [("OMP_NESTED", "true"), ("OMP_STACKSIZE", "4M")],
        [("OMP_MAX_ACTIVE_LEVELS", "3"), ("GOMP_SPINCOUNT", "1000")],
    ] {
        same("settings.c", &[3], &variables);
    }
}
