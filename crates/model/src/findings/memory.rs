//! What a core moves, and from which size on non-temporal stores pay.

use std::collections::BTreeSet;

use coho_profile::{BlockState, CacheType, Estimate, Fence, Memory, MemoryRate, Operation, Profile};
use coho_topology::size;

use super::{Finding, Urgency, listed, number};
use crate::barrier::is_slower;

pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(memory) = &profile.memory else { return Vec::new() };
    [bandwidth(memory), non_temporal(memory)].into_iter().flatten().collect()
}

/// A rate that has an interval, and where it stands.
#[derive(Clone, Copy)]
struct Told<'a> {
    at: usize,
    rate: &'a MemoryRate,
    speed: &'a Estimate,
}

impl Told<'_> {
    fn pointer(&self) -> String {
        format!("/memory/rates/{}/bytes_per_s", self.at)
    }

    fn gb_s(&self) -> String {
        number(self.speed.median / 1e9)
    }
}

/// Rates of one thread that moves the same block of usual memory again and again, and waits for its stores in the end.
fn told(memory: &Memory) -> impl Iterator<Item = Told<'_>> {
    let is_usual = |rate: &MemoryRate| {
        rate.threads == 1
            && rate.cache_type == CacheType::WriteBack
            && rate.destination_type.is_none_or(|to| to == CacheType::WriteBack)
            && rate.state == Some(BlockState::Warm)
            && rate.fence.is_none_or(|fence| fence == Fence::Run)
    };
    memory.rates.iter().enumerate().filter(move |(_, rate)| is_usual(rate)).filter_map(|(at, rate)| {
        let speed = rate.bytes_per_s.as_ref().filter(|speed| speed.has_interval())?;
        Some(Told { at, rate, speed })
    })
}

fn quickest<'a>(rates: impl Iterator<Item = Told<'a>>) -> Option<Told<'a>> {
    rates.max_by(|a, b| a.speed.median.total_cmp(&b.speed.median))
}

/// The best of each operation at the largest size.
fn bandwidth(memory: &Memory) -> Option<Finding> {
    let largest = told(memory).map(|one| one.rate.bytes).max()?;
    let of = |op| quickest(told(memory).filter(move |one| one.rate.op == op && one.rate.bytes == largest));
    let best: Vec<Told<'_>> = Operation::ALL.into_iter().filter_map(of).collect();
    let words = |one: &Told<'_>| {
        let verb = match one.rate.op {
            Operation::Write => "writes",
            Operation::Read => "reads",
            Operation::Copy => "copies",
        };
        format!("{verb} {} GB/s ({})", one.gb_s(), one.rate.instruction)
    };
    Some(Finding {
        id: "bandwidth",
        text: format!("One core {} in blocks of {}.", listed(&best.iter().map(words).collect::<Vec<_>>()), size(largest)),
        urgency: Urgency::Note,
        evidence: best.iter().map(Told::pointer).collect(),
        condition: "one thread, the same block again and again, by the quickest of the instructions that were measured".into(),
        next: "`coho memory -o PROFILE` measures other sizes, states, and several cores at once.".into(),
    })
}

fn is_non_temporal(instruction: &str) -> bool {
    instruction.ends_with("-nt") || instruction.starts_with("movnti")
}

/// From where the best non-temporal store is quicker than the best other one, at each larger size that was measured.
fn non_temporal(memory: &Memory) -> Option<Finding> {
    let stores = || told(memory).filter(|one| one.rate.op == Operation::Write);
    let sizes: BTreeSet<u64> = stores().map(|one| one.rate.bytes).collect();
    let best = |bytes: u64, past: bool| {
        quickest(
            stores().filter(|one| one.rate.bytes == bytes && is_non_temporal(&one.rate.instruction) == past),
        )
    };
    let both: Vec<(Told<'_>, Told<'_>)> =
        sizes.into_iter().filter_map(|bytes| Some((best(bytes, false)?, best(bytes, true)?))).collect();
    // Rates: the lower one is the slower store.
    let pays = |(usual, past): &(Told<'_>, Told<'_>)| is_slower(usual.speed, past.speed);
    let costs = |(usual, past): &(Told<'_>, Told<'_>)| is_slower(past.speed, usual.speed);
    let (first, last) = (both.first()?, both.last()?);
    let from = both.iter().rposition(|row| !pays(row)).map_or(0, |at| at + 1);
    let beside = |(usual, past): &(Told<'_>, Told<'_>)| {
        format!(
            "{} against {} GB/s ({}, {})",
            past.gb_s(),
            usual.gb_s(),
            past.rate.instruction,
            usual.rate.instruction
        )
    };
    let at = |(usual, _): &(Told<'_>, Told<'_>)| size(usual.rate.bytes);
    let (text, urgency, row) = match both.get(from) {
        Some(row) if from == 0 => (
            format!(
                "For writing alone, non-temporal stores are quicker at each size measured, from {} on: there {}.",
                at(row),
                beside(row)
            ),
            Urgency::Advice,
            row,
        ),
        Some(row) => (
            format!("For writing alone, non-temporal stores pay from {} on: there {}.", at(row), beside(row)),
            Urgency::Advice,
            row,
        ),
        None if both.iter().all(costs) => (
            format!(
                "For writing alone, non-temporal stores pay at no size measured, {} to {}: at the last {}.",
                at(first),
                at(last),
                beside(last)
            ),
            Urgency::Note,
            last,
        ),
        None => return None,
    };
    let next = match urgency {
        Urgency::Advice => "Store so what is not read soon: it leaves the caches to other data.",
        _ => "",
    };
    Some(Finding {
        id: "non-temporal-stores",
        text,
        urgency,
        evidence: vec![row.1.pointer(), row.0.pointer()],
        condition: format!(
            "one thread that stores to the same block again and again; beyond both intervals, sizes measured: {}",
            both.iter().map(at).collect::<Vec<_>>().join(", ")
        ),
        next: next.into(),
    })
}
