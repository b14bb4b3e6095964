//! The program's signals stay its own.

use std::os::unix::process::ExitStatusExt;

use coho_testing::{Capability, needs};

use crate::common::{compiled, run};

#[test]
fn a_handler_of_sigprof_and_errno_stay() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["handler"]);
    assert_eq!(run.numbers(), [1, 1]);
    assert!(!run.ticking().is_empty());
}

#[test]
fn threads_that_block_all_signals_tick_and_do_not_know() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["masked"]);
    let printed = run.printed();
    assert_eq!(printed.lines().skip(1).collect::<Vec<_>>(), ["0 open", "its own signal"]);
    let threads: std::collections::BTreeSet<_> = run
        .items
        .iter()
        .filter(|item| matches!(item.record, coho_recording::Record::Tick { .. }))
        .map(|item| item.thread)
        .collect();
    assert_eq!(threads.len(), 2);
}

#[test]
fn a_program_that_wants_every_signal_has_them() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["wants"]);
    // The second of the two threads finds the first one's handlers.
    let printed = run.printed();
    assert!(printed.lines().any(|line| line.starts_with("0 ")), "{printed}");
    assert!(printed.lines().all(|line| line.ends_with(" 0")), "another's signal: {printed}");
}

#[test]
fn a_signal_that_nobody_handles_ends_the_program() {
    needs!(Capability::CCompiler);
    let program = compiled("threads.c", "cc", &[]);
    let run = crate::common::run_with(&program, &["ends"], |_| {});
    let signal = libc::SIGRTMAX();
    let status = run.output.status;
    assert!(status.signal() == Some(signal) || status.code() == Some(128 + signal), "{status:?}");
}
