//! Programs for each construct, compiled by GCC: they print the same with libgomp as with the preloaded library.

use std::process::Command;
use std::time::Duration;

use coho_preload::Mask;
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
fn cancelled_constructs() {
    needs!(Capability::Gcc);
    for cancels in ["true", "false"] {
        let settings = [("OMP_CANCELLATION", cancels), ("OMP_MAX_ACTIVE_LEVELS", "2")];
        same("cancel.c", &[2], &settings);
    }
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

/// libgomp of GCC 12 crashes, and LLVM's runtime of version 14 finds no group.
#[test]
fn iterations_that_wait_for_earlier_ones() {
    needs!(Capability::Gcc);
    same("doacross.c", &THREADS, &FILLED);
    same("doacross.c", &[3], &[("OMP_SCHEDULE", "nonmonotonic:dynamic,2")]);
    same("doacross.c", &[3], &[("OMP_SCHEDULE", "static")]);
}

#[test]
fn reductions_of_loops_sections_and_scopes_in_which_tasks_take_part() {
    needs!(Capability::Gcc);
    same("task_reduction.c", &[3], &FILLED);
}

#[test]
fn reductions_in_which_tasks_take_part_and_teams() {
    needs!(Capability::Gcc);
    let program = compile("reductions.c", &[]);
    for (threads, limit) in [("1", "9"), ("2", "9"), ("3", "3"), ("8", "9")] {
        let mut run = preloaded(&program);
        run.env("OMP_NUM_THREADS", threads).env("OMP_THREAD_LIMIT", limit);
        let run = finish(&mut run, Duration::from_secs(120));
        assert_eq!((run.status, run.output.as_str()), (Some(0), "0 wrong\n"), "{threads}: {}", run.errors);
    }
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

/// A thread that has been woken may wait long for its CPU; nothing is gained by waking it for each task meanwhile.
#[test]
fn fine_tasks_wake_nobody_in_vain() {
    needs!(Capability::Gcc);
    let program = compile("task_wakes.c", &["-rdynamic"]);
    for policy in [&[][..], &[("OMP_WAIT_POLICY", "passive")]] {
        let run = finish(preloaded(&program).envs(policy.iter().copied()), Duration::from_secs(120));
        let figures: Vec<u32> = run.output.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
        let [tasks, wakes, in_vain] = figures[..] else { panic!("{}", run.errors) };
        assert_eq!(tasks, 40_920);
        assert!(in_vain < tasks / 50, "{in_vain} of {wakes} wake-ups for {tasks} tasks, {policy:?}");
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

#[test]
fn threads_start_side_by_side_on_their_places_and_without_memory_of_their_own() {
    needs!(Capability::Gcc);
    let program = compile("start.c", &["-rdynamic"]);
    for (bind, begin_bound) in [("false", 0), ("true", 7)] {
        let run = finish(preloaded(&program).env("OMP_PROC_BIND", bind), Duration::from_secs(30));
        let expected = format!(
            "8 members, 7 threads created, {begin_bound} of them on a CPU, 1 heaps, the groups' limits read 1 times\n"
        );
        assert_eq!((run.status, run.output), (Some(0), expected), "bound: {bind}: {}", run.errors);
    }
}

#[test]
fn a_number_that_no_region_can_have_is_the_most_that_one_can() {
    needs!(Capability::Gcc);
    let program = compile("many.c", &[]);
    let run = finish(preloaded(&program).env("OMP_NUM_THREADS", "99999999999"), Duration::from_secs(120));
    let most = coho_sync::MAX_THREADS;
    assert_eq!((run.status, run.output), (Some(0), format!("{most} {most} 2\n")), "{}", run.errors);
    assert!(run.errors.contains(&format!("a region has {most} at most")), "{}", run.errors);
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
        [("OMP_SCHEDULE", "auto,3"), ("OMP_DYNAMIC", "false")],
        [("OMP_SCHEDULE", "static,-1"), ("OMP_DYNAMIC", "false")],
    ] {
        same("settings.c", &[3], &variables);
    }
}

/// What a program's counts say about its teams.
fn counts(source: &str, variables: &[(&str, &str)]) -> String {
    let program = compile(source, &[]);
    let folder = tempfile::tempdir().unwrap();
    let mut run = preloaded(&program);
    run.env("OMP_NUM_THREADS", "2").envs(variables.iter().copied()).env("COHO_OPENMP_COUNT", folder.path());
    let run = finish(&mut run, Duration::from_secs(120));
    assert_eq!(run.status, Some(0), "{}", run.errors);
    let file =
        std::fs::read_dir(folder.path()).unwrap().next().expect("a process has counted").unwrap().path();
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn threads_that_are_bound_to_cpus_of_their_own_do_not_crowd() {
    needs!(Capability::Gcc, Capability::TwoCpus);
    let cpus: Vec<u32> = Mask::current().unwrap().iter().collect();
    let [first, second] = [cpus[0], cpus[1]];
    let places = |list: &[u32]| list.iter().map(|cpu| format!("{{{cpu}}}")).collect::<Vec<_>>().join(",");
    let (two, one) = (places(&[first, second]), places(&[first]));
    let (affinity, wide) = (format!("{first} {second}"), format!("{{{first},{second}}}"));
    for (variables, at_once) in [
        (&[][..], 2),
        (&[("OMP_PROC_BIND", "true"), ("OMP_PLACES", &two)], 2),
        (&[("OMP_PROC_BIND", "spread"), ("OMP_PLACES", &two)], 2),
        (&[("OMP_PLACES", &wide)], 2),
        (&[("GOMP_CPU_AFFINITY", &affinity)], 2),
        // These do.
        (&[("OMP_PROC_BIND", "primary"), ("OMP_PLACES", &two)], 1),
        (&[("OMP_PROC_BIND", "close"), ("OMP_PLACES", &one)], 1),
        (&[("OMP_PROC_BIND", "close"), ("OMP_PLACES", &one), ("OMP_WAIT_POLICY", "active")], 1),
    ] {
        let counts = counts("task_helpers.c", variables);
        let team =
            counts.split("{\"threads\":2,").nth(1).unwrap_or_else(|| panic!("{variables:?}: {counts}"));
        assert!(team.contains(&format!("\"at_once\":{at_once},")), "{variables:?}: {counts}");
    }
}

#[test]
fn teams_within_a_region_share_the_cpus() {
    needs!(Capability::Gcc);
    same("within.c", &[2], &[]);
    let counts = counts("within.c", &[]);
    let team = counts.split("{\"threads\":3,").nth(1).unwrap_or_else(|| panic!("{counts}"));
    let at_once = (Mask::current().unwrap().iter().count() / 2).clamp(1, 3);
    assert!(team.contains(&format!("\"at_once\":{at_once},")), "{counts}");
}

#[test]
fn threads_that_wake_up_on_one_cpu_part() {
    needs!(Capability::Gcc, Capability::TwoCpus);
    let _alone = coho_testing::alone();
    let run = finish(&mut preloaded(&compile("apart.c", &[])), Duration::from_secs(120));
    let figures: Vec<u32> = run.output.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
    let cpus = Mask::current().unwrap().iter().count() as u32;
    assert_eq!((figures[0], figures[2], figures[3]), (60, cpus, cpus), "{}", run.errors);
    assert!(2 * figures[1] > figures[0], "{} of {} regions on two CPUs", figures[1], figures[0]);
}

#[test]
fn tasks_at_the_end_of_a_region_are_shared_out_without_a_barrier() {
    needs!(Capability::Gcc);
    for policy in ["passive", "active"] {
        same("task_helpers.c", &[2], &[("OMP_WAIT_POLICY", policy)]);
    }
    let counts = counts("task_helpers.c", &[]);
    assert!(counts.contains("\"has_tasks\":true") && counts.contains("\"barriers\":0,"), "{counts}");
}

#[test]
fn a_place_that_cannot_be_had_ends_the_program() {
    needs!(Capability::Gcc);
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    let last: u32 = possible.trim().rsplit(['-', ',']).next().unwrap().parse().unwrap();
    let program = compile("parallel.c", &[]);
    let missing = (last + 1).to_string();
    for affinity in [missing.clone(), format!("0 {missing}")] {
        let mut plain = Command::new(&program);
        plain.env("GOMP_CPU_AFFINITY", &affinity).env("OMP_NUM_THREADS", "2");
        let plain = finish(&mut plain, Duration::from_secs(120));
        let mut ours = preloaded(&program);
        ours.env("GOMP_CPU_AFFINITY", &affinity).env("OMP_NUM_THREADS", "2");
        let ours = finish(&mut ours, Duration::from_secs(120));
        assert_eq!((ours.status, plain.status), (Some(1), Some(1)), "{}", plain.errors);
        let why = format!("thread 1 cannot be bound to the place {{{missing}}}: Invalid argument");
        assert!(ours.errors.contains(&why), "{}", ours.errors);
    }
}
