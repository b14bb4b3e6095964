//! Rates by size and by state, latency, and the cost of coherence by hand, as charts.

use std::collections::BTreeSet;

use coho_profile::{BlockState, CacheType, Fence, Memory, MemoryRate, Operation};

use super::is_warm;
use super::rates::{is_non_temporal, quickest};
use crate::sections::lines::{MOST, figure, lines};
use crate::sections::prelude::*;

/// The block by which states are compared.
const MIDDLE: u64 = 64 << 10;
/// In the order of their colours.
const FAMILIES: [&str; 6] = ["plain-8", "avx512", "avx2", "sse2", "rep", "plain-4"];

fn rate_by_size() -> [Axis; 2] {
    [Axis::bytes("size of the block"), Axis::log("GB/s")]
}

/// A rate on a line of rates by size.
fn at_size(rate: &MemoryRate, line: Series, by: &str) -> Option<(Series, Point)> {
    let speed = figure(&rate.bytes_per_s, 1e-9)?;
    let name = format!("{}, {}", line.name, words::bytes(rate.bytes));
    Some((line, Point::new(rate.bytes as f64, speed, |speed| format!("{name}: {speed} GB/s{by}"))))
}

fn usual(memory: &Memory, op: Operation) -> impl Iterator<Item = &MemoryRate> {
    memory
        .rates
        .iter()
        .filter(move |rate| rate.op == op && rate.threads <= 1 && is_warm(rate) && rate.bytes > 0)
}

fn is_write_back(rate: &MemoryRate) -> bool {
    rate.cache_type == CacheType::WriteBack && rate.destination_type.is_none()
}

/// The best of each operation, and the best store past the caches, by size.
pub(super) fn best(memory: &Memory) -> Option<Chart> {
    let mut points = Vec::new();
    for op in Operation::ALL {
        let rates: Vec<&MemoryRate> = usual(memory, op).filter(|rate| is_write_back(rate)).collect();
        let sizes: BTreeSet<u64> = rates.iter().map(|rate| rate.bytes).collect();
        for (past, stroke) in [(false, Stroke::Solid), (true, Stroke::Dashed)] {
            let name = if past { format!("{op}, non-temporal") } else { op.to_string() };
            points.extend(sizes.iter().filter_map(|&bytes| {
                let of_kind =
                    |rate: &&MemoryRate| rate.bytes == bytes && is_non_temporal(&rate.instruction) == past;
                let rate = quickest(rates.iter().copied().filter(of_kind))?;
                let line = Series::new(&name, Colour::nth(op as usize), stroke);
                at_size(rate, line, &format!(" ({})", rate.instruction))
            }));
        }
    }
    Some(lines("memory-rates", "Rates by size of the block", rate_by_size(), points)?.caption(
        "One thread, the same block again and again, by the instruction with the highest median at each size; a copied byte counts \
         once. Dashed: stores that bypass the caches.",
    ))
}

pub(super) fn latency(memory: &Memory) -> Option<Chart> {
    let points = memory.latency.iter().filter_map(|row| {
        let hover = |ns: &str| format!("lines of {}: {ns} ns", words::bytes(row.bytes));
        let line = Series::new("dependent loads", Colour::nth(0), Stroke::Solid);
        Some((line, Point::new(row.bytes as f64, figure(&row.ns, 1.0)?, hover)))
    });
    let axes = [Axis::bytes("bytes of the lines"), Axis::log("time of a load, ns")];
    let chart = lines("memory-latency", "Latency by size", axes, points)?;
    Some(chart.caption("Lines in random order: what a single stream pays without prefetching."))
}

fn family(instruction: &str) -> Colour {
    let at = FAMILIES.iter().position(|family| instruction.starts_with(family));
    // Neon and published SIMD take the place of SSE2; MOVNTI moves words of eight bytes.
    let other = if instruction.starts_with("movnti") || instruction.starts_with("plain") { 0 } else { 3 };
    Colour::nth(at.unwrap_or(other))
}

/// All instructions of an operation by size.
pub(super) fn by_instruction(memory: &Memory, op: Operation) -> Option<Chart> {
    // Loads through PREFETCHNTA stand in the tables alone: nobody could tell lines of one colour apart.
    let rates = usual(memory, op).filter(|rate| !rate.instruction.contains("prefetchnta"));
    let points = rates.filter_map(|rate| {
        let kind = match (rate.cache_type, rate.destination_type) {
            (CacheType::WriteBack, None) => String::new(),
            (from, None) => format!(", {from}"),
            (from, Some(to)) => format!(", {from} to {to}"),
        };
        let dashed = is_non_temporal(&rate.instruction) || !kind.is_empty();
        let stroke = if dashed { Stroke::Dashed } else { Stroke::Solid };
        let name = words::short(&format!("{}{kind}", rate.instruction), 40);
        at_size(rate, Series::new(name, family(&rate.instruction), stroke), "")
    });
    let what = match op {
        Operation::Write => "Register to memory",
        Operation::Read => "Memory to register",
        Operation::Copy => "Memory to memory",
    };
    let title = format!("{what} by instruction and size");
    Some(lines(format!("memory-{op}"), title, rate_by_size(), points)?.caption(
        "One thread, the same block again and again. Dashed: instructions that bypass the caches, or memory that is \
         not write-back.",
    ))
}

/// Bars of each state and fence for the instruction of each operation with the highest median.
pub(super) fn states(memory: &Memory) -> Option<Chart> {
    let is_shown = |rate: &&MemoryRate| {
        rate.bytes == MIDDLE
            && rate.threads == 1
            && is_write_back(rate)
            && rate.bytes_per_s.is_some()
            && rate.fence != Some(Fence::None)
    };
    let rates: Vec<&MemoryRate> = memory.rates.iter().filter(is_shown).collect();
    // Loads have no fence: they stand with the stores that are waited for once.
    let case = |rate: &MemoryRate| Some((rate.state?, rate.fence.unwrap_or(Fence::Run)));
    let cases: BTreeSet<(BlockState, Fence)> = rates.iter().filter_map(|rate| case(rate)).collect();
    if cases.len() < 2 {
        return None;
    }
    let series = Operation::ALL.map(|op| {
        let bars = cases.iter().map(|wanted| {
            let same = |rate: &&MemoryRate| rate.op == op && case(rate) == Some(*wanted);
            let rate = quickest(rates.iter().copied().filter(same))?;
            let hover = |speed: &str| format!("{op}, {}: {speed} GB/s ({})", wanted.0, rate.instruction);
            Some(Bar::new(figure(&rate.bytes_per_s, 1e-9)?, hover))
        });
        BarSeries::new(op.name(), Colour::nth(op as usize), bars)
    });
    let name = |(state, fence): &(BlockState, Fence)| match fence {
        Fence::Call => format!("{state}, fence each call"),
        _ => state.to_string(),
    };
    let title = format!("Rates of {} by the block's state beforehand", words::bytes(MIDDLE));
    let plot = Plot::Bars { categories: cases.iter().map(name).collect(), series: series.into() };
    let chart = Chart::new("memory-states", title, Axis::linear("GB/s"), Axis::linear("state before"), plot);
    Some(chart.caption(
        "By the instruction with the highest median. Warm: as the previous call left it; fresh: in memory; dirty: modified in the \
         caches; flushed: in no cache; shared: read by another CPU; remote: modified in another CPU's caches.",
    ))
}

pub(super) fn costs(memory: &Memory) -> Option<Chart> {
    let rows = memory.coherence_cost.iter().take(64 * MOST).filter(|row| row.lines > 0);
    let points = rows.filter_map(|row| {
        // Halves lie between the two ends; the table has them.
        let (what, stroke) = match row.dirty {
            dirty if dirty == row.lines => ("modified", Stroke::Solid),
            0 => ("clean", Stroke::Dashed),
            _ => return None,
        };
        let colour = match row.operation.as_str() {
            "CLFLUSH" | "DC CIVAC" => 0,
            "CLFLUSHOPT" | "DC CVAC" => 1,
            "CLWB" => 2,
            _ => 5,
        };
        let name = words::short(&format!("{}, {what}", row.operation), 60);
        let hover = |ns: &str| format!("{name}, {}: {ns} ns", words::count(row.lines, "line"));
        let point = Point::new(row.lines as f64, figure(&row.ns, 1.0)?, hover);
        Some((Series::new(name, Colour::nth(colour), stroke), point))
    });
    let axes = [Axis::log("lines"), Axis::log("time for all of them, ns")];
    let chart = lines("memory-costs", "Lines written back explicitly", axes, points)?;
    Some(chart.caption("Includes the fence that follows. Solid: all lines modified; dashed: none."))
}
