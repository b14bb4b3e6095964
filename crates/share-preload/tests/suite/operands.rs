//! What is recorded of memory that threads share.

use coho_recording::{Access, Record};
use coho_testing::{Capability, needs};

use crate::common::{compiled, run};

/// Each of two counters in a line is one thread's, which increments it in a function of its own.
#[track_caller]
fn two_counters(case: &str, access: Access) {
    let program = compiled("threads.c", "cc", &[]);
    let run = run(&program, &[case]);
    let [line, function] = run.numbers()[..] else { panic!("{:?}", run.output) };
    let [one, two] = [0, 8].map(|offset| run.threads_at(line + offset, access, function));
    assert!(one.len() == 1 && two.len() == 1 && one.keys().ne(two.keys()), "{one:?} {two:?}");
    // Most ticks are in the loop that increments, and show it several times. How many a thread gets of 0.3 s of
    // CPU time is the kernel's choice: what the host takes of that time passes without ticks.
    for (thread, operands) in one.iter().chain(&two) {
        let of = run.items.iter().filter(|item| item.thread == *thread);
        let ticks = of.clone().filter(|item| matches!(item.record, Record::Tick { .. })).count();
        assert!(ticks >= 3 && *operands >= 2 * ticks, "{ticks} {operands}");
        let of: Vec<_> = of.map(|item| item.record).collect();
        assert!(matches!(of[0], Record::Stack { start, end } if start < end), "{:?}", of[0]);
        assert!(
            matches!(of[1], Record::Timer { every_ns: 1_000_000..=10_000_000, begun: 1.. }),
            "{:?}",
            of[1]
        );
        assert!(matches!(of[of.len() - 1], Record::End { .. }), "{:?}", of[of.len() - 1]);
    }
}

#[test]
fn counters_in_one_line_are_told_with_their_threads() {
    needs!(Capability::CCompiler);
    two_counters("counters", Access::Both);
}

#[test]
fn a_pointer_that_is_reloaded_is_followed() {
    needs!(Capability::CCompiler);
    two_counters("reload", Access::Both);
}

#[test]
fn the_program_and_its_libraries_are_named() {
    needs!(Capability::CCompiler);
    let program = compiled("threads.c", "cc", &[]);
    let run = run(&program, &["counters"]);
    let [line, function] = run.numbers()[..] else { panic!("{:?}", run.output) };
    let mut modules: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    for item in &run.items {
        match item.record {
            Record::Module { start, end, .. } => modules.push((start, end, Vec::new())),
            Record::Text { length, bytes } => {
                modules.last_mut().unwrap().2.extend(&bytes[..usize::from(length)]);
            }
            _ => {}
        }
    }
    let at = |address: u64| modules.iter().find(|module| (module.0..module.1).contains(&address));
    let own = program.canonicalize().unwrap();
    for address in [line, function] {
        assert_eq!(at(address).unwrap().2, own.as_os_str().as_encoded_bytes(), "{modules:?}");
    }
    let named = |name: &str| modules.iter().any(|module| String::from_utf8_lossy(&module.2).contains(name));
    assert!(named("/libc.so") && named("/libcoho_share.so"), "{modules:?}");
}
