//! `coho run` as people call it: the command's CPUs, its exit status, and what is said.

mod support;

use std::os::unix::process::CommandExt;
use std::process::Command;

use coho_probe::pin;
use coho_topology::CpuSet;
use support::{coho, fails, run, succeeds};

const WHERE: &str = "sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status";

/// The CPUs that a command may use under a placement.
fn cpus(placement: &str) -> CpuSet {
    succeeds(&["run", "--quiet", "--place", placement, "--", "sh", "-c", WHERE]).parse().unwrap()
}

#[test]
fn a_command_and_its_descendants_run_where_the_placement_says() {
    let allowed = pin::allowed().unwrap();
    assert_eq!(cpus("none"), allowed);
    let last = allowed.last().unwrap();
    assert_eq!(cpus(&last.to_string()), CpuSet::from_iter([last]));
    assert_eq!(cpus("compact").len(), 1);
    assert!(cpus("spread").is_subset(&allowed) && cpus("smt").is_subset(&allowed));
    let grandchild = format!("sh -c \"{WHERE}\"; true");
    let output = succeeds(&["run", "-q", "--place", "compact", "--", "sh", "-c", &grandchild]);
    assert_eq!(output.parse::<CpuSet>().unwrap().len(), 1, "{output}");
}

#[test]
fn the_inherited_mask_is_never_left() {
    let first = pin::allowed().unwrap().first().unwrap();
    for placement in ["compact", "spread", "none", "smt"] {
        let mut command = coho(&["run", "-q", "--place", placement, "--", "sh", "-c", WHERE]);
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(move || pin::confine(&CpuSet::from_iter([first]))) };
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), first.to_string(), "{placement}");
    }
}

#[test]
fn says_what_it_chose_in_one_line_with_two_figures() {
    let output = run(&["run", "--place", "compact", "--", "true"]);
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(line.starts_with("coho: compact: CPU ") && line.lines().count() == 1, "{line}");
    assert!(line.matches('%').count() == 2 || pin::allowed().unwrap().len() == 1, "{line}");
    assert!(line.chars().count() <= 81, "{line}");
    assert!(output.stdout.is_empty());
}

#[test]
fn exit_statuses_are_the_command_s() {
    let status = |arguments: &[&str]| run(arguments).status.code();
    assert_eq!(status(&["run", "--", "sh", "-c", "exit 5"]), Some(5));
    assert_eq!(status(&["run", "--", "sh", "-c", "kill -TERM $$"]), Some(128 + 15));
    assert_eq!(status(&["run", "--", "/nonexistent"]), Some(127));
    assert_eq!(status(&["run", "--", "/"]), Some(126));
}

#[test]
fn a_signal_to_coho_is_one_to_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let script = format!("trap 'exit 42' TERM; : > {}; while :; do sleep 0.05; done", ready.display());
    let mut child = coho(&["run", "-q", "--", "sh", "-c", &script]).spawn().unwrap();
    while !ready.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let sent = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(42));
}

#[test]
fn openmp_s_variables_name_the_cpus_in_order() {
    let allowed = pin::allowed().unwrap();
    let mut list: Vec<_> = allowed.iter().map(|cpu| cpu.to_string()).collect();
    list.reverse();
    let places = list.iter().map(|cpu| format!("{{{cpu}}}")).collect::<Vec<_>>().join(",");
    let script = "echo $OMP_PLACES $OMP_PROC_BIND";
    let told = succeeds(&["run", "-q", "--omp", "--place", &list.join(","), "--", "sh", "-c", script]);
    assert_eq!(told.trim(), format!("{places} close"));
}

#[test]
fn wrong_words_and_absent_levels_are_told() {
    assert!(fails(&["run", "--place", "nearby", "--", "true"], 2).contains("compact, spread, none"));
    fails(&["run", "--place", "compact"], 2);
    assert!(fails(&["run", "--place", "60000", "--", "true"], 1).contains("60000"));
    assert!(fails(&["run", "--place", "l4", "--", "true"], 1).contains("no level 'l4'"));
}
