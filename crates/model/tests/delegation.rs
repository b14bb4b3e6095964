//! What a call's judgement rests on, and how it moves with its figures.

use coho_model::delegation::{channel_ns, judge};
use coho_profile::{
    CacheState, Call, CallMethod, Calls, Coherence, Counts, Damage, Estimate, Home, Judgement, Pair,
    PairMethod, Side, published,
};
use proptest::prelude::*;

fn pair(method: PairMethod, ns: f64) -> Pair {
    Pair {
        a: 0,
        b: 1,
        method,
        home: Home::A,
        ns: Estimate::exact(ns),
        ownership_changes_per_op: None,
        preempted_batches: 0,
        claimed: None,
    }
}

fn coherence(pairs: &[(PairMethod, f64)]) -> Coherence {
    Coherence { pairs: pairs.iter().map(|&(method, ns)| pair(method, ns)).collect(), ..Coherence::default() }
}

fn row(name: &str, wrapped: bool, state: CacheState, ns: f64) -> Call {
    let ns = Some(Estimate::exact(ns));
    Call { name: name.into(), set: "syscalls".into(), state, wrapped, ns, ..Call::default() }
}

/// One call, wrapped and bare, and the damage to working sets.
fn calls(name: &str, wrapped: f64, bare: f64, damage: &[(u64, f64)]) -> Calls {
    let damage = damage.iter().map(|&(set_bytes, ns)| Damage {
        name: name.into(),
        set_bytes,
        lines: None,
        ns: Some(Estimate::exact(ns)),
    });
    Calls {
        calls: vec![
            row(name, true, CacheState::Cold, 10.0 * wrapped),
            row(name, true, CacheState::Warm, wrapped),
            row(name, false, CacheState::Warm, bare),
        ],
        damage: damage.collect(),
        ..Calls::default()
    }
}

fn judged(mut calls: Calls, coherence: Option<&Coherence>) -> Judgement {
    judge(&mut calls, coherence);
    calls.judgements.remove(0)
}

/// The prototype that this follows: write of 1 byte 800 ns through the C library and 90 ns of damage to 24 KiB, a
/// mailbox of 140 ns, 530 ns executed bare elsewhere.
#[test]
fn a_write_that_another_core_should_make() {
    let channel = coherence(&[(PairMethod::Flags, 70.0), (PairMethod::Turn, 30.0)]);
    let write = judged(calls("write", 800.0, 530.0, &[(24 << 10, 90.0), (1 << 20, 900.0)]), Some(&channel));
    assert_eq!(
        (write.cost_ns, write.set_bytes, write.channel_ns),
        (Some(890.0), Some(24 << 10), Some(140.0))
    );
    assert_eq!((write.worth_delegating, write.warm_over_cold), (Some(true), Some(0.1)));
    for told in ["890 ns", "670 ns", "saves 25 %", "without waiting, the message alone, 70 ns"] {
        assert!(write.why.contains(told), "{told}: {}", write.why);
    }
    let getpid = judged(calls("getpid", 180.0, 107.0, &[(24 << 10, 20.0)]), Some(&channel));
    assert_eq!(getpid.worth_delegating, Some(false));
    assert!(getpid.why.contains("loses 24 %"), "{}", getpid.why);
    let even = judged(calls("write", 300.0, 190.0, &[(24 << 10, 20.0)]), Some(&channel));
    assert!(even.why.contains("about even"), "{}", even.why);
}

#[test]
fn what_only_the_thread_itself_can_call_stays() {
    let channel = coherence(&[(PairMethod::Flags, 1.0)]);
    let yielding = judged(calls("sched_yield", 800.0, 100.0, &[(24 << 10, 90.0)]), Some(&channel));
    assert_eq!(yielding.worth_delegating, Some(false));
    assert!(yielding.why.starts_with("never"), "{}", yielding.why);
}

#[test]
fn a_message_is_a_step_of_flags_or_two_of_turn_between_the_nearest_pair() {
    let both = [(PairMethod::Flags, 90.0), (PairMethod::Turn, 30.0), (PairMethod::Flags, 65.0)];
    assert_eq!(channel_ns(&coherence(&both)), Some(130.0));
    assert_eq!(
        channel_ns(&coherence(&[(PairMethod::Turn, 30.0), (PairMethod::FreeRunning, 5.0)])),
        Some(120.0)
    );
    assert_eq!(channel_ns(&coherence(&[(PairMethod::FreeRunning, 5.0), (PairMethod::Unknown, 9.0)])), None);
    assert_eq!(channel_ns(&coherence(&[(PairMethod::Flags, f64::NAN), (PairMethod::Flags, 0.0)])), None);
}

/// Paper 2, section 5: kernel entry below 1 KiB, sprintf 22.7 and fprintf 47.3 (thousand bytes), write 6.4 %.
#[test]
fn the_papers_findings_come_out_of_its_tables() {
    let mut calls = published::read("shimosawa-hori-ishikawa").unwrap().machines.remove(0).1.calls.unwrap();
    judge(&mut calls, None);
    let of = |name: &str| calls.judgements.iter().find(|judgement| judgement.name == name).unwrap();
    let bytes = |name: &str| 1024.0 * of(name).footprint_kib.unwrap();
    assert_eq!((bytes("getpid"), bytes("sprintf"), bytes("fprintf")), (768.0, 22_720.0, 47_296.0));
    assert!((of("write").warm_over_cold.unwrap() - 0.064).abs() < 0.001);
    let mpi: Vec<f64> = ["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv"]
        .map(|name| of(name).warm_over_cold.unwrap())
        .to_vec();
    assert!(mpi.iter().all(|ratio| (0.10..0.43).contains(ratio)), "{mpi:?}");
    assert!(calls.judgements.iter().all(|call| call.worth_delegating.is_none() && call.cost_ns.is_none()));
}

#[test]
fn sides_add_up_and_a_system_call_needs_its_kernels_side() {
    let footprint = |set: &str, user: Option<Option<f64>>, kernel: Option<Option<f64>>| {
        let row = |side, lines: Option<f64>| Call {
            set: set.into(),
            side,
            counts: Counts { L2M: lines.map(Estimate::exact), ..Counts::default() },
            ..row("stat", true, CacheState::Cold, 1.0)
        };
        let sides = [user.map(|lines| row(Side::User, lines)), kernel.map(|lines| row(Side::Kernel, lines))];
        let calls = sides.into_iter().flatten().collect();
        judged(Calls { method: CallMethod::Pmu, calls, ..Calls::default() }, None).footprint_kib
    };
    let (some, lacks) = (|lines: f64| Some(Some(lines)), Some(None));
    assert_eq!(footprint("libc", some(16.0), some(32.0)), Some(3.0));
    assert_eq!(footprint("libc", some(16.0), None), Some(1.0));
    assert_eq!(footprint("libc", lacks, some(32.0)), None);
    assert_eq!(footprint("syscalls", lacks, some(32.0)), Some(2.0));
    assert_eq!(footprint("syscalls", some(16.0), some(32.0)), Some(3.0));
    assert_eq!(footprint("syscalls", some(16.0), None), None);
}

/// Counters may count in one form only, where the clock tells of both.
#[test]
fn figures_of_either_form_are_used() {
    let mut section = calls("write", 800.0, 530.0, &[(24 << 10, 90.0)]);
    section.method = CallMethod::Pmu;
    let counts = Counts { L2M: Some(Estimate::exact(160.0)), ..Counts::default() };
    section.calls.push(Call { counts, side: Side::Kernel, ..row("write", false, CacheState::Cold, 5000.0) });
    let judgement = judged(section, None);
    assert_eq!((judgement.footprint_kib, judgement.cost_ns), (Some(10.0), Some(890.0)));
}

#[test]
fn by_time_the_footprint_is_data_and_the_code_that_was_told() {
    let mut section = calls("stat", 900.0, 900.0, &[]);
    assert_eq!(judged(section.clone(), None).footprint_kib, None);
    section.calls[1].footprint_lines = Some(Estimate::exact(70.0));
    assert_eq!(judged(section.clone(), None).footprint_kib, Some(70.0 * 64.0 / 1024.0));
    section.calls[0].code_lines = Some(10);
    assert_eq!(judged(section.clone(), None).footprint_kib, Some(5.0));
    section.method = CallMethod::Pmu;
    assert_eq!(judged(section, None).footprint_kib, None, "no counter, no footprint by counter");
}

#[test]
fn no_call_no_judgement() {
    let mut none = Calls::default();
    judge(&mut none, None);
    assert!(none.judgements.is_empty());
}

proptest! {
    #[test]
    fn what_costs_the_caller_more_is_never_less_worth_delegating(
        wrapped in 1.0..1e5f64,
        bare in 1.0..1e5f64,
        damage in -100.0..1e4f64,
        more in 0.0..1e4f64,
        step in 1.0..1e4f64,
    ) {
        let channel = coherence(&[(PairMethod::Flags, step)]);
        let at = |wrapped: f64, damage: f64, channel: &Coherence| {
            judged(calls("write", wrapped, bare, &[(24 << 10, damage)]), Some(channel))
        };
        let base = at(wrapped, damage, &channel);
        let worth = |judgement: &Judgement| judgement.worth_delegating.unwrap();
        prop_assert!(base.cost_ns.unwrap() >= wrapped);
        prop_assert!(base.channel_ns.unwrap() > step);
        for dearer in [at(wrapped + more, damage, &channel), at(wrapped, damage + more, &channel)] {
            prop_assert!(dearer.cost_ns >= base.cost_ns);
            prop_assert!(worth(&dearer) >= worth(&base));
        }
        let slower = coherence(&[(PairMethod::Flags, step + more)]);
        prop_assert!(worth(&at(wrapped, damage, &slower)) <= worth(&base));
        // The other core makes the call in its quicker form.
        prop_assert_eq!(worth(&base), wrapped + damage.max(0.0) > 2.0 * step + bare.min(wrapped));
    }

    #[test]
    fn nothing_is_judged_without_its_figures(wrapped in 1.0..1e5f64, damage in 0.0..1e4f64, step in 1.0..1e3f64) {
        let channel = coherence(&[(PairMethod::Turn, step)]);
        let whole = calls("write", wrapped, wrapped, &[(24 << 10, damage)]);
        prop_assert!(judged(whole.clone(), Some(&channel)).worth_delegating.is_some());
        prop_assert_eq!(judged(whole.clone(), None).worth_delegating, None);
        let undamaged = Calls { damage: Vec::new(), ..whole.clone() };
        prop_assert_eq!(judged(undamaged, Some(&channel)).worth_delegating, None);
        let mut untimed = whole;
        untimed.calls.iter_mut().for_each(|call| call.ns = None);
        let untimed = judged(untimed, Some(&channel));
        prop_assert_eq!((untimed.worth_delegating, untimed.cost_ns), (None, None));
        prop_assert!(untimed.why.contains("time is not known"));
    }
}
