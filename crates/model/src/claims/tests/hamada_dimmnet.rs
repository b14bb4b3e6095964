//! Hamada et al.: rates by instruction and memory type.

use super::*;

/// The paper's rates in MB/s, some of them poorly known.
pub(super) fn rates(change: impl Fn(&mut MemoryRate)) -> Profile {
    use CacheType::{Uncached, WriteBack, WriteCombining};
    use Operation::{Copy, Read, Write};
    let row = |op, instruction: &str, cache_type, bytes, state, mb_s: f64| MemoryRate {
        op,
        instruction: instruction.into(),
        cache_type,
        bytes,
        threads: 1,
        state: Some(state),
        bytes_per_s: figure(mb_s * 1e6, 0.001),
        ..MemoryRate::default()
    };
    let mut rates = Vec::new();
    for bytes in [512, 64 << 10, 1 << 20] {
        for (op, instruction, cache_type, state, mb_s) in [
            (Write, "plain-4", WriteBack, BlockState::Warm, 340.0),
            (Write, "avx2", WriteBack, BlockState::Warm, 1400.0),
            (Write, "avx2-nt", WriteBack, BlockState::Warm, 1050.0),
            (Write, "avx2", WriteCombining, BlockState::Warm, 1050.0),
            (Write, "avx2", Uncached, BlockState::Warm, 170.0),
            (Read, "plain-4", WriteBack, BlockState::Fresh, 220.0),
            (Read, "avx2", WriteBack, BlockState::Fresh, 466.0),
            (Read, "plain-4", WriteCombining, BlockState::Warm, 45.0),
            (Read, "avx2", WriteCombining, BlockState::Warm, 148.0),
            (Read, "avx2", Uncached, BlockState::Warm, 74.0),
            (Copy, "avx2", WriteBack, BlockState::Fresh, 238.0),
            (Copy, "avx2", WriteCombining, BlockState::Warm, 74.0),
            (Copy, "avx2-prefetchnta", WriteBack, BlockState::Fresh, 529.0),
        ] {
            rates.push(row(op, instruction, cache_type, bytes, state, mb_s));
        }
    }
    let far = 64 << 20;
    rates.push(row(Write, "avx2", WriteBack, far, BlockState::Warm, 171.0));
    rates.push(row(Write, "avx2-nt", WriteBack, far, BlockState::Warm, 1043.0));
    for rate in rates.iter_mut().filter(|rate| rate.cache_type == WriteCombining) {
        (rate.bursts, rate.partials) = match rate.op {
            Read => (figure(0.1, 0.01), None),
            _ => (figure(rate.bytes as f64 / 64.0, 0.01), figure(0.1, 0.01)),
        };
    }
    rates.iter_mut().for_each(change);
    Profile { topology: Some(packages()), ..with_memory(Memory { rates, ..Memory::default() }) }
}

pub(super) fn with_memory(memory: Memory) -> Profile {
    Profile { memory: Some(memory), ..Profile::default() }
}

/// With other rates of an operation, in MB/s, for all sizes or for one.
fn moved(
    op: Operation,
    instruction: &'static str,
    cache_type: CacheType,
    bytes: Option<u64>,
) -> impl Fn(f64, f64) -> Profile {
    move |mb_s, known_to| {
        rates(|rate| {
            let mine = (rate.op, &*rate.instruction, rate.cache_type) == (op, instruction, cache_type);
            if mine && bytes.is_none_or(|bytes| bytes == rate.bytes) {
                rate.bytes_per_s = figure(mb_s * 1e6, known_to);
            }
        })
    }
}

pub(super) fn hamada_dimmnet() -> Vec<String> {
    use CacheType::{Uncached, WriteBack, WriteCombining};
    use Operation::{Copy, Read, Write};
    let transactions = |op, of: fn(&mut MemoryRate) -> &mut Option<Estimate>| {
        move |lines: f64, known_to| {
            rates(|rate| {
                if (rate.op, rate.cache_type, rate.bytes) == (op, WriteCombining, 64 << 10) {
                    *of(rate) = figure(lines, known_to);
                }
            })
        }
    };
    let left = |first: &'static str| {
        move |gone: f64, known_to| {
            let row = |lines: u64| LinesLeft {
                first: first.into(),
                bytes: 64 * lines,
                lines,
                method: "counter".into(),
                cache: "bus".into(),
                gone: figure(gone * lines as f64 / 1024.0, known_to),
                ns: None,
            };
            with_memory(Memory { prefetchnta: vec![row(8), row(1024)], ..Memory::default() })
        }
    };
    let costs = |wbinvd_dirty: f64, clflush: f64, known_to: f64| {
        let cost = |operation: &str, lines, dirty, ns: f64, known_to| CoherenceCost {
            operation: operation.into(),
            lines,
            dirty,
            ns: figure(ns, known_to),
        };
        let coherence_cost = vec![
            cost("WBINVD", 0, 0, 57_000.0, 0.001),
            cost("WBINVD", 8192, 8192, wbinvd_dirty, known_to),
            cost("CLFLUSH", 8, 8, clflush, known_to),
        ];
        with_memory(Memory { coherence_cost, ..Memory::default() })
    };
    let dma = |mb_s: f64, known_to| {
        let row = |source: &str, mb_s: f64, known_to| DmaRate {
            engine: "engine".into(),
            direction: "host-to-host".into(),
            source: source.into(),
            bytes: 4096,
            bytes_per_s: figure(mb_s * 1e6, known_to),
        };
        with_memory(Memory {
            dma: vec![row("clean", 100.0, 0.001), row("dirty", mb_s, known_to)],
            ..Memory::default()
        })
    };
    vec![
        three("SIMD stores to cached", moved(Write, "plain-4", WriteBack, None), 340.0, 700.0),
        three("Stores to WC memory are as fast", moved(Write, "avx2-nt", WriteBack, None), 1050.0, 2000.0),
        three("Stores to WC memory are at least", moved(Write, "avx2", Uncached, None), 170.0, 500.0),
        three("While the caches hold", moved(Write, "avx2", WriteCombining, None), 1050.0, 2000.0),
        three("Beyond the caches, stores", moved(Write, "avx2", WriteBack, Some(64 << 20)), 171.0, 2000.0),
        three(
            "Beyond the caches, non-temporal",
            moved(Write, "avx2-nt", WriteBack, Some(64 << 20)),
            1043.0,
            90.0,
        ),
        three("Plain reads of WC", moved(Read, "plain-4", WriteCombining, None), 45.0, 90.0),
        three("SIMD reads of WC", moved(Read, "avx2", WriteCombining, None), 148.0, 200.0),
        three("Reads of WC memory are faster", moved(Read, "avx2", Uncached, None), 74.0, 300.0),
        three("Reads of WC memory cause no", transactions(Read, |rate| &mut rate.bursts), 1.0, 90.0),
        three("Stores to WC memory leave", transactions(Write, |rate| &mut rate.partials), 1.0, 90.0),
        three("Copies out of WC", moved(Copy, "avx2", WriteCombining, None), 74.0, 200.0),
        three("Copies that read through", moved(Copy, "avx2-prefetchnta", WriteBack, None), 529.0, 100.0),
        three("Data read through PREFETCHNTA", left("prefetchnta"), 1020.0, 200.0),
        three("Data read plainly", left("read"), 10.0, 400.0),
        three("WBINVD takes longer", |v, w| costs(v, 900.0, w), 720_000.0, 30_000.0),
        three("Flushing a small block", |v, w| costs(720_000.0, v, w), 900.0, 110_000.0),
        three("DMA out of modified", dma, 80.0, 40.0),
    ]
}
