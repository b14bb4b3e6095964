//! Rates: the best at each level of the hierarchy, all of them, and the best of each kind of instruction.

use std::collections::{BTreeMap, BTreeSet};

use coho_profile::{BlockState, CacheType, Fence, Memory, MemoryRate, Operation};
use coho_topology::CacheKind;

use super::is_usual;
use crate::sections::prelude::*;

/// Sizes in the summary if the topology has no caches.
const SIZES: usize = 4;

/// Plain instructions move words; MOVNTI is the plain one of the stores past the caches.
fn is_plain(instruction: &str) -> bool {
    instruction.starts_with("plain") || instruction.starts_with("movnti")
}

/// Stores past the caches.
pub(super) fn is_non_temporal(instruction: &str) -> bool {
    instruction.ends_with("-nt") || instruction.starts_with("movnti")
}

fn median(rate: &MemoryRate) -> f64 {
    rate.bytes_per_s.as_ref().map_or(f64::NAN, |speed| speed.median)
}

/// Memory that the caches hold as usual.
pub(super) fn is_in_cached_memory(rate: &MemoryRate) -> bool {
    rate.cache_type == CacheType::WriteBack
}

/// The one with the highest median, which another may be as quick as.
pub(super) fn quickest<'a>(rates: impl Iterator<Item = &'a MemoryRate>) -> Option<&'a MemoryRate> {
    rates.filter(|rate| median(rate).is_finite()).max_by(|a, b| median(a).total_cmp(&median(b)))
}

/// The block that stands for each level: the largest that fits twice into its cache, and for memory the largest of all.
fn levels(subject: &Subject, sizes: &[u64]) -> Vec<(u64, String)> {
    let topology = subject.profile.topology.as_ref().map(|section| &section.topology);
    let mut caches: BTreeMap<u8, u64> = BTreeMap::new();
    for cache in topology.iter().flat_map(|topology| &topology.caches) {
        if cache.kind != CacheKind::Instruction && cache.size_bytes > 0 {
            caches.insert(cache.level, cache.size_bytes);
        }
    }
    let Some((&largest, others)) = sizes.split_last() else { return Vec::new() };
    let Some(&last) = caches.values().next_back() else {
        let step = others.len().div_ceil(SIZES - 1).max(1);
        return others.iter().step_by(step).chain([&largest]).map(|&bytes| (bytes, String::new())).collect();
    };
    let within = caches.iter().filter_map(|(level, size)| {
        let bytes = sizes.iter().rfind(|&&bytes| 2 * bytes <= *size)?;
        Some((*bytes, format!(", L{level}")))
    });
    let memory = (largest > last).then(|| (largest, ", memory".to_owned()));
    let mut labelled: Vec<(u64, String)> = within.collect();
    labelled.dedup_by(|(bytes, _), (smaller, _)| *bytes <= *smaller);
    labelled.extend(memory);
    labelled
}

/// The highest rate of each operation at each level, the plain one's and the highest of non-temporal stores; then the rates
/// of all CPUs together.
pub(super) fn best(subject: &Subject, memory: &Memory) -> Table {
    let is_shown = |rate: &&MemoryRate| is_in_cached_memory(rate) && is_usual(rate);
    let usual: Vec<&MemoryRate> = memory.rates.iter().filter(is_shown).collect();
    let of_one = usual.iter().filter(|rate| rate.threads <= 1);
    let sizes: BTreeSet<u64> = of_one.map(|rate| rate.bytes).collect();
    let levels = levels(subject, &Vec::from_iter(sizes));
    let most = memory.rates.iter().map(|rate| rate.threads).max().filter(|threads| *threads > 1);
    let together = most.into_iter().zip(levels.last());
    let cases: Vec<_> = levels.iter().map(|level| (1, level)).chain(together).collect();
    let cases = Operation::ALL.into_iter().flat_map(|op| cases.iter().map(move |case| (op, *case)));
    let rows = cases.filter_map(|(op, (threads, (bytes, level)))| {
        let is_of_case =
            |rate: &&MemoryRate| rate.op == op && rate.bytes == *bytes && rate.threads.max(1) == threads;
        let rates = || usual.iter().copied().filter(is_of_case);
        let plain = quickest(rates().filter(|rate| matches!(&*rate.instruction, "plain" | "plain-8")));
        let past = quickest(rates().filter(|rate| is_non_temporal(&rate.instruction)));
        let name = if threads > 1 { format!("{op}, {threads} threads") } else { op.to_string() };
        Some((name, words::bytes(*bytes) + level, quickest(rates())?, [plain, past]))
    });
    let rows: Vec<_> = rows.collect();
    let gb_per_s = |rate: Option<&MemoryRate>| Some(median(rate?) / 1e9);
    Table::of("memory-best", "The same block again and again, GB/s", &rows)
        .text("operation", |(name, ..)| name.as_str())
        .text("block", |(_, block, ..)| block.as_str())
        .figures("highest", "", |(.., best, _)| subject.scaled(&best.bytes_per_s, 1e-9))
        .text("by", |(.., best, _)| words::short(&best.instruction, 40))
        .figures("plain", "", |(.., [plain, _])| gb_per_s(*plain))
        .figures("non-temporal", "", |(.., [_, past])| gb_per_s(*past))
        .note(format!(
            "One thread unless a number is given; a copied byte counts once. Highest: the highest median, which \
             others may equal. Plain: words of {}. Non-temporal: the highest of stores that bypass the caches.",
            if memory.rates.iter().any(|rate| rate.instruction == "plain-8") { "4 or 8 bytes" } else { "4 bytes" }
        ))
        .done()
}

/// What a rate is, for scripts, without its unit: an operation on a type of memory under some conditions.
fn id(rate: &MemoryRate) -> String {
    let words = [rate.op.to_string(), rate.instruction.clone(), rate.bytes.to_string()];
    let conditions = conditions(rate).into_iter().map(|word| word.to_ascii_lowercase().replace(' ', "-"));
    format!("memory.{}", words::joined(words.into_iter().chain(conditions), "."))
}

/// The same for people.
fn label(rate: &MemoryRate) -> String {
    let what = format!("{} {}, {}", rate.op, rate.instruction, words::bytes(rate.bytes));
    words::joined(std::iter::once(what).chain(conditions(rate)), ", ")
}

fn conditions(rate: &MemoryRate) -> Vec<String> {
    let kind = (rate.cache_type != CacheType::WriteBack).then(|| rate.cache_type.to_string());
    let to = rate.destination_type.map(|to| format!("to {to}"));
    let threads = (rate.threads > 1).then(|| format!("{} threads", rate.threads));
    let mapping = Some(rate.mapping.clone()).filter(|mapping| rate.threads > 1 && !mapping.is_empty());
    let state = rate.state.map(|state| state.to_string());
    let fence = rate.fence.map(|fence| format!("fence {fence}"));
    [kind, to, threads, mapping, state, fence].into_iter().flatten().collect()
}

/// A table for each operation, type and number of threads, and one of the highest of each kind of instruction.
pub(super) fn all(subject: &Subject, memory: &Memory) -> Vec<Table> {
    let key = |rate: &MemoryRate| {
        (rate.op, rate.cache_type, rate.destination_type, rate.threads.max(1), rate.mapping.clone())
    };
    let mut groups: BTreeMap<_, Vec<&MemoryRate>> = BTreeMap::new();
    for rate in &memory.rates {
        groups.entry(key(rate)).or_default().push(rate);
    }
    groups.into_values().map(|group| table(subject, &group)).chain([kinds(subject, memory)]).collect()
}

fn table(subject: &Subject, group: &[&MemoryRate]) -> Table {
    let first = group[0];
    let threads = match first.threads {
        0 | 1 => "one thread".to_owned(),
        n => format!("{n} threads, {}", words::short(&first.mapping, 40)),
    };
    let to = first.destination_type.map_or_else(String::new, |to| format!(" to {to}"));
    let name = format!("{} {}{to}, {threads}", first.op, first.cache_type);
    let file: String = name.chars().filter(|c| *c != ',').map(|c| if c == ' ' { '-' } else { c }).collect();
    let whole = |estimate| Some(subject.figure_of(estimate)?.format(Format::Whole));
    Table::of(format!("memory-{}", file.to_ascii_lowercase()), name, group.iter().copied())
        .text("instruction", |rate| words::short(&rate.instruction, 40))
        .figures("block", "", |rate| Figure::bytes(rate.bytes))
        .text("state before", |rate| rate.state.map(|state| state.to_string()))
        .text("fence", |rate| rate.fence.map(|fence| fence.to_string()))
        .compared("", "GB/s", "GB/s", |rate| subject.scaled(&rate.bytes_per_s, 1e-9))
        .figures("traffic", "", |rate| rate.traffic_bytes_per_s.map(|traffic| traffic / 1e9))
        .figures("bursts", "", |rate| whole(&rate.bursts))
        .figures("partials", "", |rate| whole(&rate.partials))
        .keyed(|rate| (id(rate), label(rate)))
        // Copies have the columns of stores and loads.
        .note_if(
            first.op != Operation::Copy,
            "Before: the block's state (warm: as the previous call left it; fresh: in memory; dirty: modified in the \
             caches; flushed: in no cache). Fence: when stores are waited for. Traffic: GB/s including the lines that \
             stores read first, a copied byte twice. Bursts, partials: transactions per call, by counter, if that \
             very row was counted.",
        )
        .done()
}

/// The highest rate of each kind of instruction by one thread, as Hamada et al. give them: of measured rates, those of a warm
/// block without a fence in each call.
fn kinds(subject: &Subject, memory: &Memory) -> Table {
    let mut best: BTreeMap<(u64, String), (&MemoryRate, &str)> = BTreeMap::new();
    for rate in &memory.rates {
        let Some(kind) = kind(&rate.instruction).filter(|_| median(rate).is_finite()) else { continue };
        let other = rate.destination_type.is_some_and(|to| to != CacheType::WriteBack);
        let warm = matches!(rate.state, None | Some(BlockState::Warm));
        if rate.threads > 1 || !warm || rate.fence == Some(Fence::Call) || other {
            continue;
        }
        let id = format!("memory.kind.{}.{kind}.{}.{}", rate.op, rate.cache_type, rate.bytes);
        let known = best.entry((rate.bytes, id.to_ascii_lowercase())).or_insert((rate, kind));
        if median(rate) > median(known.0) {
            known.0 = rate;
        }
    }
    Table::of("memory-kinds", "The highest median of each kind of instruction (as in Hamada et al.)", &best)
        .text("operation", |(_, (rate, _))| rate.op.name())
        .text("kind", |(_, (_, kind))| *kind)
        .text("type", |(_, (rate, _))| rate.cache_type.name())
        .figures("block", "", |(_, (rate, _))| Figure::bytes(rate.bytes))
        .compared("", "GB/s", "GB/s", |(_, (rate, _))| subject.scaled(&rate.bytes_per_s, 1e-9))
        .text("by", |(_, (rate, _))| words::short(&rate.instruction, 40))
        .keyed(|((_, id), (rate, kind))| {
            let (what, size) = (rate.op, words::bytes(rate.bytes));
            (id, format!("{what}, {kind}, {}, {size}", rate.cache_type))
        })
        .done()
}

/// Hamada et al.'s name for an instruction such as this. The paper's plain ones move words of 4 bytes, so those of 8 have no
/// name there; nor have string instructions.
pub fn kind(instruction: &str) -> Option<&'static str> {
    let of_8 = instruction.split('-').any(|part| part == "8");
    if instruction.starts_with("rep-") || is_plain(instruction) && of_8 {
        return None;
    }
    // MOVNTI is the plain store past the caches; MOVNTDQA reads as the others do, but for WC.
    let through = instruction.contains("prefetchnta");
    Some(match (is_plain(instruction), is_non_temporal(instruction), through) {
        (_, true, true) => return None,
        (true, false, true) => "plain-prefetchnta",
        (false, false, true) => "simd-prefetchnta",
        (true, true, _) => "plain-nt",
        (false, true, _) => "simd-nt",
        (true, false, _) => "plain",
        (false, false, _) => "simd",
    })
}
