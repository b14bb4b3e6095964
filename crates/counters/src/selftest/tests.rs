use coho_testing::{Capability, needs};
use proptest::prelude::*;

use super::*;
use crate::Event;

const KIB: usize = 1 << 10;

/// The CPU on which the published observations were made.
const ZEN_3: Caches = Caches {
    line_bytes: 64,
    l1d_bytes: Some(32 * KIB),
    l1i_bytes: Some(32 * KIB),
    l2_bytes: Some(512 * KIB),
    l3_bytes: Some(32 * KIB * KIB),
};

/// What a machine with 3 cycles a ns would correctly count.
fn honest(column: Column) -> Vec<Observation> {
    Work::that_fits(&ZEN_3)
        .into_iter()
        .map(|work| {
            let n = work.operations;
            let instructions = work.instructions();
            let cycles = match work.kind {
                Kind::Chase(Reach::Memory) => 300 * n,
                Kind::Chase(Reach::L3) => 50 * n,
                Kind::Chase(Reach::L2) => 13 * n,
                Kind::Chase(Reach::L1) => 4 * n,
                Kind::Additions | Kind::Stores => n,
                Kind::Nops => instructions / 4,
            };
            let missed = |reaches: &[Reach]| match work.kind {
                Kind::Chase(reach) if reaches.contains(&reach) => n,
                _ => 0,
            };
            let count = match column {
                Column::L1dReferences => match work.kind {
                    Kind::Chase(_) | Kind::Stores => n,
                    Kind::Nops | Kind::Additions => 0,
                },
                Column::L1dMisses => missed(&[Reach::L2, Reach::L3, Reach::Memory]),
                Column::L2Misses => missed(&[Reach::L3, Reach::Memory]),
                Column::L3Misses => missed(&[Reach::Memory]),
                Column::L1iMisses => {
                    if work.kind == Kind::Nops {
                        n + 7 * 16
                    } else {
                        0
                    }
                }
                Column::Instructions => instructions,
                Column::Inactive => cycles - n.min(cycles),
                Column::Cycles => cycles,
            };
            Observation { work, count, ns: cycles as f64 / 3.0, cycles: Some(cycles as f64) }
        })
        .collect()
}

fn scaled(observations: &[Observation], factor: f64) -> Vec<Observation> {
    let scale = |o: &Observation| Observation { count: (o.count as f64 * factor) as u64, ..*o };
    observations.iter().map(scale).collect()
}

#[test]
fn an_honest_event_passes_its_own_column_and_no_other() {
    for truth in Column::ALL {
        let observations = honest(truth);
        for column in Column::ALL {
            let verdict = judge(column, &observations, &ZEN_3);
            assert_eq!(verdict.passed, truth == column, "{truth} as {column}: {}", verdict.why);
        }
    }
}

#[test]
fn dead_doubled_and_halved_events_fail() {
    for column in Column::ALL {
        for factor in [0.0, 0.4, 2.0] {
            let verdict = judge(column, &scaled(&honest(column), factor), &ZEN_3);
            assert!(!verdict.passed, "{column} times {factor}: {}", verdict.why);
            assert!(verdict.why.contains("counted"), "{}", verdict.why);
        }
    }
}

#[test]
fn nops_decide_as_was_seen_on_a_zen_3() {
    let nops = Work { kind: Kind::Nops, bytes: 64 * KIB, operations: 1024 };
    let verdict =
        |count| judge(Column::L1iMisses, &[Observation { work: nops, count, ns: 1.0, cycles: None }], &ZEN_3);
    assert!(!verdict(0).passed);
    assert!((1031..=1034).all(|count| verdict(count).passed));
}

#[test]
fn without_work_that_causes_it_nothing_passes() {
    let additions = Work { kind: Kind::Additions, bytes: 0, operations: 65536 };
    let verdict =
        judge(Column::L3Misses, &[Observation { work: additions, count: 0, ns: 1.0, cycles: None }], &ZEN_3);
    assert!(!verdict.passed);
    assert!(verdict.why.starts_with("no available work is certain to cause L3M"), "{}", verdict.why);
    assert!(!judge(Column::L1iMisses, &[], &ZEN_3).passed);
}

#[test]
fn a_loads_only_event_is_no_reference_count() {
    let mut loads = honest(Column::L1dReferences);
    loads.iter_mut().filter(|o| o.work.kind == Kind::Stores).for_each(|o| o.count = 0);
    let verdict = judge(Column::L1dReferences, &loads, &ZEN_3);
    assert!(!verdict.passed && verdict.why.contains("stores"), "{}", verdict.why);
}

/// On a guest that has next to nothing of a large L3, a walk that should stay in it goes to memory.
#[test]
fn an_l3_that_holds_nothing_decides_nothing() {
    let mut guest = honest(Column::L3Misses);
    let l3 = guest.iter_mut().find(|o| o.work.kind == Kind::Chase(Reach::L3)).unwrap();
    l3.count = l3.work.operations;
    assert!(!judge(Column::L3Misses, &guest, &ZEN_3).passed);
    let l3 = guest.iter_mut().find(|o| o.work.kind == Kind::Chase(Reach::L3)).unwrap();
    l3.ns = 120.0 * l3.work.operations as f64;
    let verdict = judge(Column::L3Misses, &guest, &ZEN_3);
    assert!(verdict.passed, "{}", verdict.why);
    assert!(verdict.why.contains("the level-3 cache does not hold 8192 KiB"), "{}", verdict.why);
}

proptest! {
    /// The counts that pass form an interval in each work: of three counts, the middle one passes if the outer ones do.
    #[test]
    fn judging_is_monotone(
        column in prop::sample::select(&Column::ALL),
        work in 0..8usize,
        mut counts in prop::array::uniform3(0..200_000u64),
    ) {
        counts.sort_unstable();
        let verdicts = counts.map(|count| {
            let mut observations = honest(column);
            let index = work % observations.len();
            observations[index].count = count;
            judge(column, &observations, &ZEN_3).passed
        });
        prop_assert!(verdicts[1] || !(verdicts[0] && verdicts[2]));
    }
}

fn planted(name: &str, number: u64) -> Candidate {
    const PERF_TYPE_SOFTWARE: u32 = 1;
    Event { name: name.into(), kind: PERF_TYPE_SOFTWARE, config: number, config1: 0 }.into()
}

#[test]
fn planted_events_are_found_out() {
    needs!(Capability::PerfEvents);
    let selftest = SelfTest::new(Caches::here()).unwrap();
    // PERF_COUNT_SW_DUMMY opens and never counts; PERF_COUNT_SW_TASK_CLOCK counts ns.
    let (dead, too_much) = (planted("dummy", 9), planted("task-clock", 1));
    for column in Column::ALL {
        let verdict = selftest.test(column, &dead);
        // Caches whose sizes are not known leave some columns without work, and events of theirs untested.
        assert!(!verdict.passed, "{column}: {}", verdict.why);
        for check in verdict.checks {
            assert_eq!(check.observation.count, 0);
            assert_eq!(check.passed(), check.expected.low == 0, "{check}");
        }
    }
    for column in [Column::L1dMisses, Column::L1iMisses, Column::L2Misses, Column::L3Misses] {
        let verdict = selftest.test(column, &too_much);
        assert!(!verdict.passed, "{column}: {}", verdict.why);
        assert!(
            verdict.checks.iter().any(|check| check.observation.count > check.expected.high),
            "{}",
            verdict.why
        );
    }
    // A sum is as dead as its parts.
    let sum = Candidate { events: [&dead, &dead].map(|one| one.events[0].clone()).to_vec() };
    assert!(!selftest.test(Column::L1dReferences, &sum).passed);
}

#[test]
fn absurd_caches_are_refused() {
    for line_bytes in [0, 8, 48, 1 << 20] {
        let refused = SelfTest::new(Caches { line_bytes, ..ZEN_3 });
        assert!(matches!(refused, Err(Error::Invalid(_))));
    }
}

#[test]
fn what_is_chosen_has_passed() {
    let events = choose(&Column::ALL).unwrap();
    for column in Column::ALL {
        let of_column: Vec<_> = events.tests.iter().filter(|test| test.column == column).collect();
        assert!(!of_column.is_empty());
        assert!(of_column.iter().all(|test| !test.verdict.why.is_empty()));
        let first = of_column.iter().find(|test| test.verdict.passed);
        assert_eq!(events.chosen.get(&column), first.map(|test| &test.candidate));
        assert_eq!(of_column.iter().filter(|test| test.chosen).count(), usize::from(first.is_some()));
    }
}
