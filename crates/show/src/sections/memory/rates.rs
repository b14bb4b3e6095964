//! Rates: the best at each level of the hierarchy, all of them, and the best of each kind of instruction.

use std::collections::BTreeMap;

use coho_profile::{BlockState, CacheType, Estimate, Fence, Memory, MemoryRate, Operation};
use coho_topology::CacheKind;

use super::is_usual;
use crate::Subject;
use crate::figure::Figure;
use crate::part::{Cell, Column, Row, Table};
use crate::words;

/// Sizes of which the summary tells where the topology tells no caches.
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

/// The quickest of these.
pub(super) fn quickest<'a>(rates: impl Iterator<Item = &'a MemoryRate>) -> Option<&'a MemoryRate> {
    rates.filter(|rate| median(rate).is_finite()).max_by(|a, b| median(a).total_cmp(&median(b)))
}

/// The block that stands for each level: the largest of which two fit into its cache, and the largest of all.
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
    let mut labelled: Vec<(u64, String)> = Vec::new();
    for (level, size) in caches {
        if let Some(&bytes) = sizes.iter().rfind(|&&bytes| 2 * bytes <= size)
            && labelled.last().is_none_or(|(smaller, _)| *smaller < bytes)
        {
            labelled.push((bytes, format!(", L{level}")));
        }
    }
    if largest > last {
        labelled.push((largest, ", memory".to_owned()));
    }
    labelled
}

/// The best rate of each operation at each level, the plain one's and that of the best non-temporal store; then the rates
/// of all CPUs together.
pub(super) fn best(subject: &Subject, memory: &Memory) -> Option<Table> {
    let usual: Vec<&MemoryRate> = memory.rates.iter().filter(|rate| is_usual(rate)).collect();
    let mut sizes: Vec<u64> = usual.iter().map(|rate| rate.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let levels = levels(subject, &sizes);
    let most = memory.rates.iter().map(|rate| rate.threads).max().filter(|threads| *threads > 1);
    let together = most.into_iter().zip(levels.last().cloned());
    let cases = levels.iter().cloned().map(|level| (1, level)).chain(together);
    let cases: Vec<(u32, (u64, String))> = cases.collect();
    let row = |op: Operation, threads: u32, (bytes, level): &(u64, String)| {
        let rates_of_team = || {
            memory.rates.iter().filter(move |rate| {
                let usual = MemoryRate { threads: rate.threads.min(1), ..(*rate).clone() };
                rate.op == op && rate.bytes == *bytes && rate.threads.max(1) == threads && is_usual(&usual)
            })
        };
        let best = quickest(rates_of_team())?;
        let plain =
            quickest(rates_of_team().filter(|rate| matches!(&*rate.instruction, "plain" | "plain-8")));
        let past = quickest(rates_of_team().filter(|rate| is_non_temporal(&rate.instruction)));
        let middle =
            |rate: Option<&MemoryRate>| Cell::maybe(rate.map(|rate| Figure::exact(median(rate) / 1e9)));
        let threads = if threads > 1 { format!("{op}, {threads} threads") } else { op.to_string() };
        Some(Row::new([
            threads.into(),
            format!("{}{level}", words::bytes(*bytes)).into(),
            Cell::maybe(best.bytes_per_s.as_ref().map(|speed| subject.figure(speed).scaled(1e-9))),
            words::short(&best.instruction, 40).into(),
            middle(plain),
            middle(past),
        ]))
    };
    let row = &row;
    let rows = Operation::ALL
        .into_iter()
        .flat_map(|op| cases.iter().filter_map(move |(threads, level)| row(op, *threads, level)));
    let rows: Vec<Row> = rows.collect();
    (!rows.is_empty()).then(|| {
        Table::new("memory-best", "The same block again and again, GB/s")
            .columns([
                Column::text("operation"),
                Column::text("block"),
                Column::figures("best", ""),
                Column::text("by"),
                Column::figures("plain", ""),
                Column::figures("non-temporal", ""),
            ])
            .rows(rows)
            .note(
                "One thread unless a number is given; a copied byte counts once. Plain: words of 8 bytes. \
                 Non-temporal: the best store that bypasses the caches.",
            )
    })
}

/// What a rate is, for scripts, without its unit: the same is the same operation on the same memory under the same
/// conditions.
fn id(rate: &MemoryRate) -> String {
    let words = [rate.op.to_string(), rate.instruction.clone(), rate.bytes.to_string()];
    let conditions = conditions(rate).into_iter().map(|word| word.to_ascii_lowercase().replace(' ', "-"));
    format!("memory.{}", words.into_iter().chain(conditions).collect::<Vec<_>>().join("."))
}

/// The same for people.
fn label(rate: &MemoryRate) -> String {
    let what = format!("{} {}, {}", rate.op, rate.instruction, words::bytes(rate.bytes));
    std::iter::once(what).chain(conditions(rate)).collect::<Vec<_>>().join(", ")
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

/// A table for each operation, type and number of threads, and one of the best of each kind of instruction.
pub(super) fn all(subject: &Subject, memory: &Memory) -> Vec<Table> {
    let key = |rate: &MemoryRate| {
        (rate.op, rate.cache_type, rate.destination_type, rate.threads.max(1), rate.mapping.clone())
    };
    let mut groups: BTreeMap<_, Vec<&MemoryRate>> = BTreeMap::new();
    for rate in &memory.rates {
        groups.entry(key(rate)).or_default().push(rate);
    }
    let mut tables: Vec<Table> = groups.into_values().map(|group| table(subject, &group)).collect();
    tables.extend(kinds(subject, memory));
    tables
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
    let figure = |estimate: &Option<Estimate>| {
        Cell::maybe(
            estimate.as_ref().map(|estimate| subject.figure(estimate).format(crate::figure::Format::Whole)),
        )
    };
    let row = |rate: &&MemoryRate| {
        let word = |word: Option<String>| word.map_or(Cell::Nothing, Cell::from);
        Row::new([
            words::short(&rate.instruction, 40).into(),
            Figure::bytes(rate.bytes).into(),
            word(rate.state.map(|state| state.to_string())),
            word(rate.fence.map(|fence| fence.to_string())),
            Cell::maybe(rate.bytes_per_s.as_ref().map(|speed| subject.figure(speed).scaled(1e-9))),
            Cell::maybe(rate.traffic_bytes_per_s.map(|traffic| traffic / 1e9)),
            figure(&rate.bursts),
            figure(&rate.partials),
        ])
        .keyed(id(rate), label(rate))
    };
    let table = Table::new(format!("memory-{}", file.to_ascii_lowercase()), name)
        .columns([
            Column::text("instruction"),
            Column::figures("block", ""),
            Column::text("before"),
            Column::text("fence"),
            Column::figures("", "GB/s").compared("GB/s"),
            Column::figures("traffic", ""),
            Column::figures("bursts", ""),
            Column::figures("partials", ""),
        ])
        .rows(group.iter().map(row));
    // What the columns mean is said once.
    if first.op != Operation::ALL[0] && first.op != Operation::Read {
        table
    } else {
        table.note(
        "Before: the block's state (warm: as the previous call left it; fresh: in memory; dirty: modified in the \
         caches; flushed: in no cache). Fence: when stores are waited for. Traffic: GB/s including the lines that \
         stores read first, a copied byte twice. Bursts, partials: transactions per call, by counter, if that very \
         row was counted.",
    )
    }
}

/// The best rate of each kind of instruction by one thread, as Hamada et al. tell them. Of what was measured, a block that
/// is warm, without a fence in each call.
fn kinds(subject: &Subject, memory: &Memory) -> Option<Table> {
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
    let row = |((_, id), (rate, kind)): (&(u64, String), &(&MemoryRate, &str))| {
        let size = words::bytes(rate.bytes);
        let label = format!("{}, best {kind}, {}, {size}", rate.op, rate.cache_type);
        let speed = rate.bytes_per_s.as_ref().map(|speed| subject.figure(speed).scaled(1e-9));
        let cells = [rate.op.to_string().into(), (*kind).into(), rate.cache_type.name().into()];
        let rest = [
            Figure::bytes(rate.bytes).into(),
            Cell::maybe(speed),
            words::short(&rate.instruction, 40).into(),
        ];
        Row::new(cells.into_iter().chain(rest)).keyed(id.clone(), label)
    };
    let rows: Vec<Row> = best.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        let table = Table::new("memory-kinds", "The best of each kind of instruction (as in Hamada et al.)");
        let words = [Column::text("operation"), Column::text("kind"), Column::text("type")];
        let figures =
            [Column::figures("block", ""), Column::figures("", "GB/s").compared("GB/s"), Column::text("by")];
        table.columns(words).columns(figures).rows(rows)
    })
}

/// Hamada et al.'s name for instructions such as these. Its plain ones move words of 4 bytes, which those of 8 do not stand
/// for; string instructions are none of its kinds.
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
