//! For each claim a profile in which it holds, one in which it does not, and one in which it cannot be told.
//!
//! All rest on `profile.json`, in which every claim holds that can.

mod cases;
mod increments;
mod lacks;
mod reasons;
mod words;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use coho_profile::{
    CacheState, Call, CallMethod, Calls, Counts, CpuidAnswer, Estimate, Memory, MemoryRate, Mode, Profile,
    Sync, TopologySection, Workloads, published,
};
use serde_json::Value;

use super::{Judgement, Verdict, judge, judge_published};

/// The profile with every figure known to a thousandth, as fields.
static MEASURED: LazyLock<Value> = LazyLock::new(|| {
    let printed: Profile = serde_json::from_str(include_str!("profile.json")).unwrap();
    let mut fields = serde_json::to_value(printed).unwrap();
    for_each_figure(&mut fields, &|figure| {
        let value = figure["median"].as_f64().unwrap();
        *figure = serde_json::to_value(known(value, 0.001)).unwrap();
    });
    fields
});

fn for_each_figure(fields: &mut Value, change: &impl Fn(&mut Value)) {
    match fields {
        Value::Object(object) if object.contains_key("median") => change(fields),
        Value::Object(object) => object.values_mut().for_each(|field| for_each_figure(field, change)),
        Value::Array(rows) => rows.iter_mut().for_each(|row| for_each_figure(row, change)),
        _ => {}
    }
}

/// A figure of a hundred samples, known to this share of itself.
fn known(value: f64, to: f64) -> Estimate {
    between(value - value.abs() * to, value, value + value.abs() * to)
}

fn between(low: f64, value: f64, high: f64) -> Estimate {
    Estimate { low, high, n: 100, stable: Some(true), ..Estimate::exact(value) }
}

fn figure(value: f64, known_to: f64) -> Option<Estimate> {
    Some(known(value, known_to))
}

fn measured() -> Profile {
    serde_json::from_value(MEASURED.clone()).unwrap()
}

/// Its four packages of two cores of two threads, in a line: 0 - 1 - 2 - 3.
fn packages() -> Option<TopologySection> {
    measured().topology
}

/// Its times between CPUs alone.
fn lines() -> Profile {
    let Profile { host, topology, coherence, .. } = measured();
    Profile { host, topology, coherence, ..Profile::default() }
}

/// Its calls alone, changed.
fn of_calls(change: impl Fn(&mut Calls)) -> Profile {
    let mut calls = measured().calls;
    calls.iter_mut().for_each(change);
    Profile { calls, ..Profile::default() }
}

/// Its barriers and programs of 16 threads alone, changed.
fn team(change: impl Fn(&mut Sync)) -> Profile {
    let mut sync = measured().sync;
    sync.iter_mut().for_each(change);
    Profile { topology: packages(), sync, ..Profile::default() }
}

/// The profile with nothing but its rates by instruction and memory type, which `change` alters.
fn rates(change: impl Fn(&mut Vec<MemoryRate>)) -> Profile {
    let mut rates = measured().memory.unwrap().rates;
    change(&mut rates);
    Profile { topology: packages(), ..with_memory(Memory { rates, ..Memory::default() }) }
}

fn with_memory(memory: Memory) -> Profile {
    Profile { memory: Some(memory), ..Profile::default() }
}

/// Its programs alone, changed.
fn workloads(change: impl Fn(&mut Workloads)) -> Profile {
    let mut workloads = measured().workloads;
    workloads.iter_mut().for_each(change);
    Profile { workloads, ..Profile::default() }
}

fn the(claim: &str, all: &[Judgement]) -> Judgement {
    let found: Vec<_> = all.iter().filter(|one| one.claim.starts_with(claim)).collect();
    assert_eq!(found.len(), 1, "{claim}");
    found[0].clone()
}

/// Claims that the rules of a kernel decide alike, whatever a machine answers.
const BY_RULE: [&str; 1] = ["FreeBSD's listing"];

#[test]
fn the_listing_without_an_l3_is_judged_from_the_cpuid_that_a_profile_holds() {
    let dump = published::paper("kimoto-bulldozer").cpuid();
    let mut topology = TopologySection::from(coho_topology::cpuid::decode(&dump).unwrap());
    topology.cpuid = CpuidAnswer::of(&dump);
    let judged = |topology: &TopologySection| {
        let profile = Profile { topology: Some(topology.clone()), ..Profile::default() };
        the("FreeBSD's listing", &judge(&profile))
    };
    let none = judged(&topology);
    assert!(none.why.contains("has no L3"), "{none:?}");
    topology.counts.l3 = 1;
    let holds = judged(&topology);
    assert_eq!(holds.verdict, Verdict::Holds, "{holds:?}");
    topology.cpuid.clear();
    let unknown = judged(&topology);
    assert!(unknown.verdict == Verdict::CannotBeTold && unknown.why.contains("does not hold"), "{unknown:?}");
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
        let mut profile = lines();
        profile.coherence.as_mut().unwrap().singles[0].unlocked_ns = estimate;
        the(claim, &judge(&profile))
    };
    let good = figure(4.0, 0.001).unwrap();
    assert_eq!(with(good.clone()).verdict, Verdict::Holds);
    let few = with(Estimate { n: 5, ..good.clone() });
    assert_eq!(few.verdict, Verdict::CannotBeTold);
    assert!(few.why.contains("5 samples") && few.why.contains("takes 12"), "{}", few.why);
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
