//! How much data a core moves, and from which size on non-temporal stores pay.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{BlockState, CacheType, Estimate, Fence, Memory, MemoryRate, Operation, Profile};
use coho_topology::size;

use super::finding::{Finding, Urgency, brief};
use crate::chance::{BETWEEN_RUNS, Family};
use crate::words::{listed, number};

pub fn findings(profile: &Profile) -> Vec<Finding> {
    let Some(memory) = &profile.memory else { return Vec::new() };
    [bandwidth(memory), non_temporal(memory)].into_iter().flatten().collect()
}

/// A rate with its interval, and where it stands.
#[derive(Clone, Copy)]
struct Timed<'a> {
    at: usize,
    rate: &'a MemoryRate,
    speed: &'a Estimate,
    /// The ends of its range where all rates are compared.
    low: f64,
    high: f64,
}

impl Timed<'_> {
    fn pointer(&self) -> String {
        format!("/memory/rates/{}/bytes_per_s", self.at)
    }

    fn gb_s(&self) -> String {
        number(self.speed.median / 1e9)
    }

    /// `22.0 (21.8–22.2)`.
    fn interval(&self) -> String {
        let Estimate { low, high, .. } = self.speed;
        format!("{} ({}–{})", self.gb_s(), number(low / 1e9), number(high / 1e9))
    }
}

/// Rates of one thread that moves the same block of ordinary memory again and again and finally waits for its stores.
fn timed(memory: &Memory) -> impl Iterator<Item = Timed<'_>> {
    let is_usual = |rate: &MemoryRate| {
        rate.threads == 1
            && rate.cache_type == CacheType::WriteBack
            && rate.destination_type.is_none_or(|to| to == CacheType::WriteBack)
            && rate.state == Some(BlockState::Warm)
            && rate.fence.is_none_or(|fence| fence == Fence::Run)
    };
    let usual = || memory.rates.iter().enumerate().filter(move |(_, rate)| is_usual(rate));
    // The best is sought of each operation and size.
    let mut rivals: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    usual().for_each(|(_, rate)| *rivals.entry((rate.op.name(), rate.bytes)).or_default() += 1);
    let family = Family::of(rivals.values().map(|n| n * (n - 1) / 2).sum());
    usual().filter_map(move |(at, rate)| {
        let speed = rate.bytes_per_s.as_ref()?;
        let (low, high) = family.ends(speed)?;
        Some(Timed { at, rate, speed, low, high })
    })
}

/// The rates that no other exceeds: the highest median, then those whose intervals overlap its own.
fn leaders<'a>(rates: impl Iterator<Item = Timed<'a>>) -> Vec<Timed<'a>> {
    let mut all: Vec<Timed<'a>> = rates.collect();
    all.sort_by(|a, b| b.speed.median.total_cmp(&a.speed.median));
    let least = all.first().map_or(f64::INFINITY, |best| best.low);
    all.retain(|one| one.high >= least);
    all
}

/// The most instructions that are named one by one.
const NAMED: usize = 3;

/// `avx2-nt`; where intervals cannot distinguish several: `avx2-nt, not clearly quicker than sse2-nt and 2 more`.
fn named(leaders: &[Timed<'_>]) -> String {
    let mut names: Vec<String> = Vec::new();
    for one in leaders.iter().filter(|one| one.rate.instruction != leaders[0].rate.instruction) {
        if !names.contains(&one.rate.instruction) {
            names.push(one.rate.instruction.clone());
        }
    }
    let best = leaders[0].rate.instruction.as_str();
    if names.is_empty() {
        return best.to_owned();
    }
    let more = names.len().saturating_sub(NAMED - 1);
    if more > 0 {
        names.truncate(NAMED - 1);
        names.push(format!("{more} more"));
    }
    format!("{best}, not clearly quicker than {}", listed(&names))
}

/// The best rate of each operation at the largest size.
fn bandwidth(memory: &Memory) -> Option<Finding> {
    let largest = timed(memory).map(|one| one.rate.bytes).max()?;
    let best_of =
        |op| leaders(timed(memory).filter(move |one| one.rate.op == op && one.rate.bytes == largest));
    let best: Vec<Vec<Timed<'_>>> =
        Operation::ALL.into_iter().map(best_of).filter(|leaders| !leaders.is_empty()).collect();
    let words = |leaders: &Vec<Timed<'_>>| {
        let verb = match leaders[0].rate.op {
            Operation::Write => "writes",
            Operation::Read => "reads",
            Operation::Copy => "copies",
        };
        format!("{verb} {}", leaders[0].interval())
    };
    let instructions = |leaders: &Vec<Timed<'_>>| format!("{} {}", leaders[0].rate.op, named(leaders));
    let instructions: Vec<_> = best.iter().map(instructions).collect();
    let text = listed(&best.iter().map(words).collect::<Vec<_>>());
    Some(Finding {
        id: "bandwidth",
        brief: brief(&format!("In blocks of {}, one core {text} GB/s.", size(largest)), "one run"),
        text: format!("In blocks of {}, one core {text} GB/s.", size(largest)),
        act: String::new(),
        urgency: Urgency::Note,
        evidence: best.iter().flatten().map(Timed::pointer).collect(),
        condition: format!(
            "one thread, the same block again and again, one run; the quickest instructions: {}",
            instructions.join("; ")
        ),
        next: lacking(memory),
    })
}

/// Blocks that a quick run measures: the paper's sizes, and one beyond the caches.
const QUICK_SIZES: usize = 4;

/// The command that measures what the profile lacks, in words; empty if it lacks nothing.
fn lacking(memory: &Memory) -> String {
    let sizes: BTreeSet<u64> = timed(memory).map(|one| one.rate.bytes).collect();
    let has = |is: fn(&MemoryRate) -> bool| memory.rates.iter().any(is);
    let has_states = has(|rate| matches!(rate.state, Some(BlockState::Dirty | BlockState::Flushed)));
    let cpus = memory.method.parameters.get("cpus").and_then(|cpus| cpus.as_array()).map_or(2, Vec::len);
    let lacks = [
        (sizes.len() <= QUICK_SIZES, "other sizes"),
        (!has_states, "other states of the block"),
        (cpus > 1 && !has(|rate| rate.threads > 1), "several cores at once"),
    ];
    let lacks: Vec<String> =
        lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what.to_owned()).collect();
    match lacks.is_empty() {
        true => String::new(),
        false => format!("`coho memory -o PROFILE` measures {}.", listed(&lacks)),
    }
}

fn is_non_temporal(instruction: &str) -> bool {
    instruction.ends_with("-nt") || instruction.starts_with("movnti")
}

/// The stores of one size: the best of either kind, with those of its kind that it does not exceed beyond chance.
struct Stores<'a> {
    usual: Vec<Timed<'a>>,
    past: Vec<Timed<'a>>,
}

impl<'a> Stores<'a> {
    fn of(memory: &'a Memory, bytes: u64) -> Option<Self> {
        let best_of = |past: bool| {
            let stores =
                timed(memory).filter(|one| one.rate.op == Operation::Write && one.rate.bytes == bytes);
            leaders(stores.filter(|one| is_non_temporal(&one.rate.instruction) == past))
        };
        let (usual, past) = (best_of(false), best_of(true));
        (!usual.is_empty() && !past.is_empty()).then_some(Self { usual, past })
    }

    /// Whether the best non-temporal store is quicker than every other store, beyond all their intervals.
    fn pays(&self) -> bool {
        is_beyond(&self.past, &self.usual)
    }

    fn costs(&self) -> bool {
        is_beyond(&self.usual, &self.past)
    }

    fn size(&self) -> String {
        size(self.usual[0].rate.bytes)
    }

    fn beside(&self) -> String {
        let (usual, past) = (&self.usual[0], &self.past[0]);
        format!(
            "{} against {} GB/s ({}, {})",
            past.interval(),
            usual.interval(),
            past.rate.instruction,
            usual.rate.instruction
        )
    }
}

fn is_beyond(quick: &[Timed<'_>], others: &[Timed<'_>]) -> bool {
    let most = others.iter().map(|one| one.high).fold(0.0, f64::max);
    quick[0].low > most && quick[0].speed.median >= BETWEEN_RUNS * others[0].speed.median
}

/// The size from which the best non-temporal store is quicker than all others, at each larger size that was measured.
fn non_temporal(memory: &Memory) -> Option<Finding> {
    let sizes: BTreeSet<u64> = timed(memory).map(|one| one.rate.bytes).collect();
    let both: Vec<Stores<'_>> = sizes.into_iter().filter_map(|bytes| Stores::of(memory, bytes)).collect();
    let (first, last) = (both.first()?, both.last()?);
    let from = both.iter().rposition(|row| !row.pays()).map_or(0, |at| at + 1);
    let (text, urgency, row) = match both.get(from) {
        Some(row) if from == 0 => (
            format!(
                "For writing alone, non-temporal stores are quicker at every size measured, from {} on: \
                 there {}.",
                row.size(),
                row.beside()
            ),
            Urgency::Advice,
            row,
        ),
        Some(row) => {
            let below = &both[from - 1];
            let until = match below.costs() {
                true => format!("at {} they are slower", below.size()),
                false => format!("at {} no difference shows", below.size()),
            };
            let text = format!(
                "For writing alone, non-temporal stores pay from {} on: there {}; {until}.",
                row.size(),
                row.beside()
            );
            (text, Urgency::Advice, row)
        }
        None if both.iter().all(Stores::costs) => (
            format!(
                "For writing alone, non-temporal stores pay at none of the sizes measured, {} to {}: at the \
                 largest {}.",
                first.size(),
                last.size(),
                last.beside()
            ),
            Urgency::Note,
            last,
        ),
        None => return None,
    };
    let next = match urgency {
        Urgency::Advice => {
            "Use them for data that is not read again soon: they leave the caches to other data."
        }
        _ => "",
    };
    Some(Finding {
        id: "non-temporal-stores",
        brief: brief(&text, "one thread, one run"),
        text,
        act: String::new(),
        urgency,
        evidence: vec![row.past[0].pointer(), row.usual[0].pointer()],
        condition: format!(
            "one thread stores to the same block again and again, in one run; stores that differ do so \
             beyond the intervals of all stores measured and by at least a tenth; sizes measured: {}",
            both.iter().map(Stores::size).collect::<Vec<_>>().join(", ")
        ),
        next: next.into(),
    })
}
