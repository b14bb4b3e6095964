//! Rates by size and by state, latency, and the cost of coherence by hand, as charts.

use coho_profile::{BlockState, CacheType, Estimate, Fence, Memory, MemoryRate, Operation};

use super::is_warm;
use super::rates::{is_non_temporal, quickest};
use crate::chart::{Axis, Bar, BarSeries, Chart, Colour, Plot, Point, Series, Stroke};
use crate::figure::Figure;
use crate::{scale, words};

/// Lines of one chart, at most: a profile may bring any number.
const MOST: usize = 12;
/// The block by which states are compared.
const MIDDLE: u64 = 64 << 10;
/// In the order of their colours.
const FAMILIES: [&str; 6] = ["plain-8", "avx512", "avx2", "sse2", "rep", "plain-4"];

/// A positive figure in another unit.
fn figure(estimate: &Option<Estimate>, scale: f64) -> Option<Figure> {
    estimate
        .as_ref()
        .map(|estimate| Figure::from(estimate).scaled(scale))
        .filter(|one| scale::is_time(one.value))
}

fn point(x: f64, figure: &Figure, hover: String) -> Point {
    Point { x, y: figure.value, interval: figure.interval(), hover }
}

/// Adds a point to the series of that name.
fn add(series: &mut Vec<Series>, name: &str, colour: Colour, stroke: Stroke, point: Point) {
    match series.iter_mut().find(|one| one.name == name) {
        Some(one) => one.points.push(point),
        None => series.push(Series { name: name.to_owned(), colour, stroke, points: vec![point] }),
    }
}

/// From left to right; the first ones of too many. `None` if no line has two points.
fn lines(mut series: Vec<Series>) -> Option<Plot> {
    series.truncate(MOST);
    for one in &mut series {
        one.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    series.iter().any(|one| one.points.len() > 1).then_some(Plot::Lines(series))
}

fn usual(memory: &Memory, op: Operation) -> impl Iterator<Item = &MemoryRate> {
    memory
        .rates
        .iter()
        .filter(move |rate| rate.op == op && rate.threads <= 1 && is_warm(rate) && rate.bytes > 0)
}

/// The best of each operation, and the best store past the caches, by size.
pub(super) fn best(memory: &Memory) -> Option<Chart> {
    let mut series = Vec::new();
    for op in Operation::ALL {
        let rates: Vec<&MemoryRate> = usual(memory, op)
            .filter(|rate| rate.cache_type == CacheType::WriteBack && rate.destination_type.is_none())
            .collect();
        let mut sizes: Vec<u64> = rates.iter().map(|rate| rate.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for past in [false, true] {
            for &bytes in &sizes {
                let rates_of_kind = rates
                    .iter()
                    .copied()
                    .filter(|rate| rate.bytes == bytes && is_non_temporal(&rate.instruction) == past);
                let Some(rate) = quickest(rates_of_kind) else { continue };
                let Some(speed) = figure(&rate.bytes_per_s, 1e-9) else { continue };
                let (name, stroke) = match past {
                    false => (op.to_string(), Stroke::Solid),
                    true => (format!("{op}, non-temporal"), Stroke::Dashed),
                };
                let hover =
                    format!("{name}, {}: {} GB/s ({})", words::bytes(bytes), speed.text(), rate.instruction);
                add(&mut series, &name, Colour::nth(op as usize), stroke, point(bytes as f64, &speed, hover));
            }
        }
    }
    let chart = Chart::new(
        "memory-rates",
        "Rates by size of the block",
        Axis::bytes("size of the block"),
        Axis::log("GB/s"),
        lines(series)?,
    );
    Some(chart.caption(
        "One thread, the same block again and again, by the quickest instruction at each size; a copied byte counts \
         once. Dashed: stores that bypass the caches.",
    ))
}

/// Of loads that wait for each other.
pub(super) fn latency(memory: &Memory) -> Option<Chart> {
    let mut series = Vec::new();
    for row in &memory.latency {
        let Some(ns) = figure(&row.ns, 1.0) else { continue };
        let hover = format!("lines of {}: {} ns", words::bytes(row.bytes), ns.text());
        add(
            &mut series,
            "dependent loads",
            Colour::nth(0),
            Stroke::Solid,
            point(row.bytes as f64, &ns, hover),
        );
    }
    let (x, y) = (Axis::bytes("bytes of the lines"), Axis::log("time of a load, ns"));
    let chart = Chart::new("memory-latency", "Latency by size", x, y, lines(series)?);
    Some(chart.caption("Lines in random order: what a single stream pays without prefetching."))
}

/// All instructions of each operation, states, loaded latency, and the cost of coherence by hand.
pub(super) fn detailed(memory: &Memory) -> Vec<Chart> {
    let by_op = Operation::ALL.into_iter().filter_map(|op| by_instruction(memory, op));
    by_op.chain([states(memory), loaded(memory), costs(memory)].into_iter().flatten()).collect()
}

fn family(instruction: &str) -> Colour {
    let at = FAMILIES.iter().position(|family| instruction.starts_with(family));
    // Neon stands where SSE2 does, and published SIMD, too; MOVNTI moves words of eight bytes.
    let other = if instruction.starts_with("movnti") || instruction.starts_with("plain") { 0 } else { 3 };
    Colour::nth(at.unwrap_or(other))
}

fn by_instruction(memory: &Memory, op: Operation) -> Option<Chart> {
    let mut series: Vec<Series> = Vec::new();
    // What is read through PREFETCHNTA stands in the tables: lines of one colour could not be told apart.
    for rate in usual(memory, op).filter(|rate| !rate.instruction.contains("prefetchnta")) {
        let Some(speed) = figure(&rate.bytes_per_s, 1e-9) else { continue };
        let kind = match (rate.cache_type, rate.destination_type) {
            (CacheType::WriteBack, None) => String::new(),
            (from, None) => format!(", {from}"),
            (from, Some(to)) => format!(", {from} to {to}"),
        };
        let name = words::short(&format!("{}{kind}", rate.instruction), 40);
        let dashed = is_non_temporal(&rate.instruction) || !kind.is_empty();
        let stroke = if dashed { Stroke::Dashed } else { Stroke::Solid };
        let hover = format!("{name}, {}: {} GB/s", words::bytes(rate.bytes), speed.text());
        add(&mut series, &name, family(&rate.instruction), stroke, point(rate.bytes as f64, &speed, hover));
    }
    let id = format!("memory-{op}");
    let title = format!(
        "{} by instruction and size",
        match op {
            Operation::Write => "Register to memory",
            Operation::Read => "Memory to register",
            Operation::Copy => "Memory to memory",
        }
    );
    let chart = Chart::new(id, title, Axis::bytes("size of the block"), Axis::log("GB/s"), lines(series)?);
    Some(chart.caption(
        "One thread, the same block again and again. Dashed: instructions that bypass the caches, or \
                        memory that is not write-back.",
    ))
}

/// Bars of each state and fence for the quickest instruction of each operation.
fn states(memory: &Memory) -> Option<Chart> {
    let is_shown = |rate: &&MemoryRate| {
        rate.bytes == MIDDLE
            && rate.threads == 1
            && rate.cache_type == CacheType::WriteBack
            && rate.destination_type.is_none()
            && rate.bytes_per_s.is_some()
            && rate.fence != Some(Fence::None)
    };
    let rates: Vec<&MemoryRate> = memory.rates.iter().filter(is_shown).collect();
    let mut cases: Vec<(BlockState, Option<Fence>)> =
        rates.iter().filter_map(|rate| Some((rate.state?, rate.fence))).collect();
    // Loads have no fence: they stand with the stores that are waited for once.
    cases.iter_mut().for_each(|case| case.1 = Some(case.1.unwrap_or(Fence::Run)));
    cases.sort_unstable();
    cases.dedup();
    if cases.len() < 2 {
        return None;
    }
    let series = Operation::ALL.into_iter().map(|op| {
        let bar = |(state, fence): &(BlockState, Option<Fence>)| {
            let same = |rate: &&MemoryRate| {
                rate.op == op
                    && rate.state == Some(*state)
                    && Some(rate.fence.unwrap_or(Fence::Run)) == *fence
            };
            let rate = quickest(rates.iter().copied().filter(same))?;
            let speed = figure(&rate.bytes_per_s, 1e-9)?;
            let hover = format!("{op}, {state}: {} GB/s ({})", speed.text(), rate.instruction);
            Some(Bar { value: speed.value, interval: speed.interval(), hover })
        };
        let bars = cases.iter().map(bar).collect();
        BarSeries { name: op.to_string(), colour: Colour::nth(op as usize), published: false, bars }
    });
    let name = |(state, fence): &(BlockState, Option<Fence>)| match fence {
        Some(Fence::Call) => format!("{state}, fence each call"),
        _ => state.to_string(),
    };
    let plot = Plot::Bars { categories: cases.iter().map(name).collect(), series: series.collect() };
    let title = format!("Rates of {} by the block's state beforehand", words::bytes(MIDDLE));
    let chart = Chart::new("memory-states", title, Axis::linear("GB/s"), Axis::linear("before"), plot);
    Some(chart.caption(
        "By the quickest instruction. Warm: as the previous call left it; fresh: in memory; dirty: modified in the \
         caches; flushed: in no cache; shared: read by another CPU; remote: modified in another CPU's caches.",
    ))
}

fn loaded(memory: &Memory) -> Option<Chart> {
    let mut series: Vec<Series> = Vec::new();
    for row in memory.loaded.iter().take(64 * MOST) {
        let (Some(rate), Some(ns)) = (figure(&row.injected_bytes_per_s, 1e-9), figure(&row.latency_ns, 1.0))
        else {
            continue;
        };
        let others = words::count(row.threads as usize, "other");
        let name = words::short(&format!("{} {}, {others}", row.op, row.instruction), 60);
        let hover = format!("{name}, {} GB/s: {} ns", rate.text(), ns.text());
        // Not joined: a pause stands between the points, not a size.
        add(&mut series, &name, Colour::nth(row.op as usize), Stroke::Points, point(rate.value, &ns, hover));
    }
    let (x, y) = (Axis::log("GB/s of the others"), Axis::log("time of a load, ns"));
    let chart = Chart::new("memory-loaded", "Latency while other CPUs stream", x, y, lines(series)?);
    Some(chart.caption(
        "One point for each pause between the others' chunks of 1 KiB; towards the right they move more.",
    ))
}

fn costs(memory: &Memory) -> Option<Chart> {
    let mut series = Vec::new();
    for row in memory.coherence_cost.iter().take(64 * MOST).filter(|row| row.lines > 0) {
        let Some(ns) = figure(&row.ns, 1.0) else { continue };
        // Between the two ends lie halves, which the table has.
        let (what, stroke) = match row.dirty {
            dirty if dirty == row.lines => ("modified", Stroke::Solid),
            0 => ("clean", Stroke::Dashed),
            _ => continue,
        };
        let colour = match row.operation.as_str() {
            "CLFLUSH" | "DC CIVAC" => 0,
            "CLFLUSHOPT" | "DC CVAC" => 1,
            "CLWB" => 2,
            _ => 5,
        };
        let name = words::short(&format!("{}, {what}", row.operation), 60);
        let hover = format!("{name}, {} lines: {} ns", row.lines, ns.text());
        add(&mut series, &name, Colour::nth(colour), stroke, point(row.lines as f64, &ns, hover));
    }
    let (x, y) = (Axis::log("lines"), Axis::log("time for all of them, ns"));
    let chart = Chart::new("memory-costs", "Lines written back by hand", x, y, lines(series)?);
    Some(chart.caption("Includes the fence that follows. Solid: all lines modified; dashed: none."))
}
