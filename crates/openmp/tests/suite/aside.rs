//! Programs that the library must leave to libgomp, at once or as soon as it sees what they need.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coho_testing::{Capability, Privileged, needs};

use crate::support::{Finished, compile, finish, preloaded};

const LIMIT: Duration = Duration::from_secs(120);

fn library(source: &str) -> String {
    compile(source, &["-shared", "-fPIC"]).to_str().unwrap().to_owned()
}

/// What the program prints with libgomp, which it must print with the library, too.
fn beside(program: &Path, words: &[&str]) -> Finished {
    let plain = finish(Command::new(program).args(words).env("OMP_WAIT_POLICY", "passive"), LIMIT);
    let ours = finish(preloaded(program).args(words), LIMIT);
    assert_eq!(plain.status, Some(0), "{}", plain.errors);
    assert_eq!((ours.status, &ours.output), (plain.status, &plain.output), "{}", ours.errors);
    ours
}

#[test]
fn what_calls_unserved_functions_of_llvms_runs_as_it_would() {
    needs!(Capability::Gcc);
    let program = compile("llvm.c", &[&library("llvm_runtime.c")]);
    let ours = beside(&program, &[]);
    assert_eq!(ours.errors, "coho openmp: stands aside: imports __kmpc_omp_target_task_alloc\n");
}

#[test]
fn names_that_only_begin_as_openmps_do_not_count() {
    needs!(Capability::Gcc);
    let program = compile("reporter.c", &[&library("reports.c")]);
    assert_eq!(beside(&program, &[]).errors, "coho openmp: taken over\n");
}

#[test]
fn a_library_that_is_opened_later_is_taken_over_too() {
    needs!(Capability::Gcc);
    let plug = library("plug_plain.c");
    let ours = beside(&compile("opener.c", &["-ldl"]), &[&plug]);
    assert_eq!(ours.errors, "coho openmp: taken over\n");
    // A program of which only what it opens uses OpenMP.
    let ours = beside(&compile("opener.c", &["-fno-openmp", "-ldl"]), &[&plug]);
    assert_eq!(ours.errors, "coho openmp: taken over\n");
}

#[test]
fn a_library_may_open_regions_while_it_is_loaded() {
    needs!(Capability::Gcc);
    let plug = library("plug_begins.c");
    for options in [&["-ldl"][..], &["-fno-openmp", "-ldl"]] {
        assert_eq!(beside(&compile("opener.c", options), &[&plug]).errors, "coho openmp: taken over\n");
    }
}

#[test]
fn a_library_that_is_opened_later_may_have_all_stand_aside() {
    needs!(Capability::Gcc);
    let (plain, other) = (library("plug_plain.c"), library("plug_target.c"));
    let ours = beside(&compile("opener.c", &["-ldl"]), &[&plain, &other, &plain]);
    let lines: Vec<_> = ours.errors.lines().collect();
    assert_eq!(lines[0], "coho openmp: taken over");
    assert!(lines[1].starts_with("coho openmp: stands aside: imports GOMP_target"), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn reductions_with_tasks_in_opened_libraries_are_served() {
    needs!(Capability::Gcc);
    let opener = compile("opener.c", &["-ldl"]);
    let (plain, plug) = (library("plug_plain.c"), library("plug_reduces.c"));
    assert_eq!(beside(&opener, &[&plain, &plug]).errors, "coho openmp: taken over\n");
    // Outside all regions.
    assert_eq!(beside(&opener, &[&library("plug_reduces_alone.c")]).errors, "coho openmp: taken over\n");
}

#[test]
fn what_is_open_outside_all_regions_ends_where_it_began() {
    needs!(Capability::Gcc);
    let ours = beside(&compile("opener_within.c", &["-ldl"]), &[&library("plug_target.c")]);
    let lines: Vec<_> = ours.errors.lines().collect();
    assert_eq!(lines[0], "coho openmp: taken over");
    assert!(lines[1].starts_with("coho openmp: stands aside: imports GOMP_target"), "{lines:?}");
}

#[test]
fn a_library_with_a_runtime_of_its_own_keeps_it() {
    needs!(Capability::Gcc);
    let runtime = library("guest_runtime.c");
    let guest = compile("plug_guest.c", &["-fno-openmp", "-shared", "-fPIC", &runtime]);
    let guest = guest.to_str().unwrap();
    let opener = compile("opener.c", &["-fno-openmp", "-ldl"]);
    // No libgomp is there.
    assert_eq!(beside(&opener, &[guest]).errors, "");
    // One comes afterwards, or is there before.
    let plain = library("plug_plain.c");
    for plugs in [[guest, &plain, guest], [&plain, guest, &plain]] {
        assert_eq!(beside(&opener, &plugs).errors, "coho openmp: taken over\n");
    }
    let ours = beside(&opener, &[&plain, guest, &library("plug_target.c"), guest]);
    assert_eq!(ours.errors.lines().count(), 2, "{}", ours.errors);
}

#[test]
fn a_program_that_only_asks_for_openmp_is_told_of_one_thread() {
    needs!(Capability::Gcc);
    let program = compile("asks_weakly.c", &["-fno-openmp"]);
    assert_eq!(beside(&program, &[]).errors, "");
    for (name, value) in [("COHO_OPENMP", "off"), ("OMP_TOOL_LIBRARIES", "none.so")] {
        let run = finish(preloaded(&program).env(name, value), LIMIT);
        assert_eq!((run.status, run.output.as_str()), (Some(0), "1\n0\n"), "{name}: {}", run.errors);
    }
}

#[test]
fn what_the_user_has_set_is_left_to_libgomp() {
    needs!(Capability::Gcc);
    let program = compile("parallel.c", &[]);
    for (name, value) in [("OMP_TARGET_OFFLOAD", "mandatory"), ("COHO_OPENMP", "off")] {
        let run = finish(preloaded(&program).env(name, value), LIMIT);
        assert_eq!(run.status, Some(0), "{name}: {}", run.errors);
        let said = run.errors.contains(&format!("stands aside: {name} is "));
        // Told to be off, it has not been told to say so.
        assert_eq!(said, name != "COHO_OPENMP", "{name}: {}", run.errors);
    }
}

#[test]
fn programs_with_more_rights_than_their_user_are_let_be() {
    needs!(Capability::SetUserId, Capability::Gcc);
    let privileged = Privileged::of(&compile("parallel.c", &[]));
    let counts = tempfile::tempdir().unwrap();
    let run = finish(preloaded(&privileged.program()).env("COHO_OPENMP_COUNT", counts.path()), LIMIT);
    assert_eq!((run.status, run.errors.as_str()), (Some(0), ""), "{}", run.output);
    assert_eq!(std::fs::read_dir(counts.path()).unwrap().count(), 0);
}
