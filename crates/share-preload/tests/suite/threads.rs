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
