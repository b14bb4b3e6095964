//! What programs of both compilers ask: where threads run, and what the defaults are. The library answers as the runtime in
//! whose place it is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coho_testing::{Capability, needs};

use crate::support::{compile, compile_by_clang, finish, preloaded};

const LIMIT: Duration = Duration::from_secs(120);
const TAKEN: &str = "coho openmp: taken over";

/// What a program prints in either file. Threads of LLVM's runtime come in any order between two marks.
fn printed(command: &mut Command, words: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, [String; 2]) {
    let run = finish(command.args(words).envs(variables.iter().copied()), LIMIT);
    let sorted = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.split_mut(|line| line.starts_with("--")).for_each(<[_]>::sort_unstable);
        lines.join("\n")
    };
    (run.status, [sorted(&run.output), sorted(&run.errors)])
}

/// Runs a program with its runtime and with the library; returns what it prints.
fn same(program: &Path, words: &[&str], variables: &[(&str, &str)]) -> [String; 2] {
    let plain = printed(&mut Command::new(program), words, variables);
    let (status, [output, errors]) = printed(&mut preloaded(program), words, variables);
    let (taken, errors): (Vec<_>, Vec<_>) = errors.lines().partition(|&line| line == TAKEN);
    assert_eq!((status, [output, errors.join("\n")]), plain, "{words:?} {variables:?}");
    assert_eq!(taken.len(), 1, "{words:?} {variables:?}");
    plain.1
}

fn both(source: &str) -> [PathBuf; 2] {
    [compile(source, &[]), compile_by_clang(source, &[])]
}

#[test]
fn programs_ask_by_formats() {
    needs!(Capability::Clang, Capability::Gcc);
    for program in both("affinity.c") {
        same(&program, &[], &[]);
        same(&program, &[], &[("OMP_PLACES", "cores"), ("OMP_PROC_BIND", "close")]);
    }
    same(&compile("affinity.f90", &[]), &[], &[]);
}

#[test]
fn default_devices_and_allocators() {
    needs!(Capability::Clang, Capability::Gcc);
    let chosen = [("OMP_DEFAULT_DEVICE", "4"), ("OMP_ALLOCATOR", "omp_large_cap_mem_alloc")];
    for program in both("defaults.c") {
        same(&program, &[], &[]);
        same(&program, &[], &chosen);
    }
}

#[test]
fn a_wrong_format_is_refused_or_undefined() {
    needs!(Capability::Clang, Capability::Gcc);
    for program in both("affinity.c") {
        for format in ["%x|", "%0n", "%.n", "%05n", "%.05n", "%{n}", "%{thread_num-}x", "a%5%b", "%-5n"] {
            same(&program, &[format], &[]);
        }
    }
}

/// Without what differs from run to run.
const FORMAT: &str = "level %L, %n of %N in %a, {%A}, team %t of %T";

#[test]
fn regions_of_other_threads_are_shown() {
    needs!(Capability::Clang, Capability::Gcc);
    for program in both("affinity_shown.c") {
        let shown = [("OMP_DISPLAY_AFFINITY", "true"), ("OMP_MAX_ACTIVE_LEVELS", "2")];
        let with_format = [&shown[..], &[("OMP_AFFINITY_FORMAT", FORMAT)]].concat();
        let words =
            ["2", "2", "3", "2", "1", "1", "i0", "i1", "4", "1", "4", "f", "2", "2", "n", "2", "n", "3"];
        let [output, errors] = same(&program, &words, &with_format);
        assert!(output.contains("level 1, 1 of 3 in 0") != errors.contains("level 1, 1 of 3 in 0"));
        assert!([output, errors].concat().contains("now 1 of 2"));
        for value in ["yes", "false", " true"] {
            same(&program, &["2", "3"], &[with_format[1], with_format[2], ("OMP_DISPLAY_AFFINITY", value)]);
        }
    }
}

#[test]
fn regions_that_are_bound_elsewhere_are_shown() {
    needs!(Capability::Clang, Capability::Gcc, Capability::TwoCpus);
    for program in both("affinity_shown.c") {
        for policy in ["close", "spread"] {
            let variables = [
                ("OMP_DISPLAY_AFFINITY", "TRUE"),
                ("OMP_AFFINITY_FORMAT", FORMAT),
                ("OMP_PLACES", "{0},{1}"),
                ("OMP_PROC_BIND", policy),
            ];
            same(&program, &["2", "2", "m", "m", "2", "s", "c", "1", "m", "4", "4", "2"], &variables);
        }
    }
}

/// LLVM's runtime shows the teams, and each runtime shows its own threads.
#[test]
fn what_only_a_runtime_can_show_is_left_to_it() {
    needs!(Capability::Clang, Capability::Gcc);
    let teams = compile_by_clang("clang.c", &["-fnoopenmp-use-tls"]);
    let run = finish(preloaded(&teams).env("OMP_DISPLAY_AFFINITY", "true"), LIMIT);
    assert!(run.errors.contains("imports __kmpc_fork_teams (OMP_DISPLAY_AFFINITY is set)"), "{}", run.errors);
    let gnus = compile("both_gnu.c", &["-shared", "-fPIC"]);
    let two = compile_by_clang("both.c", &[gnus.to_str().unwrap()]);
    let run = finish(preloaded(&two).env("OMP_DISPLAY_AFFINITY", "true"), LIMIT);
    let why = "coho openmp: stands aside: OMP_DISPLAY_AFFINITY is set, and there are two runtimes\n";
    assert!(run.errors.starts_with(why), "{}", run.errors);
}
