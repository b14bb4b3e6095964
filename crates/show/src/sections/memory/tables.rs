//! What is not a rate: latency, lines written back explicitly, what PREFETCHNTA leaves, engines, messages.

use coho_profile::{CoherenceCost, DmaRate, LinesLeft, Memory, MemoryLatency, Transfer};

use crate::sections::prelude::*;

/// More rows than this are folded.
const ROWS: usize = 15;

/// Latency without other load.
pub(super) fn alone<'a>(subject: &Subject, memory: &'a Memory) -> TableOf<&'a MemoryLatency> {
    Table::of("memory-latency", "Latency of dependent loads", &memory.latency)
        .figures("lines of", "", |row| Figure::bytes(row.bytes))
        .column(Column::figures("pages", "").detail(), |row| row.page_bytes.map(Figure::bytes))
        .compared("latency", "ns", "ns", |row| subject.figure_of(&row.ns))
        .keyed(|row| {
            (format!("memory.latency.{}", row.bytes), format!("latency, {}", words::bytes(row.bytes)))
        })
        .detail_after(ROWS)
}

/// What it costs to write lines back. The summary has one number of lines, all or none of them modified.
pub(super) fn costs<'a>(subject: &Subject, memory: &'a Memory) -> TableOf<&'a CoherenceCost> {
    let most = memory.coherence_cost.iter().map(|cost| cost.lines).filter(|lines| *lines <= 1024).max();
    Table::of("memory-costs", "Lines written back explicitly", &memory.coherence_cost)
        .text("operation", |cost| words::short(&cost.operation, 20))
        .figures("lines", "", |cost| cost.lines)
        .figures("modified", "", |cost| cost.dirty)
        .compared("all together", "ns", "ns", |cost| subject.figure_of(&cost.ns))
        .figures("a line", "ns", |cost| Some(cost.ns.as_ref()?.median / cost.lines.max(1) as f64))
        .keyed(|CoherenceCost { operation, lines, dirty, .. }| {
            let id = operation.to_ascii_lowercase().replace(' ', "-");
            let label = format!("{operation} of {}, {dirty} modified", words::count(*lines, "line"));
            (format!("memory.{id}.{lines}.{dirty}-dirty"), label)
        })
        .detail_if(|cost| Some(cost.lines) != most || (cost.dirty != 0 && cost.dirty != cost.lines))
}

/// What a read leaves in the caches, as Hamada et al.'s Table 7.
pub(super) fn leavings<'a>(subject: &Subject, memory: &'a Memory) -> TableOf<&'a LinesLeft> {
    let title = "Lines that are gone when a block is read again";
    Table::of("memory-leavings", title, &memory.prefetchnta)
        .text("first read", |row| words::short(&row.first, 40))
        .figures("block", "", |row| Figure::bytes(row.bytes))
        .figures("lines", "", |row| row.lines)
        .figures("gone", "", |row| Some(subject.figure_of(&row.gone)?.format(Format::Tenths)))
        .text("by", |row| words::short(&row.method, 40))
        .figures("a load", "ns", |row| subject.figure_of(&row.ns))
        .note(
            "By timing: the second read's dependent loads, on a scale from those of a block that is certainly in the \
             caches to those of one that was flushed.",
        )
}

pub(super) fn dma<'a>(subject: &Subject, memory: &'a Memory) -> TableOf<&'a DmaRate> {
    Table::of("memory-dma", "Transfers by engines other than the CPU", &memory.dma)
        .text("engine", |row| words::short(&row.engine, 40))
        .text("direction", |row| words::short(&row.direction, 40))
        .text("source", |row| words::short(&row.source, 40))
        .figures("block", "", |row| Figure::bytes(row.bytes))
        .figures("", "GB/s", |row| subject.scaled(&row.bytes_per_s, 1e-9))
}

pub(super) fn transfers<'a>(subject: &Subject, memory: &'a Memory) -> TableOf<&'a Transfer> {
    let title = "Messages between two processes; one of 0 B is its flag alone";
    Table::of("memory-transfers", title, &memory.transfers)
        .text("path", |row| words::short(&row.path, 40))
        .text("CPUs", |row| format!("{} to {}", row.from, row.to))
        .figures("message", "", |row| Figure::bytes(row.bytes))
        .figures("one way", "ns", |row| subject.figure_of(&row.ns))
}
