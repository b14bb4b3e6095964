//! For each claim a profile in which it holds, one in which it does not, and one in which it cannot be told.

mod delegation;
mod lacks;
mod words;

use std::collections::BTreeMap;

use coho_profile::{
    BlockState, CacheState, CacheType, Call, CallMethod, Calls, Coherence, CoherenceCost, CounterTool,
    Counters, Counts, DmaRate, Estimate, ForkJoinTime, Home, Host, Kernel, KernelPoint, LineState, LinesLeft,
    Memory, MemoryRate, Mode, Operation, Pair, PairMethod, Profile, SharedKernel, Side, Single, StateRead,
    Sync, SyncPeer, TopologySection, WorkloadResult, Workloads, published,
};
use coho_topology::{Cache, CacheKind, NumaNode, Pu, Topology, Unit};

use super::{Judgement, Verdict, judge, judge_published};

/// A figure of a hundred samples, known to this share of itself.
fn figure(value: f64, known_to: f64) -> Option<Estimate> {
    let (low, high) = (value * (1.0 - known_to), value * (1.0 + known_to));
    Some(Estimate { low, high, n: 100, stable: Some(true), ..Estimate::exact(value) })
}

fn the(claim: &str, all: &[Judgement]) -> Judgement {
    let found: Vec<_> = all.iter().filter(|one| one.claim.starts_with(claim)).collect();
    assert_eq!(found.len(), 1, "{claim}");
    found[0].clone()
}

/// The verdicts that a claim gets from a profile that meets it, from one that does not, and from the first one when
/// it is poorly known.
fn three(claim: &str, profile: impl Fn(f64, f64) -> Profile, holds: f64, fails: f64) -> String {
    let verdict = |value, known_to| the(claim, &judge(&profile(value, known_to)));
    let held = verdict(holds, 0.001);
    assert_eq!(held.verdict, Verdict::Holds, "{held:?}");
    assert!(held.here.is_some() && held.measure.is_none(), "{held:?}");
    let failed = verdict(fails, 0.001);
    assert_eq!(failed.verdict, Verdict::DoesNotHold, "{failed:?}");
    assert!(failed.why.contains("over its whole interval"), "{failed:?}");
    let open = verdict((holds + fails) / 2.0, 0.95);
    assert_eq!(open.verdict, Verdict::CannotBeTold, "{open:?}");
    assert!(open.why.contains("on both sides of") && open.here.is_some(), "{open:?}");
    assert!(open.measure.is_none(), "it was measured: {open:?}");
    let absent = the(claim, &judge(&Profile::default()));
    assert_eq!((absent.verdict, &absent.here), (Verdict::CannotBeTold, &None), "{absent:?}");
    assert!(absent.why.contains("no section") && absent.why.contains("`coho "), "{absent:?}");
    held.claim.to_owned()
}

fn unit(cpus: std::ops::Range<u32>) -> Unit {
    Unit { id: None, cpus: cpus.collect() }
}

fn cache(level: u8, size_bytes: u64, cpus: std::ops::Range<u32>) -> Cache {
    Cache {
        level,
        kind: CacheKind::Unified,
        size_bytes,
        line_bytes: Some(64),
        ways: None,
        cpus: cpus.collect(),
    }
}

/// Four packages of two cores of two threads, an L3 each, in a line: 0 - 1 - 2 - 3.
fn packages() -> TopologySection {
    let node = |n: u32| NumaNode {
        os: n,
        cpus: (4 * n..4 * n + 4).collect(),
        memory_bytes: None,
        distances: (0..4u32).map(|m| [10, 21, 31, 31][m.abs_diff(n) as usize]).collect(),
    };
    TopologySection::from(Topology {
        pus: (0..16).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: (0..4).map(|p| unit(4 * p..4 * p + 4)).collect(),
        cores: (0..8).map(|c| unit(2 * c..2 * c + 2)).collect(),
        caches: (0..4).map(|p| cache(3, 1 << 20, 4 * p..4 * p + 4)).collect(),
        numa_nodes: (0..4).map(node).collect(),
        ..Topology::default()
    })
}

/// Times between CPUs, in ns.
#[derive(Clone, Copy)]
struct Lines {
    plain: f64,
    locked: f64,
    siblings: f64,
    die: f64,
    hop: f64,
    hops: f64,
    exclusive: f64,
}

/// As on the paper's machine of eight processors.
const LINES: Lines = Lines {
    plain: 5.35,
    locked: 11.94,
    siblings: 13.29,
    die: 38.88,
    hop: 218.32,
    hops: 305.62,
    exclusive: 26.0,
};

/// A profile in which one time is poorly known, and the others well.
fn lines(of: impl Fn(&mut Lines) -> &mut f64, value: f64, known_to: f64) -> Profile {
    let mut times = LINES;
    let mut widths = Lines {
        plain: 0.001,
        locked: 0.001,
        siblings: 0.001,
        die: 0.001,
        hop: 0.001,
        hops: 0.001,
        exclusive: 0.001,
    };
    *of(&mut times) = value;
    *of(&mut widths) = known_to;
    let estimate = |get: fn(&Lines) -> f64| figure(get(&times), get(&widths)).unwrap();
    let topology = packages();
    let pair = |b: u32, ns: Estimate| Pair {
        a: 0,
        b,
        method: PairMethod::FreeRunning,
        home: Home::A,
        ns,
        ownership_changes_per_op: None,
        lines: None,
        preempted_batches: 0,
        claimed: Some(topology.topology.claimed(0, b)),
    };
    let coherence = Coherence {
        singles: vec![Single {
            cpu: 0,
            name: "C0".into(),
            locked_ns: estimate(|times| times.locked),
            unlocked_ns: estimate(|times| times.plain),
        }],
        pairs: vec![
            pair(1, estimate(|times| times.siblings)),
            pair(2, estimate(|times| times.die)),
            pair(4, estimate(|times| times.hop)),
            pair(8, estimate(|times| times.hops)),
        ],
        reads: vec![StateRead {
            reader: 0,
            owner: 2,
            state: LineState::Exclusive,
            bytes: 16384,
            home: Home::A,
            ns: estimate(|times| times.exclusive),
        }],
        ..Coherence::default()
    };
    let host = Host { clock_ghz: Some(2.26), ..Host::default() };
    Profile { host: Some(host), topology: Some(topology), coherence: Some(coherence), ..Profile::default() }
}

fn kawabe_furuya() -> Vec<String> {
    vec![
        three("A locked increment", |v, w| lines(|all| &mut all.plain, v, w), 4.0, 9.0),
        three("Two threads of a core share", |v, w| lines(|all| &mut all.siblings, v, w), 12.5, 20.0),
        three("Two cores of a die take", |v, w| lines(|all| &mut all.die, v, w), 40.0, 20.0),
        three("Sharing costs more with each", |v, w| lines(|all| &mut all.hop, v, w), 200.0, 320.0),
        three("The coherence time on a die", |v, w| lines(|all| &mut all.die, v, w), 35.0, 60.0),
        three("One hop costs", |v, w| lines(|all| &mut all.hop, v, w), 200.0, 60.0),
        three("Two hops cost", |v, w| lines(|all| &mut all.hops, v, w), 305.0, 200.0),
        three("At 2 % of instructions, sharing on a die", |v, w| lines(|all| &mut all.die, v, w), 38.0, 80.0),
        three(
            "At 2 % of instructions, sharing over a hop",
            |v, w| lines(|all| &mut all.hop, v, w),
            218.0,
            30.0,
        ),
        three("The coherence time is that", |v, w| lines(|all| &mut all.exclusive, v, w), 26.0, 50.0),
    ]
}

/// Calls by counter; those that `set` changes are poorly known.
fn calls(set: impl Fn(&mut Call)) -> Profile {
    let row = |name: &str, set_name: &str, state, l2m: f64, cycles: f64| {
        let (code, data) = if state == CacheState::Cold { (l2m / 2.0, l2m / 4.0) } else { (0.0, 0.0) };
        Call {
            name: name.into(),
            set: set_name.into(),
            state,
            side: Side::Kernel,
            counts: Counts {
                L1IM: figure(code, 0.01),
                L1DM: figure(data, 0.01),
                L2M: figure(l2m, 0.01),
                CYCLE: figure(cycles, 0.001),
                ..Counts::default()
            },
            ..Call::default()
        }
    };
    let mut rows = Vec::new();
    for (name, lines) in [
        ("getpid", 12.0),
        ("gettimeofday", 27.0),
        ("stat", 231.0),
        ("open", 336.0),
        ("write", 405.0),
        ("close", 87.0),
    ] {
        rows.push(row(name, "syscalls", CacheState::Cold, lines, 10_000.0));
        rows.push(row(name, "syscalls", CacheState::Second, 0.0, 600.0));
    }
    for (name, set_name, lines, second) in [
        ("sprintf", "libc", 355.0, 1_600.0),
        ("fprintf", "libc", 739.0, 1_200.0),
        ("MPI_Send over TCP", "mpi", 400.0, 3_000.0),
        ("MPI_Recv over TCP", "mpi", 400.0, 2_200.0),
        ("MPI_Isend over TCP", "mpi", 400.0, 3_000.0),
        ("MPI_Irecv over TCP", "mpi", 400.0, 2_200.0),
    ] {
        rows.push(row(name, set_name, CacheState::Cold, lines, 10_000.0));
        rows.push(row(name, set_name, CacheState::Second, 10.0, second));
    }
    rows.iter_mut().for_each(set);
    let calls = Calls { method: CallMethod::Pmu, calls: rows, ..Calls::default() };
    Profile { calls: Some(calls), ..Profile::default() }
}

fn changed(
    name: &'static str,
    state: CacheState,
    of: fn(&mut Counts) -> &mut Option<Estimate>,
) -> impl Fn(f64, f64) -> Profile {
    move |value, known_to| {
        calls(|call| {
            if call.name == name && call.state == state {
                *of(&mut call.counts) = figure(value, known_to);
            }
        })
    }
}

fn counters(user_level: f64, known_to: f64) -> Profile {
    let tool = |name: &str, ns: f64, known_to| CounterTool {
        name: name.into(),
        ns: figure(ns, known_to),
        ..CounterTool::default()
    };
    let tools = vec![
        tool("user-level start and stop", user_level, known_to),
        tool("perf_event start and stop", 2800.0, 0.001),
        tool("PAPI start and stop", 4300.0, 0.001),
    ];
    Profile { counters: Some(Counters { tools, ..Counters::default() }), ..Profile::default() }
}

fn shimosawa_hori_ishikawa() -> Vec<String> {
    use CacheState::{Cold, Second};
    let l2m: fn(&mut Counts) -> &mut Option<Estimate> = |counts| &mut counts.L2M;
    let cycles: fn(&mut Counts) -> &mut Option<Estimate> = |counts| &mut counts.CYCLE;
    let code: fn(&mut Counts) -> &mut Option<Estimate> = |counts| &mut counts.L1IM;
    vec![
        three("Entering and leaving", changed("getpid", Cold, l2m), 12.0, 30.0),
        three("open and write", changed("open", Cold, l2m), 336.0, 900.0),
        three("The second time, getpid", changed("getpid", Second, l2m), 0.1, 0.9),
        three("In each cold system call", changed("stat", Cold, code), 183.0, 20.0),
        three("The second time, each system call", changed("close", Second, cycles), 900.0, 2000.0),
        three("sprintf brings", changed("sprintf", Cold, l2m), 355.0, 1500.0),
        three("fprintf brings", changed("fprintf", Cold, l2m), 739.0, 3000.0),
        three("The second time, fprintf", changed("fprintf", Second, cycles), 1200.0, 3500.0),
        three("The second time, MPI's", changed("MPI_Send over TCP", Second, cycles), 3000.0, 7000.0),
        three("Counters read in user mode", counters, 100.0, 900.0),
    ]
}

/// Barriers and programs of 16 threads, with one poorly known figure.
fn team(change: impl Fn(&mut Sync)) -> Profile {
    let row = |algorithm: &str, threads, mapping: &str, fork: f64, join: f64| ForkJoinTime {
        algorithm: algorithm.into(),
        by: "barrier".into(),
        threads,
        mapping: mapping.into(),
        fork_ns: figure(fork, 0.001),
        join_ns: figure(join, 0.001),
        total_ns: figure(fork + join, 0.001),
        ..ForkJoinTime::default()
    };
    let fork_join = vec![
        row("fbs", 8, "sequential", 1200.0, 1200.0),
        row("fbs", 8, "binary-tree", 1900.0, 1900.0),
        row("fbs", 16, "sequential", 2400.0, 2400.0),
        row("fbs-one-line", 16, "sequential", 3000.0, 10_400.0),
        row("lock", 16, "sequential", 12_000.0, 15_800.0),
    ];
    let peers = vec![SyncPeer {
        name: "libgomp".into(),
        operation: "barrier".into(),
        threads: 16,
        ns: figure(9000.0, 0.001),
        ratio: figure(3.0, 0.001),
        ..SyncPeer::default()
    }];
    let point =
        |length, size, threads, barrier: &str, mapping: &str, seconds: f64, waiting: f64| KernelPoint {
            length,
            size,
            threads,
            barrier: barrier.into(),
            mapping: mapping.into(),
            seconds: figure(seconds, 0.001),
            sync_seconds: figure(waiting, 0.001),
            gflops: length.map(|length| figure(length as f64 / seconds / 1e9, 0.001).unwrap()),
        };
    let daxpy =
        [("fbs", 5e-6, 2e-5, 0.1), ("lock", 2e-5, 2.6e-5, 0.1)].map(|(barrier, short, peak, long)| {
            let loops = [(100, short), (100_000, peak), (10_000_000, long)];
            loops.map(|(length, seconds)| point(Some(length), None, 16, barrier, "sequential", seconds, 0.0))
        });
    let program = |all: f64, lock: f64, waiting: f64| Kernel {
        points: vec![
            point(None, Some(9), 16, "fbs", "sequential", all, waiting * all),
            point(None, Some(9), 16, "lock", "sequential", lock, lock - all),
            point(None, Some(9), 8, "fbs", "sequential", 1.21, 0.10),
            point(None, Some(9), 8, "fbs", "binary-tree", 1.0, 0.16),
        ],
        ..Kernel::default()
    };
    let kernels = BTreeMap::from([
        ("daxpy".to_owned(), Kernel { points: daxpy.concat(), ..Kernel::default() }),
        ("galerkin".to_owned(), program(0.5, 1.0, 0.4)),
        ("weather".to_owned(), program(0.75, 1.0, 0.06)),
    ]);
    let mut sync = Sync { fork_join, peers, kernels, ..Sync::default() };
    change(&mut sync);
    Profile { topology: Some(packages()), sync: Some(sync), ..Profile::default() }
}

/// With another time of fork and join.
fn joined(algorithm: &'static str, threads: u32, mapping: &'static str) -> impl Fn(f64, f64) -> Profile {
    move |value, known_to| {
        team(|sync| {
            let mine = |row: &&mut ForkJoinTime| {
                row.algorithm == algorithm && row.threads == threads && row.mapping == mapping
            };
            sync.fork_join.iter_mut().find(mine).unwrap().total_ns = figure(value, known_to);
        })
    }
}

/// With another run of a program.
fn ran(
    name: &'static str,
    which: impl Fn(&KernelPoint) -> bool,
    of: fn(&mut KernelPoint) -> &mut Option<Estimate>,
) -> impl Fn(f64, f64) -> Profile {
    move |value, known_to| {
        team(|sync| {
            let points = &mut sync.kernels.get_mut(name).unwrap().points;
            let point = points.iter_mut().find(|point| which(point)).unwrap();
            *of(point) = figure(value, known_to);
        })
    }
}

fn nakamura_fbs() -> Vec<String> {
    let seconds: fn(&mut KernelPoint) -> &mut Option<Estimate> = |point| &mut point.seconds;
    let waiting: fn(&mut KernelPoint) -> &mut Option<Estimate> = |point| &mut point.sync_seconds;
    let lock = |point: &KernelPoint| point.barrier == "lock";
    let half = |point: &KernelPoint| point.threads == 8 && point.mapping == "sequential";
    let join = |value, known_to| {
        team(|sync| {
            let row = sync.fork_join.iter_mut().find(|row| row.algorithm == "fbs-one-line").unwrap();
            row.join_ns = figure(value, known_to);
        })
    };
    let openmp = |value, known_to| team(|sync| sync.peers[0].ratio = figure(value, known_to));
    vec![
        three("Fork and join by a lock", joined("lock", 16, "sequential"), 9000.0, 3000.0),
        three("On 16 CPUs, fork and join", joined("lock", 16, "sequential"), 27_000.0, 9000.0),
        three("FBS with all flags", joined("fbs-one-line", 16, "sequential"), 9000.0, 3000.0),
        three("On 16 CPUs, FBS on one line", joined("fbs-one-line", 16, "sequential"), 13_440.0, 9000.0),
        three("What one line loses", join, 10_400.0, 2500.0),
        three("On 8 CPUs, FBS", joined("fbs", 8, "sequential"), 2400.0, 6000.0),
        three("Half the CPUs fork and join", joined("fbs", 8, "binary-tree"), 3800.0, 2000.0),
        three("The fast barrier beats", openmp, 3.0, 0.5),
        three(
            "Short loops run",
            ran("daxpy", move |p| lock(p) && p.length == Some(100), seconds),
            2e-5,
            2e-6,
        ),
        three(
            "Short loops gain",
            ran("daxpy", move |p| lock(p) && p.length == Some(100), seconds),
            2e-5,
            5e-6,
        ),
        three(
            "Where the data leave",
            ran("daxpy", move |p| lock(p) && p.length == Some(10_000_000), seconds),
            0.1,
            0.2,
        ),
        three("An untuned program", ran("galerkin", lock, seconds), 1.0, 0.3),
        three("A tuned weather model", ran("weather", lock, seconds), 1.0, 0.5),
        three("Tuned, less than a tenth", ran("weather", |p| p.barrier == "fbs", waiting), 0.03, 0.3),
        three("Half the CPUs compute", ran("weather", half, seconds), 1.21, 0.5),
        three("Half the CPUs wait", ran("weather", half, waiting), 0.1, 0.3),
        three("On the whole", ran("weather", half, seconds), 1.21, 0.6),
    ]
}

/// The paper's rates in MB/s, some of them poorly known.
fn rates(change: impl Fn(&mut MemoryRate)) -> Profile {
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

fn with_memory(memory: Memory) -> Profile {
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

fn hamada_dimmnet() -> Vec<String> {
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

/// Two modules of two cores.
fn workloads(change: impl Fn(&mut Workloads)) -> Profile {
    let row = |test: &str, placement: &str, pair_class: Option<&str>, value: f64| WorkloadResult {
        test: test.into(),
        placement: placement.into(),
        pair_class: pair_class.map(str::to_owned),
        copies: if pair_class.is_some() { 1 } else { 2 },
        value: figure(value, 0.001),
        ..WorkloadResult::default()
    };
    let mut results = Vec::new();
    for test in coho_profile::unixbench::TESTS.iter().map(|test| test.name).chain(["kernel_build"]) {
        let spread = match test {
            "whetstone_double" => 101.0,
            "kernel_build" => 108.0,
            _ => 96.0,
        };
        results.push(row(test, "compact", None, 100.0));
        results.push(row(test, "spread", None, spread));
    }
    results.push(row("pipe_context_switching", "compact", Some("module"), 170_022.0));
    results.push(row("pipe_context_switching", "spread", Some("package"), 153_764.0));
    results.push(row("pipe_context_switching", "same CPU", Some("same CPU"), 400_000.0));
    let kernel = |kernel: &str, ratio: f64| SharedKernel {
        kernel: kernel.into(),
        pair_class: "module".into(),
        ratio: figure(ratio, 0.001),
        ..SharedKernel::default()
    };
    let sharing = vec![kernel("integer", 0.99), kernel("floating-point", 0.6)];
    let mut workloads = Workloads { results, sharing, ..Workloads::default() };
    change(&mut workloads);
    Profile { workloads: Some(workloads), ..Profile::default() }
}

fn kimoto_bulldozer() -> Vec<String> {
    let spread = |test: &'static str| {
        move |value, known_to| {
            workloads(|all| {
                for row in all.results.iter_mut().filter(|row| row.placement == "spread" && row.copies == 2) {
                    if row.test == test || test.is_empty() {
                        row.value = figure(value, known_to);
                    }
                }
            })
        }
    };
    let pipe = |value, known_to| {
        workloads(|all| {
            let far = all.results.iter_mut().find(|row| row.pair_class.as_deref() == Some("package"));
            far.unwrap().value = figure(value, known_to);
        })
    };
    let sharing =
        |at: usize| move |ratio, known_to| workloads(|all| all.sharing[at].ratio = figure(ratio, known_to));
    vec![
        three("Spread over modules, UnixBench", spread(""), 95.0, 110.0),
        three("Two processes that talk", pipe, 150_000.0, 200_000.0),
        three("Spread over modules, floating", spread("whetstone_double"), 101.0, 95.0),
        three("Spread over modules, a parallel", spread("kernel_build"), 108.0, 95.0),
        three("Two CPUs of a module hardly", sharing(0), 0.99, 0.6),
        three("Two CPUs of a module slow each", sharing(1), 0.6, 1.2),
    ]
}

/// Claims that take more than a profile.
const NEVER: [&str; 2] = ["Without C6", "FreeBSD's listing"];

#[test]
fn every_claim_can_hold_fail_and_stay_open() {
    let mut tried = kawabe_furuya();
    tried.extend(shimosawa_hori_ishikawa());
    tried.extend(delegation::claims());
    tried.extend(nakamura_fbs());
    tried.extend(hamada_dimmnet());
    tried.extend(kimoto_bulldozer());
    let all = judge(&Profile::default());
    let known = |claim: &str| {
        tried.iter().any(|one| one == claim) || NEVER.iter().any(|never| claim.starts_with(never))
    };
    let missing: Vec<_> = all.iter().filter(|one| !known(one.claim)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(all.len(), tried.len() + NEVER.len());
}

/// Each paper's own figures meet its claims, where they are enough for a verdict.
#[test]
fn no_paper_contradicts_itself() {
    let mut held = BTreeMap::new();
    for name in published::NAMES {
        let publication = published::read(name).unwrap();
        for (machine, profile) in publication.machines {
            let all = judge_published(&profile);
            let wrong: Vec<_> = all.iter().filter(|one| one.verdict == Verdict::DoesNotHold).collect();
            assert!(wrong.is_empty(), "{machine}: {wrong:#?}");
            held.insert(machine, all.iter().filter(|one| one.verdict == Verdict::Holds).count());
        }
    }
    let of = |machine: &str| held[machine];
    assert_eq!((of("e5620"), of("x7560"), of("x5550"), of("pentium3")), (8, 9, 10, 16), "{held:?}");
    assert!(of("sr11000") >= 10, "{held:?}");
}

#[test]
fn few_samples_and_values_that_jump_tell_nothing() {
    let claim = "A locked increment";
    let with = |estimate: Estimate| {
        let mut profile = lines(|all| &mut all.plain, 4.0, 0.001);
        profile.coherence.as_mut().unwrap().singles[0].unlocked_ns = estimate;
        the(claim, &judge(&profile))
    };
    let good = figure(4.0, 0.001).unwrap();
    assert_eq!(with(good.clone()).verdict, Verdict::Holds);
    let few = with(Estimate { n: 5, ..good.clone() });
    assert_eq!(few.verdict, Verdict::CannotBeTold);
    assert!(few.why.contains("5 samples") && few.why.contains("takes 6"), "{}", few.why);
    assert!(with(Estimate { n: 1, ..good.clone() }).why.contains("one sample,"));
    // A fifth of its samples had a value for which the claim does not hold.
    let modes = vec![Mode { value: 4.0, share: 0.8 }, Mode { value: 9.0, share: 0.2 }];
    let jumps = with(Estimate { modes: modes.clone(), stable: Some(false), ..good.clone() });
    assert_eq!(jumps.verdict, Verdict::CannotBeTold, "{jumps:?}");
    assert_eq!(with(Estimate { modes, stable: Some(true), ..good }).verdict, Verdict::Holds);
}

/// What only resembles the paper's quantity decides nothing, except for what it bounds from one side.
#[test]
fn data_seen_by_timing_are_a_lower_bound() {
    let timed = |lines: f64| {
        let mut profile = calls(|call| {
            call.footprint_lines = figure(lines, 0.01);
            call.counts = Counts::default();
        });
        profile.calls.as_mut().unwrap().method = CallMethod::Timing;
        the("Entering and leaving", &judge(&profile))
    };
    assert_eq!(timed(12.0).verdict, Verdict::CannotBeTold, "the code is not seen");
    let larger = timed(24.0);
    assert_eq!(larger.verdict, Verdict::DoesNotHold, "the data alone are more");
    assert!(larger.here.as_deref().unwrap().starts_with("at least 1.4"), "{larger:?}");
}

/// Strict alternation instead of increments, taking three times as long.
fn turns(profile: &Profile) -> Vec<Pair> {
    let of = |pair: &Pair| Pair {
        method: PairMethod::Turn,
        ns: figure(3.0 * pair.ns.median, 0.001).unwrap(),
        ownership_changes_per_op: None,
        ..pair.clone()
    };
    profile.coherence.as_ref().unwrap().pairs.iter().map(of).collect()
}

/// Today's CPUs make many increments per ownership: their time is not that of a change of ownership.
#[test]
fn increments_that_change_hands_now_and_then_are_no_coherence_time() {
    let mut profile = lines(|all| &mut all.die, 38.88, 0.001);
    let verdict = |profile: &Profile| the("At 2 % of instructions, sharing on a die", &judge(profile));
    assert_eq!(verdict(&profile).verdict, Verdict::Holds);
    let turns = turns(&profile);
    let pairs = &mut profile.coherence.as_mut().unwrap().pairs;
    pairs.iter_mut().for_each(|pair| pair.ownership_changes_per_op = figure(0.44, 0.01));
    let open = verdict(&profile);
    assert_eq!((open.verdict, &open.here, &open.measure), (Verdict::CannotBeTold, &None, &None), "{open:?}");
    assert!(open.why.contains("changed hands 0.44 times an increment"), "{}", open.why);
    // The time of increments is given all the same.
    let increments = the("Two cores of a die take", &judge(&profile));
    assert_eq!(increments.verdict, Verdict::Holds);
    assert!(increments.why.contains("0.44 times an increment"), "{}", increments.why);
    // Alternation is another method: it is shown, and judges nothing.
    profile.coherence.as_mut().unwrap().pairs.extend(turns);
    let beside = verdict(&profile);
    assert_eq!(beside.verdict, Verdict::CannotBeTold, "{beside:?}");
    assert!(beside.here.as_deref().unwrap().ends_with("by another method"), "{beside:?}");
    assert!(beside.why.contains("strict alternation") && beside.measure.is_none(), "{}", beside.why);
}

#[test]
fn strict_alternation_alone_judges_no_claim_on_increments() {
    let mut profile = lines(|all| &mut all.die, 38.88, 0.001);
    profile.coherence.as_mut().unwrap().pairs = turns(&profile);
    let judged = judge(&profile);
    for one in judged.iter().filter(|one| one.paper.starts_with("Kawabe")) {
        // One CPU alone has nobody to alternate with.
        if one.claim.starts_with("A locked increment") {
            assert_eq!(one.verdict, Verdict::Holds);
            continue;
        }
        assert_eq!(one.verdict, Verdict::CannotBeTold, "{one:?}");
        assert!(one.here.as_deref().unwrap().ends_with("by another method"), "{one:?}");
        assert!(one.why.contains("increment freely") && one.why.contains("strict alternation"), "{one:?}");
        assert!(one.measure.is_some(), "{one:?}");
    }
}

#[test]
fn a_machine_of_one_class_of_pairs_says_so() {
    let mut profile = lines(|all| &mut all.die, 38.88, 0.001);
    profile.coherence.as_mut().unwrap().pairs.retain(|pair| pair.b == 2);
    let all = judge(&profile);
    let steps = the("Sharing costs more", &all);
    assert!(steps.why.contains("of one of these classes (two cores of a die)"), "{}", steps.why);
    assert!(the("One hop costs", &all).why.contains("one hop"), "no pair is that far");
    // Without two threads of a core the baseline is one CPU alone.
    assert_eq!(the("The coherence time on a die", &all).here.as_deref(), Some("26.9 ns (26.9–27.0)"));
}

#[test]
fn the_contracts_fields_are_those_and_no_others() {
    let value = serde_json::to_value(judge(&Profile::default())).unwrap();
    for one in value.as_array().unwrap() {
        let fields: Vec<&str> = one.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = ["paper", "claim", "source", "here", "verdict", "why"];
        expected.sort_unstable();
        let mut fields = fields;
        fields.sort_unstable();
        assert_eq!(fields, expected);
        assert_eq!(one["verdict"], "cannot be told");
    }
}
