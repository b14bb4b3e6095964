//! For each claim a profile in which it holds, one in which it does not, and one in which it cannot be told.

mod delegation;
mod hamada_dimmnet;
mod kawabe_furuya;
mod kimoto_bulldozer;
mod lacks;
mod nakamura_fbs;
mod shimosawa_hori_ishikawa;
mod words;

use std::collections::BTreeMap;

use coho_profile::{
    BlockState, CacheState, CacheType, Call, CallMethod, Calls, Coherence, CoherenceCost, CounterTool,
    Counters, Counts, DmaRate, Estimate, ForkJoinTime, Home, Host, Kernel, KernelPoint, LineState, LinesLeft,
    Memory, MemoryRate, Mode, Operation, Pair, PairMethod, Profile, SharedKernel, Side, Single, StateRead,
    Sync, SyncPeer, TopologySection, WorkloadResult, Workloads, published,
};
use coho_topology::{Cache, CacheKind, NumaNode, Pu, Topology, Unit};

use super::{Judgement, Verdict, judge, judge_published};
use hamada_dimmnet::{hamada_dimmnet, rates, with_memory};
use kawabe_furuya::{kawabe_furuya, lines, packages};
use kimoto_bulldozer::{kimoto_bulldozer, workloads};
use nakamura_fbs::{nakamura_fbs, team};
use shimosawa_hori_ishikawa::{calls, counters, shimosawa_hori_ishikawa};

/// A figure of a hundred samples, known to this share of itself.
fn figure(value: f64, known_to: f64) -> Option<Estimate> {
    let (low, high) = (value * (1.0 - known_to), value * (1.0 + known_to));
    Some(Estimate { low, high, n: 100, stable: Some(true), ..Estimate::exact(value) })
}

fn the(claim: &str, all: &[Judgement]) -> Judgement {
    let found: Vec<_> = all.iter().filter(|one| one.claim.starts_with(claim)).collect();
    assert_eq!(found.len(), 1, "{claim}");
    found[0].clone()
}

/// The verdicts that a claim gets from a profile that meets it, from one that does not, and from the first one when
/// it is poorly known.
fn three(claim: &str, profile: impl Fn(f64, f64) -> Profile, holds: f64, fails: f64) -> String {
    let verdict = |value, known_to| the(claim, &judge(&profile(value, known_to)));
    let held = verdict(holds, 0.001);
    assert_eq!(held.verdict, Verdict::Holds, "{held:?}");
    assert!(held.here.is_some() && held.measure.is_none(), "{held:?}");
    let failed = verdict(fails, 0.001);
    assert_eq!(failed.verdict, Verdict::DoesNotHold, "{failed:?}");
    assert!(failed.why.contains("over its whole interval"), "{failed:?}");
    let open = verdict((holds + fails) / 2.0, 0.95);
    assert_eq!(open.verdict, Verdict::CannotBeTold, "{open:?}");
    assert!(open.why.contains("on both sides of") && open.here.is_some(), "{open:?}");
    assert!(open.measure.is_none(), "it was measured: {open:?}");
    let absent = the(claim, &judge(&Profile::default()));
    assert_eq!((absent.verdict, &absent.here), (Verdict::CannotBeTold, &None), "{absent:?}");
    assert!(absent.why.contains("no section") && absent.why.contains("`coho "), "{absent:?}");
    held.claim.to_owned()
}

/// Claims that take more than a profile.
const NEVER: [&str; 2] = ["Without C6", "FreeBSD's listing"];

#[test]
fn every_claim_can_hold_fail_and_stay_open() {
    let mut tried = kawabe_furuya();
    tried.extend(shimosawa_hori_ishikawa());
    tried.extend(delegation::claims());
    tried.extend(nakamura_fbs());
    tried.extend(hamada_dimmnet());
    tried.extend(kimoto_bulldozer());
    let all = judge(&Profile::default());
    let known = |claim: &str| {
        tried.iter().any(|one| one == claim) || NEVER.iter().any(|never| claim.starts_with(never))
    };
    let missing: Vec<_> = all.iter().filter(|one| !known(one.claim)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(all.len(), tried.len() + NEVER.len());
}

/// Each paper's own figures meet its claims, where they are enough for a verdict.
#[test]
fn no_paper_contradicts_itself() {
    let mut held = BTreeMap::new();
    for paper in published::PAPERS.iter() {
        for (machine, profile) in paper.publication().machines {
            let all = judge_published(&profile);
            let wrong: Vec<_> = all.iter().filter(|one| one.verdict == Verdict::DoesNotHold).collect();
            assert!(wrong.is_empty(), "{machine}: {wrong:#?}");
            held.insert(machine, all.iter().filter(|one| one.verdict == Verdict::Holds).count());
        }
    }
    let of = |machine: &str| held[machine];
    assert_eq!((of("e5620"), of("x7560"), of("x5550"), of("pentium3")), (8, 9, 10, 16), "{held:?}");
    assert!(of("sr11000") >= 10, "{held:?}");
}

#[test]
fn few_samples_and_values_that_jump_tell_nothing() {
    let claim = "A locked increment";
    let with = |estimate: Estimate| {
        let mut profile = lines(|all| &mut all.plain, 4.0, 0.001);
        profile.coherence.as_mut().unwrap().singles[0].unlocked_ns = estimate;
        the(claim, &judge(&profile))
    };
    let good = figure(4.0, 0.001).unwrap();
    assert_eq!(with(good.clone()).verdict, Verdict::Holds);
    let few = with(Estimate { n: 5, ..good.clone() });
    assert_eq!(few.verdict, Verdict::CannotBeTold);
    assert!(few.why.contains("5 samples") && few.why.contains("takes 6"), "{}", few.why);
    assert!(with(Estimate { n: 1, ..good.clone() }).why.contains("one sample,"));
    // A fifth of its samples had a value for which the claim does not hold.
    let modes = vec![Mode { value: 4.0, share: 0.8 }, Mode { value: 9.0, share: 0.2 }];
    let jumps = with(Estimate { modes: modes.clone(), stable: Some(false), ..good.clone() });
    assert_eq!(jumps.verdict, Verdict::CannotBeTold, "{jumps:?}");
    assert_eq!(with(Estimate { modes, stable: Some(true), ..good }).verdict, Verdict::Holds);
}

#[test]
fn the_contracts_fields_are_those_and_no_others() {
    let value = serde_json::to_value(judge(&Profile::default())).unwrap();
    for one in value.as_array().unwrap() {
        let fields: Vec<&str> = one.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = ["paper", "claim", "source", "here", "verdict", "why"];
        expected.sort_unstable();
        let mut fields = fields;
        fields.sort_unstable();
        assert_eq!(fields, expected);
        assert_eq!(one["verdict"], "cannot be told");
    }
}
