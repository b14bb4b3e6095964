//! The page's section on memory: the paper's Tables 2 to 8 beside this machine's, rates by size and by state, latency,
//! and the cost of coherence by hand.

use coho_profile::published::hamada_dimmnet;
use coho_profile::{BlockState, CacheType, Estimate, Fence, Memory, MemoryRate, Operation};
use maud::{Markup, html};

use super::charts::Chart;
use super::charts::memory::{Group, grouped};
use super::charts::sync::{Series, Sizes, Style, by_size};
use super::subject::Subject;
use super::{calls, memory_rates, memory_tables, scale, tables, text};

/// Series of one chart, at most: a profile may bring any number.
const MOST: usize = 16;
/// The block by which states are compared: the paper's middle size.
const MIDDLE: u64 = 64 << 10;

/// Charts and tables of a profile's memory. `figure` gives a chart its place.
pub fn section(subject: &Subject, id: &str, mut figure: impl FnMut(Chart, &Markup) -> Markup) -> Markup {
    let Some(memory) = &subject.profile.memory else {
        return html! { p.missing { "Not measured: the profile has no section memory." } };
    };
    let paper = if subject.published { Memory::default() } else { published() };
    let sizes = Sizes { title: "bytes of a block (logarithmic)", all: false, tick: size };
    let by_op: Vec<Markup> = Operation::ALL
        .into_iter()
        .filter_map(|op| {
            let mine = lines(memory, op, Style::Solid, "");
            if mine.is_empty() {
                return None;
            }
            let theirs = lines(&paper, op, Style::Dotted, ", 2000");
            let series: Vec<Series> = mine.into_iter().chain(theirs).collect();
            let caption = html! {
                strong { (headline(op)) " by size of the block. " }
                "One thread, the same block again and again; a copied byte counts once. "
                @if op != Operation::Read { "Stores are waited for once a run. " }
                @if !subject.published { "Dotted: published, " (MACHINE) " (Hamada et al.); dashed: memory that is not write-back." }
            };
            let title = format!("{} by size", headline(op));
            Some(figure(by_size(format!("{id}-{op}"), &title, &sizes, "GB/s (logarithmic)", &series), &caption))
        })
        .collect();
    let groups = states(memory);
    let by_state = (!groups.is_empty()).then(|| {
        let caption = html! {
            strong { "Where the block is before, and where the fence stands: " (text::bytes(MIDDLE)) " blocks. " }
            "Warm: where the call before left it; fresh: in memory; dirty: modified in the caches; flushed: in no cache. "
            "A copy's source and destination are in the same state."
        };
        let title = "Rates by state of the block";
        figure(grouped(format!("{id}-states"), title, "GB/s (logarithmic)", &groups), &caption)
    });
    let latency = latency(memory);
    let latency = (!latency.is_empty()).then(|| {
        let caption = html! {
            strong { "Latency of loads that wait for each other, by size. " }
            "Lines in random order among 512; what a single stream without prefetching pays."
        };
        let sizes = Sizes { title: "bytes of lines (logarithmic)", all: false, tick: size };
        figure(
            by_size(format!("{id}-latency"), "Latency by size", &sizes, "ns (logarithmic)", &latency),
            &caption,
        )
    });
    let loaded = loaded(memory);
    let loaded = (!loaded.is_empty()).then(|| {
        let caption = html! {
            strong { "Latency while other CPUs stream. " }
            "A point for each pause between their chunks of 1 KiB; to the right they move more."
        };
        let rates = Sizes { title: "GB/s of the others (logarithmic)", all: false, tick: plain };
        figure(
            by_size(format!("{id}-loaded"), "Loaded latency", &rates, "ns (logarithmic)", &loaded),
            &caption,
        )
    });
    let costs = costs(memory, &paper);
    let costs = (!costs.is_empty()).then(|| {
        let caption = html! {
            strong { "Lines written back by hand " } "(Hamada et al., Fig. 7): time for all lines with the fence behind them. "
            "Solid: all modified; dashed: none. "
            @if !subject.published { "Dotted: published, WBINVD of the " (MACHINE) ", which grows with its write-backs." }
        };
        let lines = Sizes { title: "lines (logarithmic)", all: false, tick: plain };
        figure(by_size(format!("{id}-costs"), "Cost of coherence by hand", &lines, "ns (logarithmic)", &costs), &caption)
    });
    html! {
        (memory_tables::types(memory))
        @for chart in &by_op { (chart) }
        @if let Some(chart) = &by_state { (chart) }
        (memory_rates::by_threads(memory))
        (memory_rates::traffic(memory))
        (memory_tables::papers(memory, &paper))
        (memory_tables::leavings(memory, &paper))
        @if let Some(chart) = &latency { (chart) }
        @if let Some(chart) = &loaded { (chart) }
        @if let Some(chart) = &costs { (chart) }
        (memory_tables::transfers(memory))
        (calls::missing(&memory.method.not_available))
        details { summary { "How memory was measured" } (tables::method(&memory.method)) }
        @for one in &memory.earlier {
            details {
                summary { "How an earlier run measured " (text::short(&one.parts.join(", "), 80)) }
                (tables::method(&one.method))
            }
        }
    }
}

/// The paper's machine, in short.
pub const MACHINE: &str = "Pentium III";

/// The paper's section.
fn published() -> Memory {
    hamada_dimmnet::figures().publication().machines.remove(0).1.memory.unwrap_or_default()
}

fn headline(op: Operation) -> &'static str {
    match op {
        Operation::Write => "Register to memory",
        Operation::Read => "Memory to register",
        Operation::Copy => "Memory to memory",
    }
}

fn size(bytes: f64) -> String {
    text::bytes(bytes as u64)
}

fn plain(value: f64) -> String {
    text::number(value)
}

fn positive(estimate: &Option<Estimate>, scale: f64) -> Option<f64> {
    estimate.as_ref().map(|estimate| estimate.median * scale).filter(|value| scale::is_time(*value))
}

/// A line for each instruction and type, one thread, the block warm.
fn lines(memory: &Memory, op: Operation, style: Style, behind: &str) -> Vec<Series> {
    let shown = |rate: &&MemoryRate| {
        rate.op == op
            && rate.threads <= 1
            && rate.state.is_none_or(|state| state == BlockState::Warm)
            && rate.fence.is_none_or(|fence| fence == Fence::Run)
            && rate.bytes > 0
    };
    let mut series: Vec<Series> = Vec::new();
    for rate in memory.rates.iter().filter(shown) {
        let Some(gb) = positive(&rate.bytes_per_s, 1e-9) else { continue };
        let kind = match (rate.cache_type, rate.destination_type) {
            (CacheType::WriteBack, None) => String::new(),
            (from, None) => format!(", {from}"),
            (from, Some(to)) => format!(", {from} to {to}"),
        };
        let name = text::short(&format!("{}{kind}{behind}", rate.instruction), 60);
        let at = series.iter().position(|one| one.name == name).unwrap_or_else(|| {
            let style = if style == Style::Solid && !kind.is_empty() { Style::Dashed } else { style };
            series.push(Series {
                name: name.clone(),
                colour: series.len(),
                style,
                points: vec![],
                hover: vec![],
            });
            series.len() - 1
        });
        let one = &mut series[at];
        one.points.push((rate.bytes as f64, gb));
        one.hover.push(format!("{name}, {}: {} GB/s", text::bytes(rate.bytes), text::number(gb)));
    }
    for one in &mut series {
        let mut order: Vec<usize> = (0..one.points.len()).collect();
        order.sort_by(|&a, &b| one.points[a].0.total_cmp(&one.points[b].0));
        (one.points, one.hover) = order.iter().map(|&at| (one.points[at], one.hover[at].clone())).unzip();
    }
    // The quickest first, as a profile may bring more than can be told apart.
    let most = |one: &Series| one.points.iter().fold(0.0f64, |most, point| most.max(point.1));
    series.sort_by(|a, b| most(b).total_cmp(&most(a)));
    series.truncate(MOST);
    series
}

/// Bars of each state and fence, by operation and instruction.
fn states(memory: &Memory) -> Vec<Group> {
    let shown = |rate: &&MemoryRate| {
        rate.bytes == MIDDLE
            && rate.threads == 1
            && rate.cache_type == CacheType::WriteBack
            && rate.destination_type.is_none()
    };
    let mut groups: Vec<Group> = Vec::new();
    for rate in memory.rates.iter().filter(shown) {
        let (Some(gb), Some(state)) = (positive(&rate.bytes_per_s, 1e-9), rate.state) else { continue };
        let name = match rate.fence {
            Some(Fence::Call) => format!("{state}, fence each call"),
            Some(Fence::None) => format!("{state}, no fence"),
            _ => state.to_string(),
        };
        let bar = text::short(&format!("{} {}", rate.op, rate.instruction), 60);
        // Without its fences an instruction is the same as with one for all.
        if rate.op == Operation::Read || rate.fence == Some(Fence::Run) || rate.fence == Some(Fence::Call) {
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.bars.push((bar, gb)),
                None => groups.push(Group { name, bars: vec![(bar, gb)] }),
            }
        }
    }
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    for group in &mut groups {
        group.bars.truncate(3 * MOST);
    }
    groups.truncate(8);
    groups
}

fn latency(memory: &Memory) -> Vec<Series> {
    let points: Vec<_> =
        memory.latency.iter().filter_map(|row| Some((row.bytes as f64, positive(&row.ns, 1.0)?))).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let hover =
        points.iter().map(|(bytes, ns)| format!("{}: {} ns", size(*bytes), text::number(*ns))).collect();
    vec![Series { name: "dependent loads".into(), colour: 0, style: Style::Solid, points, hover }]
}

fn loaded(memory: &Memory) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in memory.loaded.iter().take(64 * MOST) {
        let (Some(gb), Some(ns)) =
            (positive(&row.injected_bytes_per_s, 1e-9), positive(&row.latency_ns, 1.0))
        else {
            continue;
        };
        let name = text::short(
            &format!("{} {}, {}", row.op, row.instruction, text::count(row.threads as usize, "other")),
            60,
        );
        let at = series.iter().position(|one| one.name == name).unwrap_or_else(|| {
            let style = Style::Points;
            series.push(Series { name, colour: series.len(), style, points: vec![], hover: vec![] });
            series.len() - 1
        });
        series[at].points.push((gb, ns));
        series[at].hover.push(format!("{} GB/s: {} ns", text::number(gb), text::number(ns)));
    }
    series.truncate(MOST);
    series
}

fn costs(memory: &Memory, paper: &Memory) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let rows = memory.coherence_cost.iter().map(|row| (row, false));
    for (row, published) in rows.chain(paper.coherence_cost.iter().map(|row| (row, true))).take(64 * MOST) {
        let all = row.dirty == row.lines;
        let Some(ns) = positive(&row.ns, 1.0).filter(|_| row.lines > 0) else { continue };
        // Between the two ends lie halves, which the table of the command has.
        let (what, style) = match (published, all, row.dirty) {
            (true, ..) => ("published", Style::Dotted),
            (false, true, _) => ("modified", Style::Solid),
            (false, false, 0) => ("clean", Style::Dashed),
            _ => continue,
        };
        let colour = match row.operation.as_str() {
            "CLFLUSH" | "DC CIVAC" => 0,
            "CLFLUSHOPT" | "DC CVAC" => 1,
            "CLWB" => 2,
            _ => 5,
        };
        let name = text::short(&format!("{}, {what}", row.operation), 60);
        let at = series.iter().position(|one| one.name == name).unwrap_or_else(|| {
            series.push(Series { name, colour, style, points: vec![], hover: vec![] });
            series.len() - 1
        });
        // The paper's axis is write-backs; its first point has none.
        let lines = if published { row.dirty.max(1) } else { row.lines };
        series[at].points.push((lines as f64, ns));
        series[at].hover.push(format!("{}, {lines} lines: {} ns", row.operation, text::number(ns)));
    }
    series.truncate(MOST);
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_has_a_line_for_each_instruction_and_type() {
        let paper = published();
        let names =
            |op| lines(&paper, op, Style::Dotted, "").into_iter().map(|one| one.name).collect::<Vec<_>>();
        let stores = names(Operation::Write);
        for name in ["plain", "simd", "simd-nt", "simd, WC", "plain, UC"] {
            assert!(stores.iter().any(|one| one == name), "{name} of {stores:?}");
        }
        let copies = lines(&paper, Operation::Copy, Style::Dotted, "");
        let simd = copies.iter().find(|one| one.name == "simd-prefetchnta").unwrap();
        assert_eq!(simd.points, [(512.0, 0.270), (65536.0, 0.529), (1048576.0, 0.155)]);
    }

    #[test]
    fn states_stand_side_by_side() {
        let rate = |state, fence, gb: f64| MemoryRate {
            op: Operation::Write,
            instruction: "sse2-nt".into(),
            bytes: MIDDLE,
            threads: 1,
            state: Some(state),
            fence: Some(fence),
            bytes_per_s: Some(Estimate::exact(gb * 1e9)),
            ..MemoryRate::default()
        };
        let rates =
            vec![rate(BlockState::Warm, Fence::Run, 20.0), rate(BlockState::Flushed, Fence::Call, 3.0)];
        let groups = states(&Memory { rates, ..Memory::default() });
        let told: Vec<_> = groups.iter().map(|group| (group.name.as_str(), group.bars[0].1)).collect();
        assert_eq!(told, [("flushed, fence each call", 3.0), ("warm", 20.0)]);
    }
}
