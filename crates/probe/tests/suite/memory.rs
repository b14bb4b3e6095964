//! The section as callers get it.

use std::time::Duration;

use coho_platform::pages::Paging;
use coho_platform::pin;
use coho_probe::Course;
use coho_probe::memory::{Options, Part};
use coho_profile::{BlockState, CacheType, Fence, Memory, MemoryRate, Operation};
use coho_testing::{Capability, needs};

use crate::measured;

fn measure(options: &Options) -> Memory {
    measured(options).unwrap()
}

fn within(time: Duration) -> Course {
    Course::default().within(time)
}

#[test]
fn a_rate_for_each_state_and_fence() {
    let options = Options {
        parts: vec![Part::Rates],
        sizes: vec![512, 65536],
        threads: vec![1],
        instructions: vec!["plain-8".into()],
        operations: vec![Operation::Write, Operation::Copy],
        states: BlockState::ALONE.to_vec(),
        fences: Fence::ALL.to_vec(),
        ..Options::quick()
    };
    let plain = |memory: &Memory| -> Vec<MemoryRate> {
        memory.rates.iter().filter(|rate| rate.instruction == "plain-8").cloned().collect()
    };
    let memory = measure(&options);
    let plain = plain(&memory);
    // Two operations, two sizes, four states, three fences; all windows of some may have been interrupted.
    let dropped = memory.method.parameters["windows_dropped"].as_u64().unwrap();
    assert!(plain.len() == 48 || plain.len() < 48 && dropped > 0, "{:?}", memory.method.not_available);
    for rate in plain {
        let figure = rate.bytes_per_s.as_ref().unwrap();
        assert!(figure.median > 1e3 && figure.low <= figure.median, "{rate:?}");
        assert!(rate.state.is_some() && rate.fence.is_some() && rate.page_bytes.is_some());
        let known = matches!(rate.state, Some(BlockState::Fresh | BlockState::Flushed));
        assert_eq!(rate.traffic_bytes_per_s.is_some(), known, "{rate:?}");
    }
    assert!(memory.types[0].available);
    let counted = |rate: &MemoryRate| rate.bursts.is_some();
    let why_not = memory.method.not_available.contains_key("bursts and partials");
    assert!(memory.rates.iter().any(counted) != why_not || memory.rates.is_empty());
}

#[test]
fn blocks_that_another_cpu_has_had_have_rates_of_their_own() {
    let options = Options {
        parts: vec![Part::Rates],
        sizes: vec![512, 65536],
        instructions: vec!["plain-8".into()],
        operations: Operation::ALL.to_vec(),
        states: vec![BlockState::Shared, BlockState::Remote],
        ..Options::quick()
    };
    let memory = measure(&options);
    if pin::allowed().unwrap().len() < 2 {
        return assert!(memory.method.not_available.contains_key("rates of shared and remote blocks"));
    }
    // Writes and copies in both states, reads of remote blocks; on a busy machine some window may never be had.
    assert!(memory.rates.len() <= 10, "{:?}", memory.rates);
    for rate in &memory.rates {
        assert!(matches!(rate.state, Some(BlockState::Shared | BlockState::Remote)), "{rate:?}");
        assert!(rate.bytes_per_s.as_ref().unwrap().median > 1e3 && rate.threads == 1, "{rate:?}");
    }
}

#[test]
fn every_part_lies_on_the_pages_and_the_node_that_were_asked_for() {
    let quick = |parts: &[Part]| Options { parts: parts.to_vec(), ..Options::quick() };
    let small = measure(&Options {
        paging: Paging::Small,
        course: within(Duration::from_secs(10)),
        ..quick(&[Part::Latency])
    });
    let large: Vec<_> = small.latency.iter().filter(|row| row.bytes >= 4 << 20).collect();
    assert!(!large.is_empty(), "{:?}", small.latency);
    for row in large {
        assert!(row.page_bytes.is_none_or(|bytes| bytes < 2 << 20), "{row:?}");
    }
    for part in Part::ALL {
        let options = Options { node: Some(1000), ..quick(&[part]) };
        let error = measured(&options).unwrap_err().to_string();
        assert!(error.contains("node 1000"), "{part:?}: {error}");
    }
}

#[test]
fn what_prefetchnta_leaves_is_counted_or_it_is_told_why_not() {
    let memory = measure(&Options { parts: vec![Part::Prefetchnta], ..Options::quick() });
    if memory.method.not_available.contains_key("PREFETCHNTA") {
        return;
    }
    let by = |method: &str| memory.prefetchnta.iter().filter(|row| row.method == method).collect::<Vec<_>>();
    assert!(by("timing").len() == 6 && by("timing").iter().all(|row| row.cache == "all"));
    let why_not = memory.method.not_available.get("PREFETCHNTA by counter");
    assert_eq!(by("counter").is_empty(), why_not.is_some(), "{why_not:?}");
    assert!(why_not.is_none_or(|why| why.len() > 10), "{why_not:?}");
}

#[test]
fn latency_is_left_out_where_types_other_than_write_back_alone_are_named() {
    let types = vec![CacheType::WriteCombining];
    let parts = vec![Part::Rates, Part::Latency, Part::Coherence];
    let sizes = vec![512];
    let memory = measure(&Options { parts, types, sizes, ..Options::quick() });
    assert!(memory.latency.is_empty(), "{:?}", memory.latency);
    assert!(!memory.coherence_cost.is_empty(), "what other types save is measured beside them");
    assert!(memory.method.not_available["part latency"].contains("--type WB"));
    if memory.rates.is_empty() {
        // The reasons of each provider, not the place where they stand.
        assert!(
            memory.method.not_available["rates of WC"].contains("vgem: "),
            "{:?}",
            memory.method.not_available
        );
    }
}

#[test]
fn threads_move_data_together() {
    needs!(Capability::TwoCpus);
    let options = Options {
        parts: vec![Part::Rates],
        sizes: vec![65536],
        threads: vec![2],
        instructions: vec!["plain-8".into()],
        states: vec![BlockState::Warm],
        ..Options::quick()
    };
    let memory = measure(&options);
    let dropped = memory.method.parameters["windows_dropped"].as_u64().unwrap();
    assert!(!memory.rates.is_empty() || dropped > 0);
    assert!(memory.rates.iter().all(|rate| rate.threads == 2 && rate.mapping == "sequential"));
}

#[test]
fn the_other_parts_have_figures_or_reasons() {
    let parts = Part::ALL.into_iter().filter(|part| *part != Part::Rates).collect();
    let memory = measure(&Options { parts, ..Options::quick() });
    assert!(memory.rates.is_empty());
    let reasons = &memory.method.not_available;
    let ns: Vec<_> = memory.latency.iter().map(|row| row.ns.as_ref().unwrap().median).collect();
    assert!(ns.iter().all(|ns| *ns > 0.0) && ns.len() >= 2, "{ns:?} {reasons:?}");
    assert!(memory.coherence_cost.iter().any(|cost| cost.dirty == cost.lines && cost.lines > 1));
    assert!(
        memory.coherence_cost.iter().any(|cost| cost.operation == "WBINVD") || reasons.contains_key("WBINVD")
    );
    assert!(!memory.prefetchnta.is_empty() || reasons.contains_key("PREFETCHNTA"));
    assert!(
        memory
            .prefetchnta
            .iter()
            .all(|row| row.gone.as_ref().is_none_or(|gone| gone.median <= row.lines as f64))
    );
    assert!(!memory.dma.is_empty() || reasons.keys().any(|name| name.starts_with("DMA by")));
    assert!(!memory.transfers.is_empty() || reasons.keys().any(|name| name.starts_with("transfers")));
}

#[test]
fn wrong_names_are_errors_and_the_time_limit_holds() {
    let wrong = Options { instructions: vec!["avx9000".into()], ..Options::quick() };
    let error = measured(&wrong).unwrap_err().to_string();
    assert!(error.contains("'avx9000'") && error.contains("plain-8"), "{error}");
    let node = Options { node: Some(1000), ..Options::quick() };
    assert!(measured(&node).unwrap_err().to_string().contains("1000"));
    let memory = measure(&Options { course: within(Duration::from_millis(1)), ..Options::quick() });
    assert!(memory.method.interrupted);
}
