//! Every claim that a profile can decide, by the figure that decides it.

use serde_json::Value;

use super::*;

/// A claim's first words; the figures in the profile, each step a field, rows by their fields, or `*` for all rows;
/// a value of them by which it holds, and one by which it does not.
#[rustfmt::skip]
const CASES: &[(&str, &str, f64, f64)] = &[
    ("A locked increment", "coherence/singles/*/unlocked_ns", 4.0, 9.0),
    ("Two threads of a core share", "coherence/pairs/b=1/ns", 12.5, 20.0),
    ("Two cores of a die take", "coherence/pairs/b=2/ns", 40.0, 20.0),
    ("Sharing costs more with each", "coherence/pairs/b=4/ns", 200.0, 320.0),
    ("The coherence time on a die", "coherence/pairs/b=2/ns", 35.0, 60.0),
    ("One hop costs", "coherence/pairs/b=4/ns", 200.0, 60.0),
    ("Two hops cost", "coherence/pairs/b=8/ns", 305.0, 200.0),
    ("At 2 % of instructions, sharing on a die", "coherence/pairs/b=2/ns", 38.0, 80.0),
    ("At 2 % of instructions, sharing over a hop", "coherence/pairs/b=4/ns", 218.0, 30.0),
    ("The coherence time is that", "coherence/reads/*/ns", 26.0, 50.0),
    ("Entering and leaving", "calls/calls/name=getpid,state=cold/L2M", 12.0, 30.0),
    ("open and write", "calls/calls/name=open,state=cold/L2M", 336.0, 900.0),
    ("The second time, getpid", "calls/calls/name=getpid,state=second/L2M", 0.1, 0.9),
    ("In each cold system call", "calls/calls/name=stat,state=cold/L1IM", 183.0, 20.0),
    ("The second time, each system call", "calls/calls/name=close,state=second/CYCLE", 900.0, 2000.0),
    ("sprintf brings", "calls/calls/name=sprintf,state=cold/L2M", 355.0, 1500.0),
    ("fprintf brings", "calls/calls/name=fprintf,state=cold/L2M", 739.0, 3000.0),
    ("The second time, fprintf", "calls/calls/name=fprintf,state=second/CYCLE", 1200.0, 3500.0),
    ("The second time, MPI's", "calls/calls/name=MPI_Send over TCP,state=second/CYCLE", 3000.0, 7000.0),
    ("Counters read in user mode", "counters/tools/name=user-level start and stop/ns", 100.0, 900.0),
    ("getpid and gettimeofday cost", "calls/footprint/call=getpid/gain_ns", -150.0, 90.0),
    ("stat, open and write cost", "calls/footprint/call=open/gain_ns", 400.0, -300.0),
    ("A core executes", "calls/affinity/call=open/over_warm", 1.4, 0.8),
    ("A request to another core", "calls/channel/*/batches/requests=32/ns", 39.0, 182.0),
    ("Writing 64 KiB gains", "calls/footprint/call=write,payload_bytes=65536/gain_ns", 100.0, 900.0),
    ("Fork and join by a lock", "sync/fork_join/algorithm=lock/total_ns", 9000.0, 3000.0),
    ("On 16 CPUs, fork and join", "sync/fork_join/algorithm=lock/total_ns", 27_000.0, 9000.0),
    ("FBS with all flags", "sync/fork_join/algorithm=fbs-one-line/total_ns", 9000.0, 3000.0),
    ("On 16 CPUs, FBS on one line", "sync/fork_join/algorithm=fbs-one-line/total_ns", 13_440.0, 9000.0),
    ("One line loses", "sync/fork_join/algorithm=fbs-one-line/join_ns", 10_400.0, 2500.0),
    ("On 8 CPUs, FBS", "sync/fork_join/threads=8,mapping=sequential/total_ns", 2400.0, 6000.0),
    ("Half the CPUs fork and join", "sync/fork_join/threads=8,mapping=binary-tree/total_ns", 3800.0, 2000.0),
    ("The fast barrier beats", "sync/peers/*/ratio", 3.0, 0.5),
    ("Short loops run", "sync/kernels/daxpy/points/barrier=lock,length=100/seconds", 2e-5, 2e-6),
    ("Short loops gain", "sync/kernels/daxpy/points/barrier=lock,length=100/seconds", 2e-5, 5e-6),
    ("Once the data exceed", "sync/kernels/daxpy/points/barrier=lock,length=10000000/seconds", 0.1, 0.2),
    ("An untuned program", "sync/kernels/galerkin/points/barrier=lock/seconds", 1.0, 0.3),
    ("A tuned weather model", "sync/kernels/weather/points/barrier=lock/seconds", 1.0, 0.5),
    ("Tuned, less than a tenth", "sync/kernels/weather/points/barrier=fbs,threads=16/sync_seconds", 0.03, 0.3),
    ("Half the CPUs compute", "sync/kernels/weather/points/threads=8,mapping=sequential/seconds", 1.21, 0.5),
    ("Half the CPUs wait", "sync/kernels/weather/points/threads=8,mapping=sequential/sync_seconds", 0.1, 0.3),
    ("On the whole", "sync/kernels/weather/points/threads=8,mapping=sequential/seconds", 1.21, 0.6),
    ("SIMD stores to cached", "memory/rates/op=write,instruction=plain-4,type=WB/bytes_per_s", 340e6, 700e6),
    ("Stores to WC memory are as fast", "memory/rates/op=write,instruction=avx2-nt,type=WB/bytes_per_s", 1050e6, 2e9),
    ("Stores to WC memory are at least", "memory/rates/op=write,instruction=avx2,type=UC/bytes_per_s", 170e6, 500e6),
    ("While the caches hold", "memory/rates/op=write,instruction=avx2,type=WC/bytes_per_s", 1050e6, 2e9),
    ("Beyond the caches, stores", "memory/rates/instruction=avx2,type=WB,bytes=67108864/bytes_per_s", 171e6, 2e9),
    ("Beyond the caches, non-temporal", "memory/rates/instruction=avx2-nt,bytes=67108864/bytes_per_s", 1043e6, 90e6),
    ("Plain reads of WC", "memory/rates/op=read,instruction=plain-4,type=WC/bytes_per_s", 45e6, 90e6),
    ("SIMD reads of WC", "memory/rates/op=read,instruction=avx2,type=WC/bytes_per_s", 148e6, 200e6),
    ("Reads of WC memory are faster", "memory/rates/op=read,instruction=avx2,type=UC/bytes_per_s", 74e6, 300e6),
    ("Reads of WC memory cause no", "memory/rates/op=read,type=WC,bytes=65536/bursts", 1.0, 90.0),
    ("Stores to WC memory leave", "memory/rates/op=write,type=WC,bytes=65536/partials", 1.0, 90.0),
    ("Copies out of WC", "memory/rates/op=copy,instruction=avx2,type=WC/bytes_per_s", 74e6, 200e6),
    ("Copies that read through", "memory/rates/op=copy,instruction=avx2-prefetchnta/bytes_per_s", 529e6, 100e6),
    ("Data read through PREFETCHNTA", "memory/prefetchnta/first=prefetchnta,lines=1024/gone", 1020.0, 200.0),
    ("Data read plainly", "memory/prefetchnta/first=read,lines=1024/gone", 10.0, 400.0),
    ("WBINVD takes longer", "memory/coherence_cost/operation=WBINVD,lines=8192/ns", 720_000.0, 30_000.0),
    ("Flushing a small block", "memory/coherence_cost/operation=CLFLUSH/ns", 900.0, 110_000.0),
    ("DMA out of modified", "memory/dma/source=dirty/bytes_per_s", 80e6, 40e6),
    ("Spread over modules, UnixBench", "workloads/results/placement=spread,copies=2/value", 95.0, 110.0),
    ("Two processes that talk", "workloads/results/pair_class=package/value", 150_000.0, 200_000.0),
    ("Spread over modules, floating", "workloads/results/placement=spread,test=whetstone_double/value", 101.0, 95.0),
    ("Spread over modules, a parallel", "workloads/results/placement=spread,test=kernel_build/value", 108.0, 95.0),
    ("Without C6", "workloads/without_idle/gains/*/speed", 1.29, 0.9),
    ("Two CPUs of a module hardly", "workloads/sharing/kernel=integer/ratio", 0.99, 0.6),
    ("Two CPUs of a module slow each", "workloads/sharing/kernel=floating-point/ratio", 0.6, 1.2),
];

/// Sets the figures at a path; returns how many.
fn set(fields: &mut Value, path: &str, value: &Value) -> usize {
    let Some((step, rest)) = path.split_once('/') else {
        fields[path] = value.clone();
        return 1;
    };
    let is_one = |row: &Value| {
        step == "*"
            || step.split(',').all(|condition| {
                let (field, wanted) = condition.split_once('=').unwrap();
                row.get(field).is_some_and(|is| is.as_str().map_or(is.to_string(), str::to_owned) == wanted)
            })
    };
    match fields {
        Value::Array(rows) => {
            rows.iter_mut().filter(|row| is_one(row)).map(|row| set(row, rest, value)).sum()
        }
        fields => set(&mut fields[step], rest, value),
    }
}

#[test]
fn every_claim_can_hold_fail_and_stay_open() {
    for &(claim, path, holds, fails) in CASES {
        let verdict = |figure: Estimate| {
            let mut fields = MEASURED.clone();
            assert!(set(&mut fields, path, &serde_json::to_value(figure).unwrap()) > 0, "{path}");
            the(claim, &judge(&serde_json::from_value(fields).unwrap()))
        };
        let held = verdict(known(holds, 0.001));
        assert_eq!(held.verdict, Verdict::Holds, "{held:?}");
        assert!(held.here.is_some() && held.measure.is_none(), "{held:?}");
        let failed = verdict(known(fails, 0.001));
        assert_eq!(failed.verdict, Verdict::DoesNotHold, "{failed:?}");
        assert!(failed.why.contains("over its whole interval"), "{failed:?}");
        let open = verdict(between(holds.min(fails), f64::midpoint(holds, fails), holds.max(fails)));
        assert_eq!(open.verdict, Verdict::CannotBeTold, "{open:?}");
        assert!(open.why.contains("on both sides of") && open.here.is_some(), "{open:?}");
        assert!(open.measure.is_none(), "it was measured: {open:?}");
        let absent = the(claim, &judge(&Profile::default()));
        assert_eq!((absent.verdict, &absent.here), (Verdict::CannotBeTold, &None), "{absent:?}");
        assert!(absent.why.contains("no section") && absent.why.contains("`coho "), "{absent:?}");
    }
    let tried = || CASES.iter().map(|case| case.0).chain(BY_RULE);
    for one in judge(&Profile::default()) {
        assert_eq!(tried().filter(|claim| one.claim.starts_with(claim)).count(), 1, "{}", one.claim);
    }
}
