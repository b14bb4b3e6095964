//! What is not a rate: latency, lines written back by hand, what PREFETCHNTA leaves, engines, messages.

use coho_profile::{Estimate, Memory};

use crate::Subject;
use crate::figure::{Figure, Format};
use crate::part::{Cell, Column, Depth, Row, Table};
use crate::words;

/// More rows than this are folded.
const ROWS: usize = 15;

fn figure(subject: &Subject, estimate: &Option<Estimate>, scale: f64) -> Cell {
    Cell::maybe(estimate.as_ref().map(|estimate| subject.figure(estimate).scaled(scale)))
}

fn table(id: &str, title: &str, columns: Vec<Column>, rows: impl Iterator<Item = Row>) -> Option<Table> {
    let rows: Vec<Row> = rows.collect();
    (!rows.is_empty()).then(|| Table::new(id, title).columns(columns).rows(rows))
}

/// Alone, and while other CPUs stream.
pub(super) fn latency(subject: &Subject, memory: &Memory) -> impl Iterator<Item = Table> {
    let depth = |at: usize| if at < ROWS { Depth::Summary } else { Depth::Detail };
    let alone = memory.latency.iter().enumerate().map(|(at, row)| {
        let pages = row.page_bytes.map(Figure::bytes);
        let cells = [Figure::bytes(row.bytes).into(), Cell::maybe(pages), figure(subject, &row.ns, 1.0)];
        let label = format!("latency, {}", words::bytes(row.bytes));
        Row { depth: depth(at), ..Row::new(cells).keyed(format!("memory.latency.{}", row.bytes), label) }
    });
    let columns = vec![
        Column::figures("lines of", ""),
        Column::figures("pages", "").detail(),
        Column::figures("latency", "ns").compared("ns"),
    ];
    let alone = table("memory-latency", "Latency of dependent loads", columns, alone);
    let loaded = memory.loaded.iter().enumerate().map(|(at, row)| {
        let others = format!(
            "{} by {}",
            words::count(row.threads as usize, "CPU"),
            words::short(&row.instruction, 40)
        );
        let cells = [
            row.op.name().into(),
            others.into(),
            Figure::exact(row.pause_ns).into(),
            figure(subject, &row.injected_bytes_per_s, 1e-9),
            figure(subject, &row.latency_ns, 1.0),
        ];
        Row { depth: depth(at), ..Row::new(cells) }
    });
    let columns = vec![
        Column::text("others"),
        Column::text("how many"),
        Column::figures("pause", "ns/KiB"),
        Column::figures("they move", "GB/s"),
        Column::figures("latency", "ns"),
    ];
    let loaded = table("memory-loaded", "Latency while other CPUs stream", columns, loaded);
    [alone, loaded].into_iter().flatten()
}

/// What it costs to write lines back: to most readers that of a block, modified or not, is enough.
pub(super) fn costs(subject: &Subject, memory: &Memory) -> Option<Table> {
    let most = memory.coherence_cost.iter().map(|cost| cost.lines).filter(|lines| *lines <= 1024).max();
    let row = |cost: &coho_profile::CoherenceCost| {
        let operation = cost.operation.to_ascii_lowercase().replace(' ', "-");
        let id = format!("memory.{operation}.{}.{}-dirty", cost.lines, cost.dirty);
        let label = format!("{} of {} lines, {} modified", cost.operation, cost.lines, cost.dirty);
        let line = cost.ns.as_ref().map(|ns| ns.median / cost.lines.max(1) as f64);
        let row = Row::new([
            words::short(&cost.operation, 20).into(),
            Figure::count(cost.lines).into(),
            Figure::count(cost.dirty).into(),
            figure(subject, &cost.ns, 1.0),
            Cell::maybe(line),
        ]);
        let is_summary = Some(cost.lines) == most && (cost.dirty == 0 || cost.dirty == cost.lines);
        let row = row.keyed(id, label);
        if is_summary { row } else { row.detail() }
    };
    let columns = vec![
        Column::text("operation"),
        Column::figures("lines", ""),
        Column::figures("modified", ""),
        Column::figures("all together", "ns").compared("ns"),
        Column::figures("a line", "ns"),
    ];
    table("memory-costs", "Lines written back by hand", columns, memory.coherence_cost.iter().map(row))
}

/// What a read leaves in the caches, as Hamada et al.'s Table 7.
pub(super) fn leavings(subject: &Subject, memory: &Memory) -> Option<Table> {
    let row = |row: &coho_profile::LinesLeft| {
        let gone = row.gone.as_ref().map(|gone| subject.figure(gone).format(Format::Tenths));
        Row::new([
            words::short(&row.first, 40).into(),
            Figure::bytes(row.bytes).into(),
            Figure::count(row.lines).into(),
            Cell::maybe(gone),
            words::short(&row.method, 40).into(),
            figure(subject, &row.ns, 1.0),
        ])
    };
    let columns = vec![
        Column::text("first read"),
        Column::figures("block", ""),
        Column::figures("lines", ""),
        Column::figures("gone", ""),
        Column::text("by"),
        Column::figures("a load", "ns"),
    ];
    let title = "Lines that are gone when a block is read again";
    let table = table("memory-leavings", title, columns, memory.prefetchnta.iter().map(row))?;
    Some(table.note(
        "By timing: the second read's dependent loads, on a scale from those of a block that is certainly in the \
         caches to those of one that was flushed.",
    ))
}

/// Transfers by engines.
pub(super) fn dma(subject: &Subject, memory: &Memory) -> Option<Table> {
    let row = |row: &coho_profile::DmaRate| {
        let [engine, direction, source] =
            [&row.engine, &row.direction, &row.source].map(|text| words::short(text, 40).into());
        let speed = figure(subject, &row.bytes_per_s, 1e-9);
        Row::new([engine, direction, source, Figure::bytes(row.bytes).into(), speed])
    };
    let columns = ["engine", "direction", "source"].map(Column::text).into_iter();
    let figures = [Column::figures("block", ""), Column::figures("", "GB/s")];
    let title = "Transfers by engines other than the CPU";
    table("memory-dma", title, columns.chain(figures).collect(), memory.dma.iter().map(row))
}

/// Messages between two processes.
pub(super) fn transfers(subject: &Subject, memory: &Memory) -> Option<Table> {
    let row = |row: &coho_profile::Transfer| {
        Row::new([
            words::short(&row.path, 40).into(),
            format!("{} to {}", row.from, row.to).into(),
            Figure::bytes(row.bytes).into(),
            figure(subject, &row.ns, 1.0),
        ])
    };
    let columns = vec![
        Column::text("path"),
        Column::text("CPUs"),
        Column::figures("message", ""),
        Column::figures("one way", "ns"),
    ];
    let title = "Messages between two processes; one of 0 B is its flag alone";
    table("memory-transfers", title, columns, memory.transfers.iter().map(row))
}
