//! What is counted of programs whose accesses are known to the last one.

use std::collections::BTreeSet;

use coho_recording::{Record, create};
use coho_testing::{Capability, needs};

use crate::common::{addresses, compiled, counts, items, printed, run, under};

const REPEATS: u64 = 100_000;

#[test]
fn each_threads_reads_and_writes_are_counted_to_the_last() {
    needs!(Capability::Gcc);
    let program = compiled("counts", "exact.c", &[]);
    let (printed, items) = run(&program, &["once", &REPEATS.to_string()]);
    let [words, small] = addresses(&printed)[..] else { panic!("{printed}") };
    let mut threads = BTreeSet::new();
    for (base, bytes, times) in [(words, 8_u64, REPEATS), (small, 4, REPEATS / 4)] {
        for rank in 0..2 {
            let counts = counts(&items, base + rank * bytes, bytes as u8);
            let of: Vec<_> = counts.iter().filter(|(_, count)| count.1 > 0).collect();
            let [(thread, count)] = of[..] else { panic!("{rank}: {counts:?}") };
            assert_eq!(*count, (times, times), "{rank}");
            threads.insert(*thread);
        }
    }
    assert_eq!(threads.len(), 2);
    // They are seen in the course of time as well, as often as it takes to tell that they take turns.
    for thread in threads {
        let mine =
            || items.iter().filter(|item| (item.process, item.thread) == thread).map(|item| item.record);
        let ticks = mine().filter(|record| matches!(record, Record::Tick { .. })).count();
        let operands = mine().filter(|record| matches!(record, Record::Operand { .. })).count();
        assert!(0 < ticks && ticks <= operands, "{ticks} {operands}");
    }
}

#[test]
fn what_is_copied_and_filled_is_counted_to_the_last() {
    needs!(Capability::Gcc);
    let program = compiled("copies", "exact.c", &[]);
    let (printed, items) = run(&program, &["copy", &REPEATS.to_string()]);
    let words = addresses(&printed)[0];
    let mut threads = BTreeSet::new();
    for rank in 0..2 {
        let counts = counts(&items, words + 8 * rank, 8);
        let of: Vec<_> = counts.iter().filter(|(_, count)| count.1 > 0).collect();
        let [(thread, count)] = of[..] else { panic!("{rank}: {counts:?}") };
        assert_eq!(*count, (REPEATS / 2, REPEATS + REPEATS / 4), "{rank}");
        threads.insert(*thread);
    }
    assert_eq!(threads.len(), 2);
}

#[test]
fn a_forked_process_is_counted_under_its_own_number() {
    needs!(Capability::Gcc);
    let program = compiled("fork", "exact.c", &[]);
    let (printed, items) = run(&program, &["fork", "1000"]);
    let words = addresses(&printed)[0];
    let counts = counts(&items, words, 8);
    let processes: BTreeSet<u32> = counts.keys().map(|(process, _)| *process).collect();
    let of = |process: u32| {
        counts.iter().filter(move |((of, _), _)| *of == process).map(|(_, count)| count.1).sum()
    };
    let mut writes: Vec<u64> = processes.iter().map(|&process| of(process)).collect();
    writes.sort_unstable();
    assert_eq!(writes, [1000, 2000], "{counts:?}");
}

#[test]
fn threads_that_come_and_go_leave_no_memory_behind_and_their_counts() {
    needs!(Capability::Gcc);
    let program = compiled("churn", "exact.c", &[]);
    let (printed, items) = run(&program, &["churn", "400"]);
    let words = addresses(&printed)[0];
    let written: u64 =
        [words, words + 8].iter().flat_map(|at| counts(&items, *at, 8)).map(|(_, (_, writes))| writes).sum();
    // What comes before the line counts as shared is not counted.
    assert!((700..=800).contains(&written), "{written}");
}

#[test]
fn what_was_counted_until_a_kill_can_be_read() {
    needs!(Capability::Gcc);
    let program = compiled("killed", "exact.c", &[]);
    let file = tempfile::NamedTempFile::new().unwrap();
    create(file.as_file(), 64).unwrap();
    let mut command = under(&program, &["once", "1000000000000"], Some(file.path()));
    let mut running = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let counted = || {
        items(file.as_file()).iter().any(|item| matches!(item.record, Record::Counted { times: 1000.., .. }))
    };
    while !counted() {
        assert!(running.try_wait().unwrap().is_none());
    }
    // `timeout` hands the signal on.
    // SAFETY: a child that has not been waited for.
    unsafe { libc::kill(running.id() as libc::pid_t, libc::SIGTERM) };
    assert!(!running.wait().unwrap().success());
    assert!(counted());
}

#[test]
fn a_file_that_is_full_or_none_is_no_obstacle() {
    needs!(Capability::Gcc);
    let program = compiled("full", "exact.c", &[]);
    let full = tempfile::NamedTempFile::new().unwrap();
    create(full.as_file(), 0).unwrap();
    let other = tempfile::NamedTempFile::new().unwrap();
    for file in [full.path(), other.path(), "/nonexistent/recording".as_ref()] {
        let output = under(&program, &["once", "1000"], Some(file)).output().unwrap();
        assert_eq!(addresses(&printed(&output)).len(), 2);
    }
    assert_eq!(items(full.as_file()), []);
}
