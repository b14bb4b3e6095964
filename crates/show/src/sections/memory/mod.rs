//! How fast data moves: rates, latency, and what it costs to keep caches coherent by hand.

mod charts;
mod rates;
mod tables;

use coho_profile::{BlockState, CacheType, Fence, Memory, MemoryRate, Operation};

use super::{Entry, method};
use crate::Subject;
use crate::figure::Figure;
use crate::part::{Column, Missing, Row, Section, Table, Text};
use crate::words;

pub(super) use rates::kind;

/// Its place among the sections.
pub const ENTRY: Entry = Entry { id: "memory", title: "Memory", of: section };

/// What there is to show of it.
pub fn section(subject: &Subject) -> Option<Section> {
    let memory = subject.profile.memory.as_ref()?;
    let mut section = ENTRY.section(headline(memory));
    section.summary(types_in_short(memory));
    section.summary(rates::best(subject, memory));
    if let Some(stores) = subject.answers.findings.iter().find(|one| one.id == "non-temporal-stores") {
        section.summary(Text::new(stores.text.clone()));
    }
    section.summary(charts::best(memory));
    for table in tables::latency(subject, memory) {
        section.summary(table);
    }
    section.summary(charts::latency(memory));
    section.summary(tables::costs(subject, memory));
    section.summary(tables::dma(subject, memory));
    for chart in charts::detailed(memory) {
        section.detail(chart);
    }
    for table in rates::all(subject, memory) {
        section.detail(table);
    }
    for table in [tables::leavings(subject, memory), tables::transfers(subject, memory)].into_iter().flatten()
    {
        section.detail(table);
    }
    if !memory.types.is_empty() {
        section.detail(types(memory));
    }
    how(&mut section, memory);
    Some(section)
}

/// The best of each operation at the largest block, by one thread.
fn headline(memory: &Memory) -> String {
    let largest = memory.rates.iter().map(|rate| rate.bytes).max();
    let best_of = |op: Operation| {
        let rates = memory.rates.iter().filter(move |rate| {
            rate.op == op && Some(rate.bytes) == largest && rate.threads == 1 && rate.bytes_per_s.is_some()
        });
        let speed = |rate: &MemoryRate| rate.bytes_per_s.as_ref().map_or(0.0, |speed| speed.median);
        let best = rates.clone().max_by(|a, b| speed(a).total_cmp(&speed(b)))?;
        let figure = Figure::from(best.bytes_per_s.as_ref()?).scaled(1e-9);
        let (n, by) = (rates.count(), words::short(&best.instruction, 40));
        Some(format!("{op} {} GB/s (the best of {n}: {by})", figure.text()))
    };
    let best: Vec<String> = Operation::ALL.into_iter().filter_map(best_of).collect();
    match largest {
        Some(bytes) if !best.is_empty() => {
            format!("{}, blocks of {}", best.join("; "), words::bytes(bytes))
        }
        _ => String::new(),
    }
}

/// The types that rates were measured on.
fn types_in_short(memory: &Memory) -> Option<Text> {
    if memory.rates.is_empty() || memory.types.is_empty() {
        return None;
    }
    let special =
        |one: &&coho_profile::MemoryType| one.name != CacheType::WriteBack && one.available && one.proven;
    let special: Vec<_> = memory.types.iter().filter(special).collect();
    let all = CacheType::ALL
        .iter()
        .all(|name| *name == CacheType::WriteBack || special.iter().any(|one| one.name == *name));
    let names = special.iter().map(|one| format!(", {} ({})", one.name, words::short(&one.provider, 40)));
    let names: String = names.collect();
    let why = if all { "" } else { "; `--type WC,UC` says why there are no others" };
    Some(Text::labelled("types", format!("{}{names}{why}", CacheType::WriteBack)))
}

fn types(memory: &Memory) -> Table {
    let row = |one: &coho_profile::MemoryType| {
        let available = match (one.available, one.proven) {
            (true, true) => "yes",
            (true, false) => "yes, type not proven",
            (false, _) => "no",
        };
        let [provider, why] = [words::short(&one.provider, 60), words::short(&words::reason(&one.why), 300)];
        Row::new([one.name.name().into(), provider.into(), available.into(), why.into()])
    };
    Table::new("memory-types", "Memory types")
        .columns(["type", "from", "available", "why"].map(Column::text))
        .rows(memory.types.iter().map(row))
}

/// Why each provider of the types that somebody asked for has none: what `coho memory --type` tells first.
pub fn asked(memory: &Memory, asked: &[CacheType]) -> Vec<Missing> {
    let wanted = memory.types.iter().filter(|one| {
        one.name != CacheType::WriteBack && asked.contains(&one.name) && !(one.available && one.proven)
    });
    let missing = |one: &coho_profile::MemoryType| Missing {
        what: format!("{} by {}", one.name, one.provider),
        why: words::reason(&one.why),
    };
    wanted.map(missing).collect()
}

/// How the last run measured, and earlier ones whose parts are still here. Why a type has no rates stands in the table of
/// types.
fn how(section: &mut Section, memory: &Memory) {
    let of_type = |what: &str| CacheType::ALL.iter().any(|one| what == format!("rates of {one}"));
    let mut last = memory.method.clone();
    last.not_available.retain(|what, _| !of_type(what));
    method::add(&mut section.parts, "memory-method", &last);
    for earlier in &memory.earlier {
        let mut facts = method::facts("memory-method-earlier", &earlier.method);
        let parts = words::short(&earlier.parts.join(", "), 80).replace('_', " ");
        facts.title = format!("How an earlier run measured {parts}");
        section.detail(facts);
    }
}

/// The usual case: one thread moves the same block of usual memory again and again, and waits for its stores in the end.
fn is_usual(rate: &MemoryRate) -> bool {
    rate.cache_type == CacheType::WriteBack && is_usual_of(rate)
}

/// The same of any type of memory.
pub(super) fn is_usual_of(rate: &MemoryRate) -> bool {
    let usual = rate.threads <= 1 && is_warm(rate);
    usual && rate.destination_type.is_none_or(|to| to == CacheType::WriteBack)
}

/// The block is where the call before left it, and its stores are waited for once a run.
fn is_warm(rate: &MemoryRate) -> bool {
    rate.state.is_none_or(|state| state == BlockState::Warm)
        && rate.fence.is_none_or(|fence| fence == Fence::Run)
}

#[cfg(test)]
mod tests;
