//! The figures of memory that can be set beside another profile's.

use coho_profile::{CacheType, Memory, MemoryRate};

use super::figures::{Figure, Key, size_order};
use super::subject::Subject;
use super::text;

/// The table in the order of comparisons: behind barriers and programs.
const MEMORY: u8 = 7;

/// Kinds of rows in order; sizes within them.
const RATES: usize = 0;
const LATENCY: usize = 1000;
const COSTS: usize = 2000;

/// Figures of the section.
pub fn of(subject: &Subject) -> Vec<Figure> {
    let Some(memory) = &subject.profile.memory else { return Vec::new() };
    let mut figures = rates(subject, memory);
    for row in &memory.latency {
        let size = text::bytes(row.bytes);
        let key = Key::new(
            MEMORY,
            LATENCY + size_order(row.bytes),
            format!("memory.latency.{}", row.bytes),
            format!("latency, {size}"),
            "ns",
        );
        figures.extend(row.ns.as_ref().map(|ns| Figure::of(subject, key, ns, 1.0)));
    }
    for row in &memory.coherence_cost {
        let operation = row.operation.to_ascii_lowercase().replace(' ', "-");
        let id = format!("memory.{operation}.{}.{}-dirty", row.lines, row.dirty);
        let label = format!("{} of {} lines, {} modified", row.operation, row.lines, row.dirty);
        let key = Key::new(MEMORY, COSTS + size_order(row.lines), id, label, "ns");
        figures.extend(row.ns.as_ref().map(|ns| Figure::of(subject, key, ns, 1.0)));
    }
    figures
}

fn rates(subject: &Subject, memory: &Memory) -> Vec<Figure> {
    memory
        .rates
        .iter()
        .filter_map(|rate| Some(Figure::of(subject, key(rate), rate.bytes_per_s.as_ref()?, 1e-9)))
        .collect()
}

/// What a rate is: the same key is the same operation on the same memory under the same conditions.
fn key(rate: &MemoryRate) -> Key {
    let mut words = vec![rate.op.to_string(), rate.instruction.clone(), rate.bytes.to_string()];
    let mut label = format!("{} {}, {}", rate.op, rate.instruction, text::bytes(rate.bytes));
    let kind = (rate.cache_type != CacheType::WriteBack).then(|| rate.cache_type.to_string());
    let to = rate.destination_type.map(|to| format!("to {to}"));
    let threads = (rate.threads > 1).then(|| format!("{} threads", rate.threads));
    let mapping = Some(rate.mapping.clone()).filter(|mapping| rate.threads > 1 && !mapping.is_empty());
    let state = rate.state.map(|state| state.to_string());
    let fence = rate.fence.map(|fence| format!("fence {fence}"));
    for word in [kind, to, threads, mapping, state, fence].into_iter().flatten() {
        label += &format!(", {word}");
        words.push(word.to_ascii_lowercase().replace(' ', "-"));
    }
    Key::new(MEMORY, RATES + size_order(rate.bytes), format!("memory.{}", words.join(".")), label, "GB/s")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rate_of_the_paper_has_a_key_of_its_own() {
        let paper = Subject::load("published:hamada-dimmnet").unwrap().remove(0);
        let all = of(&paper);
        let keys: BTreeSet<_> = all.iter().map(|figure| &figure.key.id).collect();
        assert_eq!(keys.len(), all.len());
        let value =
            |id: &str| all.iter().find(|figure| figure.key.id == id).map(|figure| text::number(figure.value));
        assert_eq!(value("memory.write.simd.65536.wc.GB/s").as_deref(), Some("1.05"));
        assert_eq!(value("memory.copy.plain-prefetchnta.512.GB/s").as_deref(), Some("0.17"));
    }
}
