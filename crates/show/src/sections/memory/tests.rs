use std::collections::BTreeSet;

use coho_profile::{Estimate, MemoryType, Profile};

use super::*;
use crate::chart::Plot;
use crate::part::Depth;
use crate::testing;

fn of(memory: Memory) -> Section {
    section(&Subject::new("mine", Profile { memory: Some(memory), ..Profile::default() })).unwrap()
}

fn shown(memory: Memory, depth: Depth) -> String {
    let text = testing::text(&of(memory), depth);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text
}

fn rate(op: Operation, instruction: &str, bytes: u64, gb: f64) -> MemoryRate {
    let estimate = Estimate { low: 0.99e9 * gb, high: 1.01e9 * gb, n: 12, ..Estimate::exact(1e9 * gb) };
    MemoryRate {
        op,
        instruction: instruction.into(),
        bytes,
        threads: 1,
        state: Some(BlockState::Warm),
        fence: (op != Operation::Read).then_some(Fence::Run),
        bytes_per_s: Some(estimate),
        traffic_bytes_per_s: Some(3e9 * gb),
        ..MemoryRate::default()
    }
}

#[test]
fn every_rate_of_the_paper_has_a_key_of_its_own() {
    let paper = Subject::load("published:hamada-dimmnet").unwrap().remove(0);
    let all = testing::figures(&section(&paper).unwrap());
    let ids: BTreeSet<_> = all.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), all.len());
    let rates = paper.profile.memory.as_ref().unwrap().rates.len();
    assert_eq!(all.iter().filter(|(id, _)| id.ends_with("GB/s") && !id.contains(".kind.")).count(), rates);
    let value = |id: &str| all.iter().find(|one| one.0 == id).map(|one| words::number(one.1));
    assert_eq!(value("memory.write.simd.65536.wc.GB/s").as_deref(), Some("1.05"));
    assert_eq!(value("memory.copy.plain-prefetchnta.512.GB/s").as_deref(), Some("0.17"));
}

#[test]
fn rates_meet_the_papers_by_kind() {
    let mut subject = Subject::load("published:hamada-dimmnet").unwrap().remove(0);
    let kinds = |subject: &Subject| -> Vec<(String, f64)> {
        let figures = testing::figures(&section(subject).unwrap());
        figures.into_iter().filter(|(id, _)| id.contains("kind")).collect()
    };
    let papers: BTreeSet<_> = kinds(&subject).into_iter().map(|(id, _)| id).collect();
    let other = |instruction: &str, gb, fence, state| MemoryRate {
        fence: Some(fence),
        state: Some(state),
        ..rate(Operation::Write, instruction, 512, gb)
    };
    subject.profile.memory.as_mut().unwrap().rates = vec![
        other("plain-4", 4.0, Fence::Run, BlockState::Warm),
        other("plain-8", 8.0, Fence::Run, BlockState::Warm),
        other("plain-8", 80.0, Fence::Run, BlockState::Fresh),
        other("avx2-nt", 16.0, Fence::None, BlockState::Warm),
        other("avx2-nt", 160.0, Fence::Call, BlockState::Warm),
        other("rep-stosb", 32.0, Fence::Run, BlockState::Warm),
    ];
    let mine = kinds(&subject);
    assert!(mine.iter().all(|(id, _)| papers.contains(id)), "{mine:?}");
    let plain = ("memory.kind.write.plain.wb.512.GB/s".to_owned(), 4.0);
    let past = ("memory.kind.write.simd-nt.wb.512.GB/s".to_owned(), 16.0);
    assert_eq!(mine, [plain, past], "words of 4 bytes, as the paper's");
}

#[test]
fn a_sweep_of_many_sizes_has_a_short_summary_and_all_rows_in_full() {
    let sizes: Vec<u64> = (0..13).map(|power| 1 << (9 + power)).collect();
    let by = ["avx512", "avx512-nt", "plain-8"];
    let rates = Operation::ALL.into_iter().flat_map(|op| {
        sizes.iter().flat_map(move |&bytes| by.map(|instruction| rate(op, instruction, bytes, 123.4)))
    });
    let memory = Memory { rates: rates.collect(), ..Memory::default() };
    let summary = shown(memory.clone(), Depth::Summary);
    assert!(summary.lines().count() < 30, "{summary}");
    assert!(summary.contains("non-temporal") && !summary.contains("copy WB, one thread"), "{summary}");
    let full = shown(memory, Depth::Detail);
    assert!(full.contains("copy WB, one thread") && full.contains("370"), "{full}");
}

#[test]
fn the_headline_has_the_best_of_the_largest_block() {
    let rates = [("avx2-nt", 512, 99.0), ("plain-8", 1 << 20, 7.0), ("avx2-nt", 1 << 20, 22.6)];
    let rates = rates.map(|(instruction, bytes, gb)| rate(Operation::Write, instruction, bytes, gb)).to_vec();
    let headline = of(Memory { rates, ..Memory::default() }).headline;
    assert_eq!(headline, "write 22.6 (22.4–22.8) GB/s (the best of 2: avx2-nt), blocks of 1 MiB");
    assert_eq!(of(Memory::default()).headline, "");
}

#[test]
fn rates_of_several_threads_are_not_those_of_one() {
    let two =
        MemoryRate { threads: 2, mapping: "sequential".into(), ..rate(Operation::Copy, "avx2", 4096, 22.0) };
    let rates = vec![rate(Operation::Copy, "avx2", 4096, 11.0), two];
    let text = shown(Memory { rates, ..Memory::default() }, Depth::Detail);
    assert!(text.contains("copy, 2 threads") && text.contains("copy WB, 2 threads, sequential"), "{text}");
    let row = text.lines().find(|line| line.trim_start().starts_with("copy ")).unwrap();
    assert!(row.contains("11.0") && !row.contains("22.0"), "{text}");
}

#[test]
fn types_that_nobody_asked_for_take_a_line() {
    let one = |name, provider: &str| MemoryType {
        name,
        provider: provider.into(),
        why: "no /dev/dri\x1b[31m here".into(),
        ..MemoryType::default()
    };
    let mut memory = Memory {
        types: vec![one(CacheType::WriteCombining, "vgem"), one(CacheType::Uncached, "PCI")],
        ..Memory::default()
    };
    memory.method.not_available.insert("rates of UC".into(), "because".into());
    assert_eq!(shown(memory.clone(), Depth::Summary), "1 part more: --full\n", "no rate has a type");
    memory.rates = vec![rate(Operation::Read, "plain-8", 512, 1.0)];
    let text = shown(memory.clone(), Depth::Summary);
    assert!(text.starts_with("types      WB; `--type WC,UC` says why"), "{text}");
    assert!(!text.contains("vgem") && !text.contains("because"), "{text}");
    let missing = asked(&memory, &[CacheType::Uncached]);
    assert_eq!(missing, [Missing::new("UC by PCI", "no /dev/dri\x1b[31m here")]);
    // What its self-test did not prove is not measured unasked.
    memory.types[0].available = true;
    assert!(shown(memory.clone(), Depth::Summary).starts_with("types      WB; "));
    let proof = asked(&memory, &[CacheType::WriteCombining]);
    assert_eq!(proof, [Missing::new("proof of WC by vgem", "no /dev/dri\x1b[31m here")]);
    memory.rates[0].cache_type = CacheType::WriteCombining;
    let text = shown(memory.clone(), Depth::Summary);
    assert!(text.starts_with("types      WC (vgem, type not proven); "), "{text}");
    memory.rates[0].cache_type = CacheType::WriteBack;
    memory.types[0].proven = true;
    assert!(shown(memory.clone(), Depth::Summary).starts_with("types      WB, WC (vgem); "));
    assert!(shown(memory, Depth::Detail).contains("\\u{1b}[31m"), "what steers a terminal is shown");
}

#[test]
fn the_best_is_drawn_by_size_and_one_size_is_no_line() {
    let charts = |sizes: &[u64]| -> usize {
        let rates = sizes.iter().map(|&bytes| rate(Operation::Read, "avx2", bytes, 1.0)).collect();
        let section = of(Memory { rates, ..Memory::default() });
        testing::charts(&section).iter().filter(|chart| matches!(chart.plot, Plot::Lines(_))).count()
    };
    assert_eq!((charts(&[512, 4096]), charts(&[512])), (2, 0));
}

#[test]
fn the_headline_is_of_the_memory_that_the_first_table_shows() {
    let paper = Subject::only("published:hamada-dimmnet").unwrap();
    let section = section(&paper).unwrap();
    assert!(section.headline.starts_with("write 1.04 GB/s (the best of 3: simd-nt)"), "{}", section.headline);
    let text = testing::text(&section, Depth::Summary);
    let types = text.lines().find(|line| line.starts_with("types")).unwrap();
    assert!(types.ends_with("WB, WC, UC"), "{types}");
}
