//! Barriers, OpenMP, delegation and memory.

use coho_model::Urgency;
use coho_profile::{
    BarrierTime, BlockState, CacheType, Calls, Channel, Estimate, Fence, Footprint, Memory, MemoryRate,
    Operation, Profile, Sync, SyncPeer,
};

use super::{does_not_say, estimate, jumping, says};

fn barriers(rows: &[(&str, u32, Estimate)]) -> Profile {
    let row = |(algorithm, threads, ns): &(&str, u32, Estimate)| BarrierTime {
        algorithm: (*algorithm).into(),
        threads: *threads,
        ns: Some(ns.clone()),
        times_limit: Some(1.2),
        ..BarrierTime::default()
    };
    let sync = Sync { barriers: rows.iter().map(row).collect(), ..Sync::default() };
    Profile { sync: Some(sync), ..Profile::default() }
}

#[test]
fn a_barrier_is_the_quickest_beyond_chance_alone() {
    let of = |fbs, lock| barriers(&[("fbs", 4, fbs), ("lock", 4, lock), ("fbs", 2, estimate(20.0, 40))]);
    let ahead = of(estimate(50.0, 40), estimate(90.0, 40));
    says(
        &ahead,
        "quickest-barrier",
        &["The quickest barrier of 4 threads is fbs: 50.0 ns", "1.20 times the latency limit"],
    );
    let alike = says(&of(estimate(50.0, 40), estimate(50.5, 40)), "quickest-barrier", &["fbs and lock tie"]);
    assert!(!alike.text.contains("quickest"), "{alike:?}");
    let names = ["fbs", "lock", "grid", "tournament-2", "dissemination-2", "sense-reversing"];
    let rows: Vec<_> = names.iter().map(|name| (*name, 4, estimate(50.0, 40))).collect();
    let many = says(&barriers(&rows), "quickest-barrier", &["fbs, lock and grid (3 more) tie"]);
    // Two lines of a terminal, behind the number.
    assert!(many.brief.contains("; 6 algorithms tie") && many.brief.chars().count() < 150, "{many:?}");
    // Beyond the intervals, but not beyond what the next run may differ by.
    let near = says(&of(estimate(50.0, 40), estimate(54.0, 40)), "quickest-barrier", &["fbs and lock tie"]);
    assert!(near.condition.contains("stay this far apart, which is not known"), "{near:?}");
    // One that jumped to the other's value.
    says(&of(estimate(50.0, 40), jumping(90.0, 49.0)), "quickest-barrier", &["fbs and lock tie"]);
    let few = says(&of(estimate(50.0, 40), estimate(90.0, 3)), "quickest-barrier", &["takes 50.0 ns"]);
    assert!(!few.text.contains("quickest"), "{few:?}");
    let alone = says(&barriers(&[("fbs", 2, estimate(20.0, 40))]), "quickest-barrier", &["by fbs"]);
    assert!(!alone.text.contains("quickest"), "{alone:?}");
    does_not_say(&barriers(&[("fbs", 2, estimate(20.0, 3))]), "quickest-barrier");
    // What another chooses is none of its own.
    does_not_say(&barriers(&[("auto", 2, estimate(20.0, 40))]), "quickest-barrier");
}

#[test]
fn openmp_gains_where_intervals_say_so() {
    let of = |name: &str, barrier: Estimate, fork_join: Estimate| {
        let peer = |operation: &str, ratio| SyncPeer {
            name: name.into(),
            operation: operation.into(),
            threads: 2,
            ratio: Some(ratio),
            ..SyncPeer::default()
        };
        let sync =
            Sync { peers: vec![peer("barrier", barrier), peer("fork-join", fork_join)], ..Sync::default() };
        Profile { sync: Some(sync), ..Profile::default() }
    };
    let gains = says(
        &of("libgomp", estimate(9.3, 40), estimate(6.4, 40)),
        "openmp-gain",
        &["6.40 (", "9.30 (", "gains"],
    );
    assert_eq!(gains.urgency, Urgency::Advice);
    let loses = says(&of("libgomp", estimate(0.8, 40), estimate(0.7, 40)), "openmp-gain", &["loses"]);
    assert!(loses.urgency == Urgency::Note && loses.next.is_empty(), "{loses:?}");
    for open in [
        of("libgomp", estimate(9.3, 3), estimate(6.4, 3)),
        of("libgomp", estimate(9.3, 40), estimate(0.7, 40)),
        of("libgomp", estimate(1.0, 40), estimate(1.0, 40)),
        of("libomp", estimate(9.3, 40), estimate(6.4, 40)),
    ] {
        does_not_say(&open, "openmp-gain");
    }
}

#[test]
fn calls_are_delegated_where_a_curve_decides() {
    let of = |call: &str, gains: [f64; 3], n| {
        let rows = gains.into_iter().zip([64 << 10, 1 << 20, 64 << 20]).map(|(gain, bytes)| Footprint {
            call: call.into(),
            payload_bytes: 4096,
            bytes,
            callers: 1,
            gain_ns: Some(estimate(gain, n)),
            ..Footprint::default()
        });
        let channel =
            Channel { caller: 0, host: 1, one_way_ns: Some(estimate(26.0, 40)), ..Channel::default() };
        let calls = Calls { footprint: rows.collect(), channel: vec![channel], ..Calls::default() };
        Profile { calls: Some(calls), ..Profile::default() }
    };
    let with = |gains, n| of("write", gains, n);
    let pays = says(&with([-50.0, 90.0, 90.0], 40), "delegation", &["write(4096) from 1 MiB on"]);
    assert!(pays.urgency == Urgency::Advice && pays.condition.contains("one-way 26 ns"), "{pays:?}");
    assert!(pays.condition.contains("stay this far apart, which is not known"), "{pays:?}");
    assert!(pays.condition.contains("one gain tested, at 5 %"), "{pays:?}");
    assert_eq!(pays.evidence, ["/calls/footprint/0", "/calls/footprint/1", "/calls/footprint/2"]);
    let never = with([-50.0, -90.0, -90.0], 40);
    let never = says(&never, "delegation", &["never within what was measured: write(4096)"]);
    assert!(never.urgency == Urgency::Note && never.next.is_empty(), "{never:?}");
    does_not_say(&with([50.0, -90.0, -90.0], 40), "delegation");
    does_not_say(&with([50.0, 90.0, 90.0], 3), "delegation");
    // The largest footprint alone, and what `coho run --delegate` does not take.
    does_not_say(&with([-50.0, -90.0, 90.0], 40), "delegation");
    does_not_say(&of("gettimeofday", [50.0, 90.0, 90.0], 40), "delegation");
    does_not_say(&Profile { calls: Some(Calls::default()), ..Profile::default() }, "delegation");
}

/// Stores by one thread to a warm block: instruction, KiB, GB/s.
fn stores(rows: &[(&str, u64, f64)], n: u64) -> Memory {
    let rate = |&(instruction, kib, gb_s): &(&str, u64, f64)| MemoryRate {
        op: Operation::Write,
        instruction: instruction.into(),
        bytes: kib << 10,
        threads: 1,
        state: Some(BlockState::Warm),
        fence: Some(Fence::Run),
        node: Some(0),
        bytes_per_s: Some(estimate(gb_s * 1e9, n)),
        ..MemoryRate::default()
    };
    Memory { rates: rows.iter().map(rate).collect(), ..Memory::default() }
}

fn profile(memory: Memory) -> Profile {
    Profile { memory: Some(memory), ..Profile::default() }
}

const CURVE: [(&str, u64, f64); 6] = [
    ("avx2", 64, 60.0),
    ("avx2-nt", 64, 20.0),
    ("rep-stosb", 1024, 30.0),
    ("avx2-nt", 1024, 21.0),
    ("avx2", 49152, 12.0),
    ("avx2-nt", 49152, 22.0),
];

#[test]
fn non_temporal_stores_pay_from_where_all_larger_sizes_say_so() {
    let pays = says(
        &profile(stores(&CURVE, 12)),
        "non-temporal-stores",
        &[
            "pay from 48 MiB on",
            "22.0 (21.8–22.2) against 12.0 (11.9–12.1) GB/s (avx2-nt, avx2)",
            "at 1 MiB they are slower",
        ],
    );
    assert!(pays.urgency == Urgency::Advice && pays.condition.contains("64 KiB, 1 MiB, 48 MiB"), "{pays:?}");
    says(
        &profile(stores(&CURVE[4..], 12)),
        "non-temporal-stores",
        &["at every size measured, from 48 MiB on"],
    );
    let never = says(
        &profile(stores(&CURVE[..4], 12)),
        "non-temporal-stores",
        &["none of the sizes measured, 64 KiB to 1 MiB"],
    );
    assert!(never.urgency == Urgency::Note && never.next.is_empty(), "{never:?}");
    does_not_say(&profile(stores(&CURVE, 4)), "non-temporal-stores");
    // Alike at the last size, or only one kind of store there.
    does_not_say(&profile(stores(&[CURVE[4], ("avx2-nt", 49152, 12.1)], 12)), "non-temporal-stores");
    does_not_say(&profile(stores(&[CURVE[0], CURVE[5]], 12)), "non-temporal-stores");
    // Quicker than the best other one, but not than one of which less is known.
    let mut wide = stores(&[CURVE[4], ("rep-stosb", 49152, 11.0), CURVE[5]], 12);
    wide.rates[1].bytes_per_s = Some(Estimate { low: 5e9, high: 23e9, ..estimate(11e9, 12) });
    does_not_say(&profile(wide), "non-temporal-stores");
    // The size before is alike, beyond intervals that are narrower than the next run's noise.
    let near = [("avx2", 1024, 20.0), ("avx2-nt", 1024, 20.9), CURVE[4], CURVE[5]];
    says(
        &profile(stores(&near, 12)),
        "non-temporal-stores",
        &["from 48 MiB on", "at 1 MiB no difference shows"],
    );
    // Stores that nobody waits for, and other memory, are another quantity.
    for change in [
        |rate: &mut MemoryRate| rate.fence = Some(Fence::None),
        |rate: &mut MemoryRate| rate.cache_type = CacheType::WriteCombining,
        |rate: &mut MemoryRate| rate.threads = 2,
        |rate: &mut MemoryRate| rate.state = Some(BlockState::Fresh),
    ] {
        let mut memory = stores(&CURVE[4..], 12);
        change(&mut memory.rates[1]);
        does_not_say(&profile(memory), "non-temporal-stores");
    }
}

#[test]
fn bandwidth_is_that_of_the_largest_block() {
    let only = &["In blocks of 48 MiB, one core writes 22.0 (21.8–22.2) GB/s."];
    let alone = says(&profile(stores(&CURVE, 12)), "bandwidth", only);
    assert!(alone.condition.ends_with("the quickest instructions: write avx2-nt"), "{alone:?}");
    let alike = [
        ("avx2-nt", 48, 22.0),
        ("sse2-nt", 48, 21.9),
        ("rep-stosb", 48, 21.8),
        ("movnti-8", 48, 21.7),
        ("avx2", 48, 9.0),
    ];
    let group = says(&profile(stores(&alike, 12)), "bandwidth", &[]);
    assert!(
        group.condition.ends_with("write avx2-nt, not clearly quicker than sse2-nt, rep-stosb and 1 more"),
        "{group:?}"
    );
    assert_eq!(group.evidence.len(), 4, "{group:?}");
    does_not_say(&profile(stores(&CURVE, 4)), "bandwidth");
    // Only what the profile lacks is advised.
    assert!(
        alone.next.ends_with("measures other sizes, other states of the block and several cores at once.")
    );
    let mut all = stores(&CURVE, 12);
    let of = |kib: u64, state, threads| MemoryRate {
        bytes: kib << 10,
        state: Some(state),
        threads,
        ..all.rates[0].clone()
    };
    let more = [1, 2, 4].map(|kib| of(kib, BlockState::Warm, 1));
    let others = [of(64, BlockState::Dirty, 1), of(64, BlockState::Warm, 2)];
    all.rates.extend(more.into_iter().chain(others));
    assert_eq!(says(&profile(all.clone()), "bandwidth", &[]).next, "");
    all.rates.pop();
    let next = says(&profile(all.clone()), "bandwidth", &[]).next;
    assert_eq!(next, "`coho memory -o PROFILE` measures several cores at once.");
    all.method.parameters.insert("cpus".into(), vec![0].into());
    assert_eq!(says(&profile(all), "bandwidth", &[]).next, "", "there is one core");
    does_not_say(&profile(Memory::default()), "bandwidth");
}
