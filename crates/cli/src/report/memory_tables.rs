//! The paper's Tables 2 to 8 with this machine's figures, and what has no chart.

use coho_profile::{CacheType, Estimate, LinesLeft, Memory, MemoryRate, Operation};
use maud::{Markup, html};

use super::memory::MACHINE;
use super::text;

/// Rows of one table, at most: a profile may bring any number.
const MOST: usize = 200;
/// The paper's sizes.
const SIZES: [u64; 3] = [512, 64 << 10, 1 << 20];

/// One of the paper's tables.
struct Table {
    number: u8,
    title: &'static str,
    op: Operation,
    shows: fn(&str) -> bool,
}

/// Plain instructions move words; MOVNTI is the plain one of the stores past the caches.
pub(super) fn plain(instruction: &str) -> bool {
    instruction.starts_with("plain") || instruction.starts_with("movnti")
}

pub(super) fn through_prefetchnta(instruction: &str) -> bool {
    instruction.contains("prefetchnta")
}

const TABLES: [Table; 6] = [
    Table { number: 2, title: "register to memory, plain instructions", op: Operation::Write, shows: plain },
    Table { number: 3, title: "register to memory, SIMD", op: Operation::Write, shows: |name| !plain(name) },
    Table {
        number: 4,
        title: "memory to register, plain instructions",
        op: Operation::Read,
        shows: |name| plain(name) && !through_prefetchnta(name),
    },
    Table {
        number: 5,
        title: "memory to register, SIMD",
        op: Operation::Read,
        shows: |name| !plain(name) && !through_prefetchnta(name),
    },
    Table {
        number: 6,
        title: "memory to memory",
        op: Operation::Copy,
        shows: |name| !through_prefetchnta(name),
    },
    Table {
        number: 8,
        title: "memory to memory through PREFETCHNTA",
        op: Operation::Copy,
        shows: through_prefetchnta,
    },
];

/// Types by provider.
pub fn types(memory: &Memory) -> Markup {
    html! { @if !memory.types.is_empty() {
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Type" } th scope="col" { "From" } th scope="col" { "Available" } th scope="col" { "Why" }
            } }
            tbody { @for one in memory.types.iter().take(MOST) { tr {
                th scope="row" { (one.name) }
                td { (text::short(&one.provider, 60)) }
                td { @match (one.available, one.proven) {
                    (true, true) => "yes", (true, false) => "yes, type not proven", (false, _) => "no",
                } }
                td { (text::short(&text::reason(&one.why), 300)) }
            } } }
        } }
    } }
}

/// Tables 2 to 6 and 8.
pub fn papers(memory: &Memory, paper: &Memory) -> Markup {
    html! { @for table in &TABLES { (of(table, memory, paper)) } }
}

/// A row: what distinguishes it, and its figures by size.
struct Row<'a> {
    name: String,
    published: bool,
    by_size: [Option<&'a MemoryRate>; SIZES.len()],
}

fn rows<'a>(table: &Table, memory: &'a Memory, published: bool) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for rate in &memory.rates {
        if rate.op != table.op || rate.threads > 1 || !(table.shows)(&rate.instruction) {
            continue;
        }
        let Some(column) = SIZES.iter().position(|&bytes| bytes == rate.bytes) else { continue };
        let name = name(rate);
        let at = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            rows.push(Row { name, published, by_size: [None; SIZES.len()] });
            rows.len() - 1
        });
        rows[at].by_size[column] = Some(rate);
    }
    rows
}

fn name(rate: &MemoryRate) -> String {
    let mut words = vec![text::short(&rate.instruction, 40)];
    words.push(match rate.destination_type {
        Some(to) => format!("{} to {to}", rate.cache_type),
        None if rate.op == Operation::Copy && rate.cache_type != CacheType::WriteBack => {
            format!("{} to WB", rate.cache_type)
        }
        None => rate.cache_type.to_string(),
    });
    words.extend(rate.state.map(|state| state.to_string()));
    words.extend(rate.fence.map(|fence| match fence {
        coho_profile::Fence::Call => "fence each call".to_owned(),
        coho_profile::Fence::Run => "fence once a run".to_owned(),
        coho_profile::Fence::None => "no fence".to_owned(),
    }));
    words.join(", ")
}

fn of(table: &Table, memory: &Memory, paper: &Memory) -> Markup {
    let mine = rows(table, memory, false);
    let theirs = rows(table, paper, true);
    let all: Vec<_> = mine.iter().chain(&theirs).collect();
    let counted = all.iter().any(|row| row.by_size.iter().flatten().any(|rate| rate.bursts.is_some()));
    html! { @if !all.is_empty() {
        h4 { "Table " (table.number) ": " (table.title) }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Instruction, type" }
                @for bytes in SIZES { th scope="col" { (text::bytes(bytes)) ", GB/s" } }
                @if counted { th scope="col" { "bursts / partials" } }
            } }
            tbody { @for row in all.iter().take(MOST) { tr.published[row.published] {
                th scope="row" { (row.name) @if row.published { " (published, " (MACHINE) ")" } }
                @for rate in row.by_size { (cell(rate)) }
                @if counted { td.number { (transactions(&row.by_size)) } }
            } } }
        } }
        @if mine.is_empty() { p.note { "None measured here." } }
        @if all.len() > MOST { p.note { "And " (all.len() - MOST) " more, in the profile." } }
    } }
}

fn cell(rate: Option<&MemoryRate>) -> Markup {
    html! { @match rate.and_then(|rate| rate.bytes_per_s.as_ref()) {
        Some(rate) => td.number { (text::scaled(rate, 1e-9)) },
        None => td.number.missing { "–" },
    } }
}

/// `16 / 0, 2048 / 0, 32768 / 0`.
fn transactions(by_size: &[Option<&MemoryRate>]) -> String {
    let count = |estimate: &Option<Estimate>| {
        estimate.as_ref().map_or_else(|| "–".to_owned(), |count| format!("{:.0}", count.median))
    };
    let told: Vec<_> = by_size
        .iter()
        .map(|rate| {
            rate.map_or_else(
                || "–".to_owned(),
                |rate| format!("{} / {}", count(&rate.bursts), count(&rate.partials)),
            )
        })
        .collect();
    if told.iter().all(|text| text == "–" || text == "– / –") {
        "–".to_owned()
    } else {
        told.join(", ")
    }
}

/// Table 7.
pub fn leavings(memory: &Memory, paper: &Memory) -> Markup {
    let mine = memory.prefetchnta.iter().map(|row| (row, false));
    let all: Vec<(&LinesLeft, bool)> = mine.chain(paper.prefetchnta.iter().map(|row| (row, true))).collect();
    html! { @if !all.is_empty() {
        h4 { "Table 7: lines that are gone when a block is read again" }
        p { "After a read through PREFETCHNTA and after a plain one. By timing: the second read's loads, which wait for each "
            "other, between those of a block that was certainly left in the caches and of one that was flushed." }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "First read" } th scope="col" { "Block" } th scope="col" { "Lines" }
                th scope="col" { "Gone (95 % interval)" } th scope="col" { "By" } th scope="col" { "ns a load" }
            } }
            tbody { @for (row, published) in all.iter().take(MOST) { tr.published[*published] {
                th scope="row" { (text::short(&row.first, 40)) @if *published { " (published, " (MACHINE) ")" } }
                td.number { (text::bytes(row.bytes)) }
                td.number { (row.lines) }
                td.number { (row.gone.as_ref().map_or_else(|| "–".to_owned(), text::lines)) }
                td { (text::short(&row.method, 40)) }
                td.number { (row.ns.as_ref().map_or_else(|| "–".to_owned(), text::estimate)) }
            } } }
        } }
    } }
}

/// Transfers by engines.
pub fn transfers(memory: &Memory) -> Markup {
    html! { @if !memory.dma.is_empty() {
        h4 { "Transfers by engines other than the CPU" }
        div.scroll { table.figures.events {
            thead { tr {
                th scope="col" { "Engine" } th scope="col" { "Direction" } th scope="col" { "Source" }
                th scope="col" { "Block" } th scope="col" { "GB/s (95 % interval)" }
            } }
            tbody { @for row in memory.dma.iter().take(MOST) { tr {
                th scope="row" { (text::short(&row.engine, 60)) }
                td { (text::short(&row.direction, 40)) } td { (text::short(&row.source, 40)) }
                td.number { (text::bytes(row.bytes)) }
                td.number { @match &row.bytes_per_s {
                    Some(rate) => (text::with_interval(rate.median / 1e9, Some((rate.low / 1e9, rate.high / 1e9)))),
                    None => "–",
                } }
            } } }
        } }
    } }
}

#[cfg(test)]
mod tests {
    use coho_profile::published::hamada_dimmnet;

    use super::*;

    #[test]
    fn every_published_rate_stands_in_a_table() {
        let paper = hamada_dimmnet::figures().publication().machines.remove(0).1.memory.unwrap();
        let shown: usize = TABLES
            .iter()
            .flat_map(|table| rows(table, &paper, true))
            .map(|row| row.by_size.iter().flatten().count())
            .sum();
        assert_eq!(shown, paper.rates.len());
        let page = papers(&Memory::default(), &paper).into_string();
        for figure in ["Table 2", "Table 8", "1.43", "0.53", "16 / 0, 2048 / 0, 32768 / 0"] {
            assert!(page.contains(figure), "{figure}");
        }
        assert!(leavings(&Memory::default(), &paper).into_string().contains("prefetchnta"));
    }

    #[test]
    fn names_from_a_profile_are_escaped() {
        let rate = MemoryRate { instruction: "<b>plain".into(), bytes: 512, ..MemoryRate::default() };
        let page =
            papers(&Memory { rates: vec![rate], ..Memory::default() }, &Memory::default()).into_string();
        assert!(page.contains("&lt;b&gt;plain") && !page.contains("<b>"), "{page}");
    }
}
