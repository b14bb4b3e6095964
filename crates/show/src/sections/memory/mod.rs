//! How fast data moves: rates, latency, and what it costs to keep caches coherent by hand.

mod charts;
mod rates;
mod tables;

use coho_model::chance::{Family, Order};
use coho_profile::{BlockState, CacheType, Fence, Memory, MemoryRate, MemoryType, Operation};

use crate::sections::prelude::*;

pub(super) use rates::kind;

pub(super) const ENTRY: Entry = Entry { id: "memory", title: "Memory", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let memory = subject.profile.memory.as_ref()?;
    let mut section = ENTRY.section(headline(memory));
    section.summary(types_in_short(subject, memory));
    section.summary(rates::best(subject, memory));
    let stores = subject.answers.findings.iter().find(|one| one.id == "non-temporal-stores");
    section.summary(stores.map(|stores| Text::new(&stores.text)));
    section.glance(charts::best(memory));
    section.summary(tables::alone(subject, memory));
    section.glance(charts::latency(memory));
    section.summary(tables::costs(subject, memory));
    section.summary(tables::dma(subject, memory));
    section.detail(Operation::ALL.map(|op| charts::by_instruction(memory, op)));
    section.detail([charts::states(memory), charts::costs(memory)]);
    section.detail(rates::all(subject, memory));
    section.detail(tables::leavings(subject, memory));
    section.detail(tables::transfers(subject, memory));
    section.detail(types(memory));
    how(&mut section, memory);
    Some(section)
}

/// The best of each operation at the largest block, by one thread, as the first table has it.
fn headline(memory: &Memory) -> String {
    let usual = || memory.rates.iter().filter(|rate| rates::is_in_cached_memory(rate) && is_usual_of(rate));
    let largest = usual().map(|rate| rate.bytes).max();
    let best_of = |op: Operation| {
        let mine = |rate: &&MemoryRate| rate.op == op && Some(rate.bytes) == largest;
        let rates = usual().filter(mine).filter(|rate| rate.bytes_per_s.is_some());
        let best = rates::quickest(rates.clone())?;
        let figure = Figure::from(best.bytes_per_s.as_ref()?).scaled(1e-9);
        let (n, by) = (rates.clone().count(), words::short(&best.instruction, 40));
        let family = Family::among(n).of_different_runs();
        let is_less = |other: &MemoryRate| {
            let both = other.bytes_per_s.as_ref().zip(best.bytes_per_s.as_ref());
            both.is_some_and(|(other, best)| family.compare(other, best) == Order::Less)
        };
        // A publication's figures stand for themselves.
        let is_single = best.bytes_per_s.as_ref().is_none_or(|best| best.n == 1);
        let is_best = is_single || rates.filter(|rate| !std::ptr::eq(*rate, best)).all(is_less);
        let which = if is_best { "the best" } else { "the highest median" };
        Some(format!("{op} {} GB/s ({which} of {n}: {by})", figure.text()))
    };
    match (largest, words::joined(Operation::ALL.into_iter().filter_map(best_of), "; ")) {
        (Some(bytes), best) if !best.is_empty() => format!("{best}, blocks of {}", words::bytes(bytes)),
        _ => String::new(),
    }
}

/// The types that rates are of or could be, and who provides them.
fn types_in_short(subject: &Subject, memory: &Memory) -> Option<Text> {
    if memory.rates.is_empty() || memory.types.is_empty() {
        return None;
    }
    let is_there = |name: CacheType| {
        memory.rates.iter().any(|rate| rate.cache_type == name || rate.destination_type == Some(name))
            || memory.types.iter().any(|one| one.name == name && is_measured(one))
    };
    let provider = |name: CacheType| {
        let of_name = |one: &&MemoryType| one.name == name && one.available;
        let provided = memory.types.iter().filter(of_name).max_by_key(|one| one.proven);
        provided.filter(|_| name != CacheType::WriteBack && !subject.published)
    };
    let name = |name: CacheType| match provider(name) {
        Some(one) => {
            let proof = if one.proven { "" } else { ", type not proven" };
            format!("{name} ({}{proof})", words::short(&one.provider, 40))
        }
        None => name.to_string(),
    };
    let there: Vec<CacheType> = CacheType::ALL.into_iter().filter(|name| is_there(*name)).collect();
    let all = subject.published || there.len() == CacheType::ALL.len();
    let why = if all { "" } else { "; `--type WC,UC` says why there are no others" };
    Some(Text::labelled("types", format!("{}{why}", words::joined(there.into_iter().map(name), ", "))))
}

/// Whether rates of this type are measured unasked: its provider has it, and a self-test proved it.
fn is_measured(one: &MemoryType) -> bool {
    one.available && one.proven
}

fn types(memory: &Memory) -> TableOf<&MemoryType> {
    Table::of("memory-types", "Memory types", &memory.types)
        .text("type", |one| one.name.name())
        .text("from", |one| words::short(&one.provider, 60))
        .text("available", |one| match (one.available, one.proven) {
            (true, true) => "yes",
            (true, false) => "yes, type not proven",
            (false, _) => "no",
        })
        .text("why", |one| words::short(&words::reason(&one.why), 300))
}

/// Why the types that the user asked for are missing or not proven, for each provider: what `coho memory --type` says first.
pub fn asked(memory: &Memory, asked: &[CacheType]) -> Vec<Missing> {
    let wanted = |one: &&MemoryType| {
        one.name != CacheType::WriteBack && asked.contains(&one.name) && !is_measured(one)
    };
    let missing = |one: &MemoryType| {
        let proof = if one.available { "proof of " } else { "" };
        Missing::new(format!("{proof}{} by {}", one.name, one.provider), &one.why)
    };
    memory.types.iter().filter(wanted).map(missing).collect()
}

/// How the last run measured, and earlier ones whose parts the profile still has. The table of types says why a type has no
/// rates.
fn how(section: &mut Section, memory: &Memory) {
    let mut last = memory.method.clone();
    last.not_available.retain(|what, _| CacheType::ALL.iter().all(|one| *what != format!("rates of {one}")));
    method::add(&mut section.parts, "memory-method", &last);
    for earlier in &memory.earlier {
        let mut facts = method::facts("memory-method-earlier", &earlier.method);
        let parts = words::short(&earlier.parts.join(", "), 80).replace('_', " ");
        facts.title = format!("How an earlier run measured {parts}");
        section.detail(facts);
    }
}

/// The usual case, of any type of memory: one thread moves the same block again and again, and waits for its stores in the
/// end.
pub(super) fn is_usual_of(rate: &MemoryRate) -> bool {
    rate.threads <= 1 && is_usual(rate)
}

/// The same by any number of threads.
fn is_usual(rate: &MemoryRate) -> bool {
    is_warm(rate) && rate.destination_type.is_none_or(|to| to == CacheType::WriteBack)
}

/// The block is where the call before left it, and its stores are waited for once a run.
fn is_warm(rate: &MemoryRate) -> bool {
    rate.state.is_none_or(|state| state == BlockState::Warm)
        && rate.fence.is_none_or(|fence| fence == Fence::Run)
}

#[cfg(test)]
mod tests;
