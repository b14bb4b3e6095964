//! What a call's judgement rests on, and how it moves with its figures.

use coho_model::delegation::{CallCost, Judgement, channel, judge};
use coho_profile::{
    CacheState, Call, CallMethod, Calls, Coherence, Counts, Damage, Estimate, Home, Ns, Pair, PairMethod,
    Side, published,
};
use proptest::prelude::*;

fn pair(method: PairMethod, ns: f64) -> Pair {
    Pair::new(0, 1, method, Home::A, Estimate::exact(ns))
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

fn judged(calls: Calls, coherence: Option<&Coherence>) -> CallCost {
    judge(&calls, coherence).costs.remove(0)
}

#[test]
fn the_figures_stand_side_by_side_and_decide_nothing() {
    let channel = coherence(&[(PairMethod::Flags, 70.0), (PairMethod::Turn, 30.0)]);
    let write = judged(calls("write", 800.0, 530.0, &[(24 << 10, 90.0), (1 << 20, 900.0)]), Some(&channel));
    assert_eq!(
        (write.cost_ns, write.set_bytes, write.channel_ns, write.steady_over_cold),
        (Some(Ns(890.0)), Some(24 << 10), Some(Ns(140.0)), Some(0.1))
    );
    assert_eq!(
        write.why,
        "warm call 800 ns, damage to 24 KiB 90 ns; on another core, warm call 530 ns, messages there and back 140 ns; \
         not decided: what a call costs at home by footprint has not been measured"
    );
}

#[test]
fn damage_by_few_samples_is_said_to_be_that() {
    let why = |n| {
        let mut calls = calls("write", 800.0, 530.0, &[(24 << 10, 90.0)]);
        let ns = calls.damage[0].ns.as_mut().unwrap();
        (ns.low, ns.high, ns.n) = (80.0, 99.0, n);
        judged(calls, None).why
    };
    assert!(why(2).contains("damage to 24 KiB 90 ns from too few samples for an interval;"), "{}", why(2));
    assert!(why(6).contains("damage to 24 KiB 90 ns;"), "{}", why(6));
}

#[test]
fn the_steady_state_never_stands_for_a_second_call() {
    let mut section = calls("write", 800.0, 530.0, &[]);
    let second = row("read", true, CacheState::Second, 100.0);
    section.calls.extend([row("read", true, CacheState::Cold, 1000.0), second]);
    let costs = judge(&section, None).costs;
    let ratios: Vec<_> = costs.iter().map(|one| (one.warm_over_cold, one.steady_over_cold)).collect();
    assert_eq!(ratios, [(None, Some(0.1)), (Some(0.1), None)]);
}

#[test]
fn what_only_the_thread_itself_can_call_stays() {
    let channel = coherence(&[(PairMethod::Flags, 1.0)]);
    let yielding = judged(calls("sched_yield", 800.0, 100.0, &[(24 << 10, 90.0)]), Some(&channel));
    assert!(yielding.why.starts_with("never"), "{}", yielding.why);
}

#[test]
fn a_message_is_a_step_of_flags_or_two_of_turn_between_the_nearest_pair() {
    let both = [(PairMethod::Flags, 90.0), (PairMethod::Turn, 30.0), (PairMethod::Flags, 65.0)];
    assert_eq!(channel(&coherence(&both)), Some(Ns(130.0)));
    assert_eq!(
        channel(&coherence(&[(PairMethod::Turn, 30.0), (PairMethod::FreeRunning, 5.0)])),
        Some(Ns(120.0))
    );
    assert_eq!(channel(&coherence(&[(PairMethod::FreeRunning, 5.0), (PairMethod::Unknown, 9.0)])), None);
    assert_eq!(channel(&coherence(&[(PairMethod::Flags, f64::NAN), (PairMethod::Flags, 0.0)])), None);
}

/// Paper 2, section 5: kernel entry below 1 KiB, sprintf 22.7 and fprintf 47.3 (thousand bytes), write 6.4 %.
#[test]
fn the_papers_findings_come_out_of_its_tables() {
    let calls = published::read("shimosawa-hori-ishikawa").unwrap().machines.remove(0).1.calls.unwrap();
    let costs = judge(&calls, None).costs;
    let of = |name: &str| costs.iter().find(|judgement| judgement.name == name).unwrap();
    let bytes = |name: &str| 1024.0 * of(name).footprint_kib.unwrap();
    assert_eq!((bytes("getpid"), bytes("sprintf"), bytes("fprintf")), (768.0, 22_720.0, 47_296.0));
    assert!((of("write").warm_over_cold.unwrap() - 0.064).abs() < 0.001);
    let mpi: Vec<f64> = ["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv"]
        .map(|name| of(name).warm_over_cold.unwrap())
        .to_vec();
    assert!(mpi.iter().all(|ratio| (0.10..0.43).contains(ratio)), "{mpi:?}");
    assert!(costs.iter().all(|call| call.channel_ns.is_none() && call.cost_ns.is_none()));
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
    assert_eq!((judgement.footprint_kib, judgement.cost_ns), (Some(10.0), Some(Ns(890.0))));
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
    assert_eq!(judge(&Calls::default(), None), Judgement::default());
}

proptest! {
    #[test]
    fn no_figures_are_words_of_a_verdict(
        wrapped in prop::option::of(1.0..1e5f64),
        damage in prop::option::of(-100.0..1e4f64),
        step in prop::option::of(1.0..1e3f64),
    ) {
        let channel = step.map(|step| coherence(&[(PairMethod::Turn, step)]));
        let mut section = calls("write", wrapped.unwrap_or(1.0), 100.0, &[(24 << 10, damage.unwrap_or(0.0))]);
        if wrapped.is_none() {
            section.calls.iter_mut().for_each(|call| call.ns = None);
        }
        if damage.is_none() {
            section.damage.clear();
        }
        let found = judged(section, channel.as_ref());
        prop_assert_eq!(found.cost_ns, wrapped.zip(damage).map(|(ns, damage)| Ns(ns + damage.max(0.0))));
        prop_assert_eq!(found.channel_ns, step.map(|step| Ns(4.0 * step)));
        prop_assert!(found.why.ends_with("not decided: what a call costs at home by footprint has not been measured"));
        let unknown = found.why.matches("not measured").count();
        // Without times, neither that at home nor that of the other core is known.
        let expected = 2 * usize::from(wrapped.is_none()) + usize::from(damage.is_none()) + usize::from(step.is_none());
        prop_assert_eq!(unknown, expected, "{}", found.why);
    }
}
