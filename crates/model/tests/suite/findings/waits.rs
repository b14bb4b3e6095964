//! Idle states, governors, and what could not be measured.

use coho_model::Urgency;
use coho_profile::{
    BarrierTime, CacheType, Call, Calls, CounterTool, Counters, Estimate, Footprint, Frequency, Idle,
    IdleControl, Memory, MemoryType, Method, Profile, Rdpmc, Sync, SyncPeer, Wakeup,
};

use super::{does_not_say, estimate, host, jumping, says};

fn woken(times: &[(u32, u64, Estimate)]) -> Profile {
    let wakeup = |(cpu, slept_us, ns): &(u32, u64, Estimate)| Wakeup {
        by: "timer".into(),
        cpu: *cpu,
        slept_us: *slept_us,
        ns: Some(ns.clone()),
        ..Wakeup::default()
    };
    let idle = Idle { wakeups: times.iter().map(wakeup).collect(), ..Idle::default() };
    Profile { idle: Some(idle), ..Profile::default() }
}

/// Sleeps of 200 us and of 5000 us, in ns, with what they are known to.
fn slept(times: &[(f64, f64, f64)]) -> Profile {
    let known =
        |ns: f64, to: f64| Estimate { low: (1.0 - to) * ns, high: (1.0 + to) * ns, ..estimate(ns, 24) };
    let rows = times.iter().enumerate().flat_map(|(cpu, &(short, long, to))| {
        let cpu = cpu as u32;
        [(cpu, 200, known(short, to)), (cpu, 5000, known(long, to))]
    });
    woken(&rows.collect::<Vec<_>>())
}

#[test]
fn waking_costs_where_a_longer_sleep_takes_longer() {
    let (quick, slow) = (|| estimate(2_000.0, 24), || estimate(62_000.0, 24));
    let mut deep = woken(&[(3, 200, quick()), (3, 5000, slow())]);
    let told = says(&deep, "waking", &["CPU 3 takes 62.0 us", "After 5000 us", "after 200 us, 2.00"]);
    assert!(told.next.is_empty(), "nothing can be set: {told:?}");
    assert!(told.condition.contains("one CPU was measured"), "{told:?}");
    let control = IdleControl { name: "latency limit".into(), status: "available".into() };
    deep.idle.as_mut().unwrap().controls = vec![control];
    assert!(says(&deep, "waking", &[]).next.contains("coho idle --dma-latency"));
    does_not_say(&woken(&[(0, 200, slow()), (0, 5000, slow())]), "waking");
    does_not_say(&woken(&[(0, 200, quick()), (0, 5000, estimate(9_000.0, 24))]), "waking");
    does_not_say(&woken(&[(0, 200, quick()), (0, 5000, estimate(62_000.0, 3))]), "waking");
    does_not_say(&woken(&[(0, 5000, slow())]), "waking");
    // Another CPU's short sleep is no measure of this one's.
    does_not_say(&woken(&[(0, 200, quick()), (3, 5000, slow())]), "waking");
    let mut limited = deep;
    for wakeup in &mut limited.idle.as_mut().unwrap().wakeups {
        wakeup.under = Some("C6 disabled".into());
    }
    does_not_say(&limited, "waking");
}

#[test]
fn a_cpu_is_named_only_beyond_all_others() {
    let slow = says(
        &slept(&[(2e3, 30e3, 0.05), (2e3, 62e3, 0.05), (2e3, 31e3, 0.05)]),
        "waking",
        &["CPU 1 takes 62.0 us", "the other CPUs take 30.0 to 31.0 us"],
    );
    assert!(slow.condition.contains("slower than all other CPUs beyond their intervals"), "{slow:?}");
    says(
        &slept(&[(2e3, 60e3, 0.05), (2e3, 3e3, 0.05), (2e3, 62e3, 0.05), (2e3, 3e3, 0.05)]),
        "waking",
        &["CPUs 0,2 take 60.0 to 62.0 us"],
    );
    // Intervals that reach into each other, or values that the next run may swap: the range over all.
    for to in [0.3, 0.001] {
        let all = says(
            &slept(&[(2e3, 50e3, to), (2e3, 62e3, to), (2e3, 55e3, to)]),
            "waking",
            &["each of the 3 CPUs measured takes 50.0 to 62.0 us", "after 200 us, 2.00 us"],
        );
        assert!(!all.text.contains("CPU 1"), "{all:?}");
    }
    // One that cannot be told from others, some of which do not show it.
    does_not_say(&slept(&[(2e3, 3e3, 0.05), (2e3, 40e3, 0.99), (2e3, 3e3, 0.05)]), "waking");
    // A CPU that jumped reaches as far as its values do.
    let mut jumped = slept(&[(2e3, 30e3, 0.05), (2e3, 62e3, 0.05)]);
    let rows = &mut jumped.idle.as_mut().unwrap().wakeups;
    rows[3].ns = Some(Estimate { low: 61e3, high: 63e3, ..jumping(62e3, 29e3) });
    let jumped = says(&jumped, "waking", &["each of the 2 CPUs measured"]);
    assert!(!jumped.text.contains("CPU 1"), "{jumped:?}");
}

/// Of CPUs that are alike, chance makes one the slowest.
#[test]
fn no_cpu_of_many_that_are_alike_is_named() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..50 {
        let mut sample = |scale: f64| {
            // Long tails, as waking has them.
            let mut all: Vec<f64> =
                (0..24).map(|_| scale * (1.0 - random.f64().max(1e-9).ln() / 4.0)).collect();
            all.sort_by(f64::total_cmp);
            let (low, high) = coho_profile::order::interval(&all);
            Estimate {
                low,
                high,
                n: 24,
                stable: Some(true),
                ..Estimate::exact(coho_profile::order::median(&all))
            }
        };
        let rows: Vec<_> =
            (0..64).flat_map(|cpu| [(cpu, 200, sample(2e3)), (cpu, 5000, sample(40e3))]).collect();
        says(&woken(&rows), "waking", &["each of the 64 CPUs measured"]);
    }
}

#[test]
fn powersave_holds_the_clock_unless_the_driver_chooses_it() {
    let of = |driver: Option<&str>, governor: &str| {
        let frequency = Frequency {
            driver: driver.map(str::to_owned),
            governors: [(governor.to_owned(), vec![0, 1])].into(),
            available_governors: vec!["performance".into()],
            ..Frequency::default()
        };
        Profile { idle: Some(Idle { frequency, ..Idle::default() }), ..Profile::default() }
    };
    let told = says(&of(Some("acpi-cpufreq"), "powersave"), "governor", &["2 CPUs run"]);
    assert!(told.urgency == Urgency::Warning && told.next.contains("--governor performance"), "{told:?}");
    does_not_say(&of(Some("acpi-cpufreq"), "schedutil"), "governor");
    does_not_say(&of(None, "powersave"), "governor");
    for own in ["intel_pstate", "amd-pstate-epp"] {
        does_not_say(&of(Some(own), "powersave"), "governor");
    }
}

fn uncounted(why: &str) -> Profile {
    let tool = CounterTool { not_available: Some(why.into()), ..CounterTool::default() };
    let counters = Counters { tools: vec![tool], ..Counters::default() };
    Profile { host: host(), counters: Some(counters), ..Profile::default() }
}

#[test]
fn missing_counters_come_with_what_would_change_it() {
    let paranoid = "instructions may not be counted: perf_event_paranoid is 3; run with CAP_PERFMON";
    let told = says(&uncounted(paranoid), "not-measured", &["perf_event_paranoid is 3)."]);
    assert!(told.next.contains("sysctl"), "{told:?}");
    let vm =
        "time: this machine has no performance counters; a virtual machine gets them from its host (vPMU)";
    assert!(says(&uncounted(vm), "not-measured", &["counters (this machine"]).next.contains("host"));
    // A run that was stopped says nothing of the machine.
    does_not_say(&uncounted("stopped before it was tried"), "not-measured");
    let mut counted = uncounted(paranoid);
    counted.counters.as_mut().unwrap().rdpmc = Rdpmc { available: true, ..Rdpmc::default() };
    does_not_say(&counted, "not-measured");
    does_not_say(&Profile { host: None, ..uncounted(paranoid) }, "not-measured");
}

#[test]
fn memory_types_that_were_looked_for_and_not_found_are_missing() {
    let of = |rows: &[(CacheType, bool)]| {
        let kind = |&(name, there): &(CacheType, bool)| MemoryType {
            name,
            available: there,
            proven: there,
            ..MemoryType::default()
        };
        let memory = Memory { types: rows.iter().map(kind).collect(), ..Memory::default() };
        Profile { host: host(), memory: Some(memory), ..Profile::default() }
    };
    let (wc, uc) = (CacheType::WriteCombining, CacheType::Uncached);
    says(
        &of(&[(wc, false), (uc, false)]),
        "not-measured",
        &["write-combining and uncached memory", "none of 2 providers"],
    );
    says(
        &of(&[(wc, true), (wc, false), (uc, false)]),
        "not-measured",
        &["measured: uncached memory", "the one provider"],
    );
    does_not_say(&of(&[(wc, true), (uc, true)]), "not-measured");
    does_not_say(&of(&[]), "not-measured");
}

#[test]
fn what_takes_its_own_command_is_named_until_it_was_run() {
    let calls = |footprint| Calls { calls: vec![Call::default()], footprint, ..Calls::default() };
    let sync = |peers| Sync {
        barriers: vec![BarrierTime { ns: Some(estimate(20.0, 40)), ..BarrierTime::default() }],
        peers,
        ..Sync::default()
    };
    let both = Profile {
        host: host(),
        calls: Some(calls(Vec::new())),
        sync: Some(sync(Vec::new())),
        ..Profile::default()
    };
    let told =
        says(&both, "not-measured", &["which calls another core should execute; what an OpenMP program"]);
    assert!(told.next.contains("--footprint") && told.next.contains("--peers"), "{told:?}");
    let peer = SyncPeer { name: "libgomp".into(), ratio: Some(estimate(9.0, 40)), ..SyncPeer::default() };
    let done = Profile {
        calls: Some(calls(vec![Footprint::default()])),
        sync: Some(sync(vec![peer])),
        ..both.clone()
    };
    does_not_say(&done, "not-measured");
    // To try again what cannot be measured would bring nothing.
    let peer =
        SyncPeer { name: "libgomp".into(), not_available: Some("no gcc".into()), ..SyncPeer::default() };
    let tried = Calls { footprint_conditions: Some(Method::default()), ..calls(Vec::new()) };
    let tried = Profile { calls: Some(tried), sync: Some(sync(vec![peer])), ..both.clone() };
    does_not_say(&tried, "not-measured");
    does_not_say(&Profile { host: None, ..both }, "not-measured");
}
