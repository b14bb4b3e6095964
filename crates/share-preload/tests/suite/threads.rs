//! Threads and processes that come and go.

use coho_recording::{Access, Record};
use coho_testing::{Capability, needs};

use crate::common::{compiled, run};

#[test]
fn a_forked_process_is_recorded_as_one_of_its_own() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["forks"]);
    let [parent, child, status] = run.numbers()[..] else { panic!("{:?}", run.output) };
    assert_eq!(status, 3);
    assert_eq!(run.ticking(), [parent as u32, child as u32].into());
    let of_child: Vec<_> = run.items.iter().filter(|item| u64::from(item.process) == child).collect();
    let modules = of_child.iter().filter(|item| matches!(item.record, Record::Module { .. })).count();
    let threads: std::collections::BTreeSet<_> = of_child.iter().map(|item| item.thread).collect();
    // Its first thread, which names the modules, and two more.
    assert!(modules > 2 && threads.len() == 3, "{modules} {threads:?}");
}

#[test]
fn threads_that_come_and_go_end_as_they_do_without() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["churn"]);
    assert_eq!(run.numbers(), [2000]);
    // A thread that never ticked takes no room.
    let ends = run.items.iter().filter(|item| matches!(item.record, Record::End { .. })).count();
    assert!(ends < 2000, "{ends}");
}

#[test]
fn threads_are_recorded_on_after_the_first_has_ended() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["first"]);
    let [line, function] = run.numbers()[..] else { panic!("{:?}", run.output) };
    for offset in [0, 8] {
        assert_eq!(run.threads_at(line + offset, Access::Both, function).len(), 1);
    }
}

#[test]
fn threads_that_end_before_their_second_tick_are_seen_for_as_long_as_they_ran() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["brief"]);
    let [used_us] = run.numbers()[..] else { panic!("{:?}", run.output) };
    let ticks = run.items.iter().filter(|item| matches!(item.record, Record::Tick { .. })).count();
    let seen_us = ticks as u64 * coho_recording::every_ns() / 1000;
    // As many ticks as chance has it.
    assert!(2 * seen_us > used_us && seen_us < 2 * used_us, "{seen_us} of {used_us}");
}

#[test]
fn what_was_loaded_late_is_named_however_the_process_ends() {
    needs!(Capability::CCompiler);
    for end in ["_exit", "_Exit", "quick_exit"] {
        let run = run(&compiled("threads.c", "cc", &[]), &[end]);
        run.printed();
        let texts = run.items.iter().filter_map(|item| match &item.record {
            Record::Text { bytes, .. } => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        });
        let texts: String = texts.collect();
        assert!(texts.contains("libresolv"), "{end}: {texts}");
    }
}

#[test]
fn threads_of_c11_are_recorded_too() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["c11"]);
    let printed = run.printed();
    let (line, result) = printed.trim().split_once(' ').unwrap();
    assert_eq!(result, "-7");
    let line = u64::from_str_radix(&line[2..], 16).unwrap();
    let increments = run.items.iter().filter(|item| {
        matches!(item.record, Record::Operand { address, access: Access::Both, .. } if address == line)
    });
    assert!(increments.count() > 10);
}
