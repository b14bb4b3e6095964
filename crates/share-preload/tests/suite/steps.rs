//! What single steps show, and whose traps are whose.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use coho_recording::Record;
use coho_testing::{Capability, needs};

use crate::common::{compiled, run};

#[test]
fn steps_show_what_the_registers_do_not() {
    needs!(Capability::CCompiler);
    let run = run(&compiled("threads.c", "cc", &[]), &["stepped"]);
    let [line, function] = run.numbers()[..] else { panic!("{:?}", run.output) };
    let mut interrupted = BTreeMap::new();
    let mut stepped: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for item in &run.items {
        match item.record {
            Record::Tick { pc, .. } => {
                interrupted.insert(item.thread, pc);
            }
            Record::Operand { pc, address, ahead, .. } if (line..line + 16).contains(&address) => {
                assert!(ahead == 0 && (function..function + 64).contains(&pc), "{item:x?}");
                // It was not the interrupted instruction itself.
                if interrupted.get(&item.thread) != Some(&pc) {
                    stepped.entry(address).or_default().insert(item.thread);
                }
            }
            _ => {}
        }
    }
    let threads: Vec<_> = stepped.values().flatten().collect();
    assert!(stepped.len() == 2 && threads.len() == 2 && threads[0] != threads[1], "{stepped:x?}");
}

#[test]
fn atomics_of_a_rust_program_are_told_with_their_threads() {
    let run = run(&compiled("atomics.rs", "rustc", &[]), &[]);
    let counters = run.numbers()[0];
    let mut threads: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    let mut block = None;
    for item in &run.items {
        match item.record {
            Record::Operand { address, access, .. }
                if (counters..counters + 16).contains(&address) && access.writes() =>
            {
                threads.entry(address).or_default().insert(item.thread);
            }
            Record::Allocated { address, bytes, .. } if address == counters => block = Some(bytes),
            _ => {}
        }
    }
    let both: Vec<_> = threads.values().flatten().collect();
    assert!(threads.len() == 2 && both.len() == 2 && both[0] != both[1], "{threads:x?}");
    assert_eq!(block, Some(16));
}

#[test]
fn traps_of_the_program_s_own_are_its_own() {
    needs!(Capability::CCompiler);
    let program = compiled("threads.c", "cc", &[]);
    let ended_by = |status: ExitStatus| status.signal().or(status.code().map(|code| code - 128));
    let handled = run(&program, &["trap"]);
    let printed = String::from_utf8_lossy(&handled.output.stdout).into_owned();
    assert_eq!(printed.lines().last(), Some("1"), "{printed}");
    assert_eq!(ended_by(handled.output.status), Some(libc::SIGTRAP), "{:?}", handled.output);
    let died = run(&program, &["dies"]);
    assert_eq!(ended_by(died.output.status), Some(libc::SIGTRAP), "{:?}", died.output);
}
