//! Programs that write faster than the host: whoever makes a write, the order is kept.

use std::process::Command;

use coho_testing::{Capability, needs};

use crate::common;

const LINES: usize = 40_000;

/// What the library says after a run in which each thread's lines are in order.
fn run(threads: usize, patience: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("timeout");
    command.arg("60").arg(common::program("fast", &[])).args([LINES.to_string(), threads.to_string()]);
    command.env("LD_PRELOAD", common::library()).env("COHO_DELEGATE", "write:async,verbose");
    command.env("COHO_DELEGATE_PATIENCE", patience);
    let output = command.current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(folder.path().join("lines")).unwrap();
    let mut next = vec![0; threads];
    for line in text.lines() {
        let (thread, number) = line.split_once(' ').unwrap();
        let thread: usize = thread.parse().unwrap();
        assert_eq!(number, next[thread].to_string(), "of {thread}");
        next[thread] += 1;
    }
    assert_eq!(next, vec![LINES; threads]);
    assert!(common::later(&output) > 0, "{output:?}");
    common::texts(&output).1
}

#[test]
fn a_queue_that_stays_full_is_compared_with_writes_at_home_and_no_line_is_lost() {
    needs!(Capability::TwoCpus, Capability::CCompiler);
    // Patient enough that a host which is off its CPU keeps no run from comparing.
    let said = run(1, "900000");
    assert!(said.contains("writes had to be waited for: after "), "{said}");
}

#[test]
fn threads_keep_their_order_whoever_writes() {
    needs!(Capability::CCompiler);
    (0..3).for_each(|_| drop(run(3, "")));
}
