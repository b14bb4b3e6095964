//! Numbers of threads that the library finds: what it chooses, and which programs keep theirs.

use std::path::Path;
use std::time::Duration;

use coho_testing::{Capability, needs};

use crate::support::{compile, compile_by_clang, finish, preloaded};

/// What the library says of its choices in a program that finds nothing wrong.
fn said(program: &Path, words: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let mut command = preloaded(program);
    command.args(words).env("OMP_NUM_THREADS", "2").env("COHO_OPENMP_THREADS", "auto");
    let ran = finish(command.envs(variables.iter().copied()), Duration::from_secs(120));
    assert_eq!(ran.status, Some(0), "{words:?}: {}{}", ran.output, ran.errors);
    let lines = ran.errors.lines().map(|line| line.trim_start_matches("coho openmp: ").to_owned());
    lines.skip(1).collect()
}

fn chooses(program: &Path, words: &[&str], variables: &[(&str, &str)]) {
    let said = said(program, words, variables);
    // Nothing is quicker with two threads than with one.
    assert!(said.iter().any(|line| line.ends_with("has 1 of 2 threads")), "{words:?}: {said:?}");
    assert!(!said.iter().any(|line| line.contains("without --threads auto")), "{words:?}: {said:?}");
}

fn keeps(program: &Path, words: &[&str], why: &str) {
    let said = said(program, words, &[]);
    assert!(said[0].contains(why), "{words:?}: {said:?}");
    assert!(said[1..].iter().all(|line| line.ends_with("has 2 of 2 threads")), "{words:?}: {said:?}");
}

fn all(program: &Path) {
    chooses(program, &[], &[]);
    keeps(program, &["max"], "omp_get_max_threads");
    keeps(program, &["set"], "omp_set_num_threads");
    keeps(program, &["static"], "omp_set_dynamic(0)");
    keeps(program, &["one"], "omp_get_num_threads");
    chooses(program, &["max", "dynamic"], &[]);
    chooses(program, &["static", "dynamic"], &[]);
}

#[test]
fn a_region_without_work_gets_one_thread_unless_the_program_counts_on_more() {
    needs!(Capability::Gcc);
    needs!(Capability::TwoCpus);
    all(&compile("fit.c", &[]));
}

#[test]
fn regions_of_clang_do_too() {
    needs!(Capability::Clang);
    needs!(Capability::TwoCpus);
    all(&compile_by_clang("fit.c", &[]));
}

#[test]
fn numbers_are_as_asked_for_unless_the_user_has_them_found() {
    needs!(Capability::Gcc);
    let program = compile("fit.c", &[]);
    let mut command = preloaded(&program);
    let ran = finish(command.env("OMP_NUM_THREADS", "2"), Duration::from_secs(120));
    assert_eq!(
        (ran.output.as_str(), ran.errors.as_str()),
        ("0 wrong, dynamic 0\n", "coho openmp: taken over\n")
    );
}
