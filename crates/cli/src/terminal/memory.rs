//! How fast data moves, for people.

use std::collections::BTreeSet;
use std::io::{self, Write};

use coho_profile::{CacheType, Estimate, Memory, MemoryRate, MemoryType};

use super::table::{dense, table, wrapped};
use crate::report::memory_rates::largest_with_traffic;
use crate::report::text;

/// Sizes side by side that a page has room for.
const SIZES: usize = 6;

/// Writes the tables; of the memory types `asked` for, or of all in short if `asked` is empty, what there is.
pub fn write(out: &mut impl Write, memory: &Memory, asked: &[CacheType]) -> io::Result<()> {
    types(out, memory, asked)?;
    let mut blank = false;
    for group in groups(&memory.rates) {
        blank |= rates(out, &group)?;
    }
    if blank {
        writeln!(out, "{}\n", wrapped("–: ", NOT_COMBINED))?;
    }
    traffic(out, memory)?;
    transactions(out, memory)?;
    latency(out, memory)?;
    costs(out, memory)?;
    leavings(out, memory)?;
    dma(out, memory)?;
    transfers(out, memory)?;
    // Why a type has no rates is told above, or not asked for.
    let of_type = |what: &str| CacheType::ALL.iter().any(|one| what == format!("rates of {one}"));
    for (what, why) in memory.method.not_available.iter().filter(|(what, _)| !of_type(what)) {
        let line = format!("not available: {}: {}", text::tame(what), text::reason(why));
        writeln!(out, "{}", wrapped("", &line))?;
    }
    if memory.method.interrupted {
        writeln!(out, "Stopped before its end; what was measured is above.")?;
    }
    Ok(())
}

/// Why some sizes, states and fences do not meet.
const NOT_COMBINED: &str = "not measured, or interrupted each time. Beyond the caches every block is fresh, which 'warm' \
    stands for there; dirty and flushed blocks go to 1 MiB; unless named, fences are tried at 512 B, 64 KiB and 1 MiB.";

/// Why each provider has none, for types that were asked for; else only whether there is any but write-back.
fn types(out: &mut impl Write, memory: &Memory, asked: &[CacheType]) -> io::Result<()> {
    let special = |one: &&MemoryType| one.name != CacheType::WriteBack;
    if asked.is_empty() && !memory.rates.is_empty() {
        let found: Vec<_> =
            memory.types.iter().filter(special).filter(|one| one.available && one.proven).collect();
        let special = CacheType::ALL.iter().filter(|name| **name != CacheType::WriteBack);
        let all = special.into_iter().all(|name| found.iter().any(|one| one.name == *name));
        let why = if all { "" } else { "; `--type WC,UC` tells why there are no others" };
        let told = found.iter().map(|one| format!(", {} ({})", one.name, text::tame(&one.provider)));
        let told: String = told.collect();
        let line = format!("{}{told}{why}", CacheType::WriteBack);
        return writeln!(out, "{}\n", wrapped("Memory types: ", &line));
    }
    let told: Vec<&MemoryType> =
        memory.types.iter().filter(special).filter(|one| asked.contains(&one.name)).collect();
    for one in &told {
        let found = if one.available { "" } else { "not available: " };
        let told = format!("{}: {found}{}", text::tame(&one.provider), text::reason(&one.why));
        writeln!(out, "{}", wrapped(&format!("{:<3} ", one.name.name()), &told))?;
    }
    if told.is_empty() { Ok(()) } else { writeln!(out) }
}

/// Rates that stand in one table: of one operation, on the same memory, by as many threads.
fn groups(rates: &[MemoryRate]) -> Vec<Vec<&MemoryRate>> {
    let mut groups: Vec<Vec<&MemoryRate>> = Vec::new();
    let key = |rate: &MemoryRate| {
        (rate.op, rate.cache_type, rate.destination_type, rate.threads, rate.mapping.clone())
    };
    for rate in rates {
        match groups.iter_mut().find(|group| key(group[0]) == key(rate)) {
            Some(group) => group.push(rate),
            None => groups.push(vec![rate]),
        }
    }
    groups.sort_by_key(|group| key(group[0]));
    groups
}

/// Whether some cells stayed empty.
fn rates(out: &mut impl Write, group: &[&MemoryRate]) -> io::Result<bool> {
    let first = group[0];
    let mut blank = false;
    let sizes: Vec<u64> = group.iter().map(|rate| rate.bytes).collect::<BTreeSet<_>>().into_iter().collect();
    let threads = match first.threads {
        1 => "one thread".to_owned(),
        n => format!("{n} threads, {}", text::tame(&first.mapping)),
    };
    let to = first.destination_type.map_or_else(String::new, |to| format!(" to {to}"));
    for sizes in sizes.chunks(SIZES) {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for rate in group {
            let state = rate.state.map_or_else(|| "–".to_owned(), |state| state.to_string());
            let fence = rate.fence.map_or_else(|| "–".to_owned(), |fence| fence.to_string());
            let name = vec![text::short(&rate.instruction, 22), state, fence];
            let Some(column) = sizes.iter().position(|&bytes| bytes == rate.bytes) else { continue };
            let row = match rows.iter().position(|row| row[..3] == name) {
                Some(row) => row,
                None => {
                    rows.push(name.into_iter().chain(sizes.iter().map(|_| "–".to_owned())).collect());
                    rows.len() - 1
                }
            };
            rows[row][3 + column] = gigabytes(&rate.bytes_per_s);
        }
        blank |= rows.iter().any(|row| row[3..].iter().any(|cell| cell == "–"));
        writeln!(out, "{} {}{to}, {threads}, GB/s by size of the block", first.op, first.cache_type)?;
        let sizes: Vec<String> = sizes.iter().map(|&bytes| text::bytes(bytes).replace(' ', "")).collect();
        let header: Vec<&str> =
            ["instruction", "before", "fence"].into_iter().chain(sizes.iter().map(String::as_str)).collect();
        writeln!(out, "{}\n", dense(&header, 3, rows))?;
    }
    Ok(blank)
}

/// The largest block's rates beside what they move over the bus.
fn traffic(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    let told = largest_with_traffic(memory);
    let Some(largest) = told.first().map(|rate| rate.bytes) else { return Ok(()) };
    let rows = told.into_iter().map(|rate| {
        let what = format!("{} {}", rate.op, text::tame(&rate.instruction));
        let traffic =
            rate.traffic_bytes_per_s.map_or_else(|| "–".into(), |traffic| text::number(traffic / 1e9));
        [what, rate.threads.to_string(), interval(&rate.bytes_per_s), traffic]
    });
    writeln!(
        out,
        "Blocks of {}: payload, and traffic with the lines that stores read first",
        text::bytes(largest)
    )?;
    writeln!(out, "{}\n", table(["operation", "threads", "GB/s (95 %)", "traffic"], 1, rows.collect()))
}

fn transactions(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    let counted = |rate: &&MemoryRate| rate.bursts.is_some() || rate.partials.is_some();
    let count = |estimate: &Option<Estimate>| {
        estimate.as_ref().map_or_else(|| "–".to_owned(), |count| format!("{:.0}", count.median))
    };
    let mut rows: Vec<_> = memory
        .rates
        .iter()
        .filter(counted)
        .map(|rate| {
            let what = format!("{} {} {}", rate.op, rate.cache_type, text::tame(&rate.instruction));
            [what, text::bytes(rate.bytes), count(&rate.bursts), count(&rate.partials)]
        })
        .collect();
    rows.dedup();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "Transactions of a call, by counter")?;
    writeln!(out, "{}\n", table(["operation", "block", "bursts", "partials"], 1, rows))
}

fn latency(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    if !memory.latency.is_empty() {
        let rows = memory.latency.iter().map(|row| {
            let pages = row.page_bytes.map_or_else(|| "–".into(), text::bytes);
            [text::bytes(row.bytes), pages, ns(&row.ns)]
        });
        writeln!(out, "Latency of loads that wait for each other")?;
        writeln!(out, "{}\n", table(["lines", "pages", "ns (95 %)"], 1, rows.collect()))?;
    }
    if memory.loaded.is_empty() {
        return Ok(());
    }
    let rows = memory.loaded.iter().map(|row| {
        let others = format!("{} {}, {}", row.op, text::tame(&row.instruction), row.threads);
        let pause = text::number(row.pause_ns);
        [others, pause, gigabytes(&row.injected_bytes_per_s), ns(&row.latency_ns)]
    });
    writeln!(out, "Latency while other CPUs stream")?;
    writeln!(out, "{}\n", table(["others", "pause, ns/KiB", "their GB/s", "ns (95 %)"], 1, rows.collect()))
}

fn costs(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    if memory.coherence_cost.is_empty() {
        return Ok(());
    }
    let rows = memory.coherence_cost.iter().map(|cost| {
        let each = cost
            .ns
            .as_ref()
            .map_or_else(|| "–".to_owned(), |ns| text::number(ns.median / cost.lines.max(1) as f64));
        [text::tame(&cost.operation), cost.lines.to_string(), cost.dirty.to_string(), ns(&cost.ns), each]
    });
    writeln!(out, "Lines written back by hand")?;
    writeln!(out, "{}\n", table(["operation", "lines", "modified", "ns (95 %)", "a line"], 1, rows.collect()))
}

fn leavings(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    if memory.prefetchnta.is_empty() {
        return Ok(());
    }
    let rows = memory.prefetchnta.iter().map(|row| {
        let [first, method] = [&row.first, &row.method].map(|text| text::tame(text));
        let gone = row.gone.as_ref().map_or_else(|| "–".to_owned(), text::lines);
        [first, text::bytes(row.bytes), row.lines.to_string(), gone, method, ns(&row.ns)]
    });
    writeln!(out, "Lines gone when a block is read again")?;
    writeln!(
        out,
        "{}\n",
        table(["first read", "block", "lines", "gone", "by", "ns a load"], 1, rows.collect())
    )
}

fn dma(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    if memory.dma.is_empty() {
        return Ok(());
    }
    let rows = memory.dma.iter().map(|row| {
        let [engine, direction, source] =
            [&row.engine, &row.direction, &row.source].map(|text| text::tame(text));
        [engine, direction, source, text::bytes(row.bytes), gigabytes(&row.bytes_per_s)]
    });
    writeln!(out, "Transfers by engines")?;
    writeln!(out, "{}\n", table(["engine", "direction", "source", "block", "GB/s"], 3, rows.collect()))
}

fn transfers(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    if memory.transfers.is_empty() {
        return Ok(());
    }
    let rows = memory.transfers.iter().map(|row| {
        let cpus = format!("{}, {}", row.from, row.to);
        [text::tame(&row.path), cpus, text::bytes(row.bytes), ns(&row.ns)]
    });
    writeln!(out, "Messages between two processes, one way; one of 0 B is its flag alone")?;
    writeln!(out, "{}\n", table(["path", "CPUs", "message", "ns (95 %)"], 2, rows.collect()))
}

/// What follows for a reader in a hurry: the quickest of each operation beyond the caches.
pub fn findings(out: &mut impl Write, memory: &Memory) -> io::Result<()> {
    let largest = memory.rates.iter().map(|rate| rate.bytes).max();
    let mut told = Vec::new();
    for op in coho_profile::Operation::ALL {
        let of = |rate: &&MemoryRate| rate.op == op && Some(rate.bytes) == largest && rate.threads == 1;
        let timed = || {
            let rates = memory.rates.iter().filter(of);
            rates.filter_map(|rate| Some((rate.bytes_per_s.as_ref()?.median, rate)))
        };
        if let Some((_, best)) = timed().max_by(|a, b| a.0.total_cmp(&b.0)) {
            let (rate, by) = (interval(&best.bytes_per_s), text::tame(&best.instruction));
            told.push(format!("{op} {rate} GB/s (the best of {}: {by})", timed().count()));
        }
    }
    if told.is_empty() {
        return Ok(());
    }
    let size = text::bytes(largest.unwrap_or_default());
    writeln!(out, "{}", wrapped("memory     ", &format!("{}, blocks of {size}", told.join("; "))))
}

fn gigabytes(rate: &Option<Estimate>) -> String {
    rate.as_ref().map_or_else(|| "–".to_owned(), |rate| text::number(rate.median / 1e9))
}

fn interval(rate: &Option<Estimate>) -> String {
    rate.as_ref().map_or_else(
        || "–".to_owned(),
        |rate| text::with_interval(rate.median / 1e9, Some((rate.low / 1e9, rate.high / 1e9))),
    )
}

fn ns(estimate: &Option<Estimate>) -> String {
    estimate.as_ref().map_or_else(|| "–".to_owned(), text::estimate)
}

#[cfg(test)]
mod tests {
    use coho_profile::{BlockState, CoherenceCost, Fence, LinesLeft, Operation};

    use super::*;

    fn told(memory: &Memory) -> String {
        let mut out = Vec::new();
        write(&mut out, memory, &[CacheType::WriteCombining]).unwrap();
        findings(&mut out, memory).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    fn rate(op: Operation, instruction: &str, bytes: u64, rate: f64) -> MemoryRate {
        MemoryRate {
            op,
            instruction: instruction.into(),
            bytes,
            threads: 1,
            state: Some(BlockState::Fresh),
            fence: Some(Fence::Call),
            bytes_per_s: Some(Estimate::exact(rate)),
            traffic_bytes_per_s: Some(3.0 * rate),
            ..MemoryRate::default()
        }
    }

    #[test]
    fn a_sweep_keeps_to_the_page() {
        let sizes = (0..13).map(|power| 1 << (9 + power));
        let rates = sizes.flat_map(|bytes| {
            ["avx512-prefetchnta-nt", "plain-8"]
                .map(|instruction| rate(Operation::Copy, instruction, bytes, 123.4e9))
        });
        let text = told(&Memory { rates: rates.collect(), ..Memory::default() });
        assert_eq!(text.matches("copy WB, one thread").count(), 3, "{text}");
        assert!(text.contains("370") && text.contains("avx512-prefetchnta-nt"), "{text}");
    }

    #[test]
    fn types_that_there_are_not_say_why() {
        let types = vec![MemoryType {
            name: CacheType::WriteCombining,
            provider: "vgem".into(),
            why: "no /dev/dri\x1b[31m here".into(),
            ..MemoryType::default()
        }];
        let text = told(&Memory { types, ..Memory::default() });
        assert!(text.contains("WC  vgem: not available: no /dev/dri\\u{1b}[31m here"), "{text}");
    }

    #[test]
    fn types_that_nobody_asked_for_take_a_line() {
        let one = |name, provider: &str, available| MemoryType {
            name,
            provider: provider.into(),
            available,
            why: "because".into(),
            ..MemoryType::default()
        };
        let mut memory = Memory {
            types: vec![
                one(CacheType::WriteCombining, "vgem", false),
                one(CacheType::Uncached, "PCI", false),
            ],
            ..Memory::default()
        };
        let told = |memory: &Memory, asked: &[CacheType]| {
            let mut out = Vec::new();
            write(&mut out, memory, asked).unwrap();
            String::from_utf8(out).unwrap()
        };
        memory.method.not_available.insert("rates of UC".into(), "because".into());
        assert_eq!(told(&memory, &[]), "", "nothing was measured that has a type");
        assert_eq!(told(&memory, &[CacheType::WriteBack]), "");
        let uncached = told(&memory, &[CacheType::Uncached]);
        assert!(uncached.starts_with("UC  PCI: not available: because"), "{uncached}");
        assert_eq!(uncached.matches("because").count(), 1, "each reason once: {uncached}");
        memory.rates = vec![rate(Operation::Read, "plain-8", 512, 1e9)];
        let text = told(&memory, &[]);
        assert!(
            text.starts_with("Memory types: WB; `--type WC,UC` tells why") && !text.contains("vgem"),
            "{text}"
        );
        // What its self-test did not prove is not measured unasked.
        memory.types[0].available = true;
        assert_eq!(told(&memory, &[]), text);
        memory.types[0].proven = true;
        assert!(told(&memory, &[]).starts_with("Memory types: WB, WC (vgem); `--type"));
        (memory.types[1].available, memory.types[1].proven) = (true, true);
        assert!(told(&memory, &[]).starts_with("Memory types: WB, WC (vgem), UC (PCI)\n"));
    }

    #[test]
    fn cells_that_were_not_measured_are_dashes_with_a_reason() {
        let mut rates =
            vec![rate(Operation::Read, "plain-8", 512, 1e9), rate(Operation::Read, "plain-8", 1024, 1e9)];
        let whole = told(&Memory { rates: rates.clone(), ..Memory::default() });
        assert!(!whole.contains("not measured"), "{whole}");
        rates[0].state = Some(BlockState::Dirty);
        rates[0].fence = None;
        let text = told(&Memory { rates, ..Memory::default() });
        let row = text.lines().find(|line| line.contains("dirty")).unwrap();
        assert_eq!(row.matches('–').count(), 2, "{text}");
        assert!(text.contains("–: not measured, or interrupted"), "{text}");
    }

    #[test]
    fn lines_that_are_gone_are_counted_in_whole_digits() {
        let row = LinesLeft {
            first: "read".into(),
            bytes: 512,
            lines: 8,
            method: "timing".into(),
            gone: Some(Estimate::exact(0.0213)),
            ..LinesLeft::default()
        };
        let text = told(&Memory { prefetchnta: vec![row], ..Memory::default() });
        assert!(text.contains(" 0.0 ") && !text.contains("e-2"), "{text}");
    }

    #[test]
    fn costs_are_told_a_line() {
        let cost = CoherenceCost {
            operation: "CLFLUSHOPT".into(),
            lines: 1024,
            dirty: 512,
            ns: Some(Estimate::exact(20480.0)),
        };
        let text = told(&Memory { coherence_cost: vec![cost], ..Memory::default() });
        assert!(text.contains("20480") && text.contains("20.0"), "{text}");
    }
}
