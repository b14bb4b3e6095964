//! What was printed twice agrees, and every machine's profile can be read.

use coho_topology::freebsd::{self, Variant};

use super::*;
use crate::{CacheState, CacheType, Call, Estimate, Inexact, Operation, Side, ratio};

fn median(estimate: &Option<Estimate>) -> Option<f64> {
    estimate.as_ref().map(|estimate| estimate.median)
}

#[test]
fn every_machine_is_a_profile_and_no_file_is_left_over() {
    let places: Vec<u32> = PAPERS.iter().map(|paper| paper.place).collect();
    assert!(places.len() >= 5 && places.is_sorted_by(|one, next| one < next), "{places:?}");
    for paper in PAPERS.iter() {
        let publication = paper.publication();
        assert!(publication.machines.iter().all(|(_, profile)| profile.host.is_some()), "{}", paper.name);
        let profiles = paper.files.iter().filter(|(name, _)| name.ends_with(".json")).count();
        assert_eq!(publication.machines.len(), profiles, "{}", paper.name);
    }
}

#[test]
fn means_and_cycles_follow_from_the_pairs() {
    for (name, profile) in paper("kawabe-furuya").publication().machines {
        let (coherence, ghz) = (profile.coherence.unwrap(), profile.host.unwrap().clock_ghz.unwrap());
        for time in &coherence.coherence_times {
            let of_class = coherence.pairs.iter().filter(|pair| pair.claimed.as_ref() == Some(&time.class));
            let ns: Vec<f64> = of_class.map(|pair| pair.ns.median).collect();
            // The printed mean at one hop is of one pair more than are printed.
            let lost = u64::from(time.class == "1-hop");
            assert_eq!(ns.len() as u64 + lost, time.pairs, "{name}");
            if time.class == "on-die" {
                assert!((ns.iter().sum::<f64>() / ns.len() as f64 - time.mean_ns).abs() < 0.01, "{name}");
            }
            assert!((time.mean_ns - time.baseline_ns - time.coherence_ns).abs() < 0.011, "{name}");
            assert!((time.coherence_ns * ghz - time.coherence_cycles.unwrap()).abs() < 0.02, "{name}");
        }
    }
    let x7560 = read("kawabe-furuya/x7560").unwrap().machines.remove(0).1;
    let counts = x7560.topology.unwrap().counts;
    assert_eq!((counts.package, counts.core, counts.pu), (8, 64, 128));
    let pairs = x7560.coherence.unwrap().pairs;
    assert!(pairs.iter().any(|pair| (pair.a, pair.b, pair.ns.median) == (0, 63, 340.58)));
}

#[test]
fn the_sr11000_has_two_modules_of_four_chips_and_the_papers_ratios() {
    let paper = paper("nakamura-fbs");
    let profile = paper.machine();
    let counts = profile.topology.unwrap().counts;
    assert_eq!((counts.package, counts.die, counts.l2, counts.core, counts.pu), (2, 8, 8, 16, 16));
    let sync = profile.sync.unwrap();
    let ns = |algorithm: &str, threads| {
        let row = sync.fork_join.iter().find(|row| row.algorithm == algorithm && row.threads == threads);
        median(&row.unwrap().total_ns).unwrap()
    };
    let printed = |row| paper.row("fork-join", row)[0];
    assert_eq!((ns("fbs", 8), ns("fbs", 16)), (1000.0 * printed("fbs-8-us"), 1000.0 * printed("fbs-16-us")));
    assert!((ns("lock", 16) / ns("fbs", 16) - printed("lock-over-fbs-16")).abs() < 1e-9);
    assert!((ns("fbs-one-line", 16) / ns("fbs", 16) - printed("one-line-over-fbs-16")).abs() < 1e-9);
    assert_eq!(sync.ratios[ratio::MAPPING].median, printed("binary-tree-over-sequential-8"));
    assert!(sync.inexact.keys().all(|name| sync.ratios.contains_key(name)));
    assert_eq!(sync.inexact[ratio::WAITING_ALL], Inexact::Below);
    for (name, row) in &paper.figures["table-4-1"] {
        assert!((row[0] + row[1] - row[2]).abs() < 0.051, "computing and waiting of {name}: {row:?}");
    }
}

#[test]
fn the_tables_of_calls_give_the_texts_footprints_and_ratios() {
    let paper = paper("shimosawa-hori-ishikawa");
    let profile = paper.machine();
    let calls = profile.calls.unwrap().calls;
    let tools = profile.counters.unwrap().tools;
    assert_eq!((calls.len(), tools.len()), (32, 3));
    assert!((median(&tools[2].user.STALL).unwrap() - 3817.0 / 5741.0).abs() < 1e-12);
    assert_eq!(median(&tools[0].kernel.STALL), None, "no cycles, no share");
    let of = |name: &str, state, side| -> &Call {
        calls.iter().find(|call| (&*call.name, call.state, call.side) == (name, state, side)).unwrap()
    };
    let cold = |name, side| of(name, CacheState::Cold, side);
    let conclusion = |row| paper.row("conclusions", row)[0];
    let bytes = |name, side| 64.0 * median(&cold(name, side).counts.L2M).unwrap();
    assert!(bytes("getpid", Side::Kernel) < 1024.0 * conclusion("kernel-entry-footprint-kib"));
    let fprintf = bytes("fprintf", Side::User) + bytes("fprintf", Side::Kernel);
    assert!((fprintf / 1000.0 - conclusion("fprintf-footprint-kib")).abs() < 0.05, "{fprintf}");
    let sprintf = bytes("sprintf", Side::User);
    assert!((sprintf / 1000.0 - conclusion("sprintf-footprint-kib")).abs() < 0.05, "{sprintf}");
    let cycles = |state| median(&of("write", state, Side::Kernel).counts.CYCLE).unwrap();
    let ratio = cycles(CacheState::Second) / cycles(CacheState::Cold);
    assert!((ratio - conclusion("write-warm-over-cold-cycles")).abs() < 0.001, "{ratio}");
}

/// The printed transactions are whole lines, words of 4 bytes and of 8.
#[test]
fn transactions_follow_from_the_sizes_and_constants_from_the_rates() {
    let paper = paper("hamada-dimmnet");
    let memory = paper.machine().memory.unwrap();
    // Tables 2, 4 and 5: three types, Table 3: four columns, Table 6: two by two, Table 8: two; at three sizes.
    assert_eq!(memory.rates.len(), (3 + 4 + 3 + 3 + 4 + 2) * 3);
    let rate = |op: Operation, instruction: &str, cache_type: CacheType, bytes: u64| {
        let mut matching = memory.rates.iter().filter(|rate| {
            (rate.op, &*rate.instruction, rate.cache_type, rate.bytes) == (op, instruction, cache_type, bytes)
        });
        let rate = matching.next().unwrap();
        assert!(matching.next().is_none(), "{op} {instruction} {cache_type} {bytes}");
        rate
    };
    for bytes in [512, 64 << 10, 1 << 20] {
        let counts = |op, instruction, cache_type| {
            let rate = rate(op, instruction, cache_type, bytes);
            [&rate.bursts, &rate.partials].map(|count| median(count).unwrap() as u64)
        };
        assert_eq!(counts(Operation::Write, "simd", CacheType::WriteCombining), [bytes / 32, 0]);
        assert_eq!(counts(Operation::Read, "plain", CacheType::WriteCombining), [0, bytes / 4]);
        assert_eq!(counts(Operation::Write, "simd", CacheType::Uncached), [0, bytes / 8]);
    }
    // A status read is one word at Table 4's uncached rate.
    let word = rate(Operation::Read, "plain", CacheType::Uncached, 512);
    let word_ns = 4.0 / median(&word.bytes_per_s).unwrap() * 1e9;
    assert!((word_ns / paper.row("path", "dimmnet-status-read")[0] - 1.0).abs() < 0.03, "{word_ns}");
    let wbinvd = |at: usize| median(&memory.coherence_cost[at].ns).unwrap();
    let line_ns = (wbinvd(1) - wbinvd(0)) / memory.coherence_cost[1].dirty as f64;
    assert!((line_ns - 81.0).abs() < 0.1, "{line_ns}");
}

#[test]
fn the_bulldozer_has_two_modules_and_the_stock_kernel_sees_one_cache() {
    let paper = paper("kimoto-bulldozer");
    let dump = paper.cpuid();
    let topology = cpuid::decode(&dump).unwrap();
    assert_eq!((topology.counts().module, topology.counts().l2, topology.counts().core), (2, 2, 4));
    for (name, profile) in paper.publication().machines {
        assert_eq!(profile.topology.unwrap().topology, topology, "{name}");
    }
    let shape = |variant| freebsd::predict(variant, &topology, Some(&dump)).unwrap().root.shape();
    assert_eq!(shape(Variant::Stock), "L0/4{1x L2/4}");
    assert_eq!(shape(Variant::Patched), "L0/4{1x L0/4{2x L2/2+SMT}}");
}
