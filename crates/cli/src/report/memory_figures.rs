//! The figures of memory that can be set beside another profile's.

use std::collections::BTreeMap;

use coho_profile::{BlockState, CacheType, Fence, Memory, MemoryRate};

use super::figures::{Figure, Key, size_order};
use super::memory_tables::{plain, through_prefetchnta};
use super::subject::Subject;
use super::text;

/// The table in the order of comparisons: behind barriers and programs.
const MEMORY: u8 = 7;

/// Kinds of rows in order; sizes within them.
const RATES: usize = 0;
const KINDS: usize = 500;
const LATENCY: usize = 1000;
const COSTS: usize = 2000;

/// Figures of the section.
pub fn of(subject: &Subject) -> Vec<Figure> {
    let Some(memory) = &subject.profile.memory else { return Vec::new() };
    let mut figures = rates(subject, memory);
    figures.extend(kinds(subject, memory));
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

/// The best rate of each kind of instruction by one thread, as the paper tells them: plain or SIMD, past the caches,
/// through PREFETCHNTA. Of what was measured, a block that is warm, without a fence in each call.
fn kinds(subject: &Subject, memory: &Memory) -> Vec<Figure> {
    let mut best: BTreeMap<Key, Figure> = BTreeMap::new();
    for rate in &memory.rates {
        let (Some(kind), Some(estimate)) = (kind(&rate.instruction), &rate.bytes_per_s) else { continue };
        let warm = matches!(rate.state, None | Some(BlockState::Warm));
        let other = rate.destination_type.is_some_and(|to| to != CacheType::WriteBack);
        if rate.threads > 1 || !warm || rate.fence == Some(Fence::Call) || other {
            continue;
        }
        let id = format!("memory.kind.{}.{kind}.{}.{}", rate.op, rate.cache_type, rate.bytes);
        let label = format!("{}, best {kind}, {}, {}", rate.op, rate.cache_type, text::bytes(rate.bytes));
        let key = Key::new(MEMORY, KINDS + size_order(rate.bytes), id.to_ascii_lowercase(), label, "GB/s");
        let figure = Figure::of(subject, key.clone(), estimate, 1e-9);
        best.entry(key)
            .and_modify(|known| {
                if figure.value > known.value {
                    *known = figure.clone();
                }
            })
            .or_insert(figure);
    }
    best.into_values().collect()
}

/// The paper's name for instructions such as these. Its plain ones move words of 4 bytes, which those of 8 do not stand
/// for; string instructions are none of its kinds.
fn kind(instruction: &str) -> Option<&'static str> {
    let of_8 = instruction.split('-').any(|part| part == "8");
    if instruction.starts_with("rep-") || plain(instruction) && of_8 {
        return None;
    }
    // MOVNTI is the plain store past the caches; MOVNTDQA reads as the others do, but for WC.
    let past = instruction.ends_with("-nt") || instruction.starts_with("movnti");
    Some(match (plain(instruction), past, through_prefetchnta(instruction)) {
        (_, true, true) => return None,
        (true, false, true) => "plain-prefetchnta",
        (false, false, true) => "simd-prefetchnta",
        (true, true, _) => "plain-nt",
        (false, true, _) => "simd-nt",
        (true, false, _) => "plain",
        (false, false, _) => "simd",
    })
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

    #[test]
    fn rates_meet_the_papers_by_kind() {
        let rate = |instruction: &str, gb_s: f64, fence, state| MemoryRate {
            op: coho_profile::Operation::Write,
            instruction: instruction.into(),
            bytes: 512,
            threads: 1,
            bytes_per_s: Some(coho_profile::Estimate::exact(gb_s * 1e9)),
            fence: Some(fence),
            state: Some(state),
            ..MemoryRate::default()
        };
        let mut subject = Subject::load("published:hamada-dimmnet").unwrap().remove(0);
        let papers: BTreeSet<_> = of(&subject).into_iter().map(|figure| figure.key.id).collect();
        subject.profile.memory.as_mut().unwrap().rates = vec![
            rate("plain-4", 4.0, Fence::Run, BlockState::Warm),
            rate("plain-8", 8.0, Fence::Run, BlockState::Warm),
            rate("plain-8", 80.0, Fence::Run, BlockState::Fresh),
            rate("avx2-nt", 16.0, Fence::None, BlockState::Warm),
            rate("avx2-nt", 160.0, Fence::Call, BlockState::Warm),
            rate("rep-stosb", 32.0, Fence::Run, BlockState::Warm),
        ];
        let mine: Vec<_> =
            of(&subject).into_iter().filter(|figure| papers.contains(&figure.key.id)).collect();
        let told: Vec<_> = mine.iter().map(|figure| (&*figure.key.id, figure.value)).collect();
        let ids = ["memory.kind.write.plain.wb.512.GB/s", "memory.kind.write.simd-nt.wb.512.GB/s"];
        assert_eq!(told.iter().filter(|(id, _)| id.contains("kind")).count(), 2, "{told:?}");
        assert_eq!(
            ids.map(|id| told.iter().find(|one| one.0 == id).unwrap().1),
            [4.0, 16.0],
            "words of 4 bytes, as the paper's"
        );
    }
}
