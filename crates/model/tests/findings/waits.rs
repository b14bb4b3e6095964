//! Idle states, governors, and what could not be measured.

use coho_model::Urgency;
use coho_profile::{
    BarrierTime, CacheType, Call, Calls, CounterTool, Counters, Estimate, Footprint, Frequency, Idle,
    IdleControl, Memory, MemoryType, Profile, Rdpmc, Sync, SyncPeer, Wakeup,
};

use super::{does_not_say, estimate, host, says};

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

#[test]
fn waking_costs_where_a_longer_sleep_takes_longer() {
    let (quick, slow) = (|| estimate(2_000.0, 24), || estimate(62_000.0, 24));
    let mut deep =
        woken(&[(0, 200, quick()), (0, 5000, estimate(50_000.0, 24)), (3, 200, quick()), (3, 5000, slow())]);
    let told = says(&deep, "waking", &["CPU 3 takes 62.0 us", "After 5000 us", "after 200 us, 2.00"]);
    assert!(told.next.is_empty(), "nothing can be set: {told:?}");
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
    let told = says(&uncounted(paranoid), "no-counters", &["perf_event_paranoid is 3."]);
    assert!(told.next.contains("sysctl"), "{told:?}");
    let vm =
        "time: this machine has no performance counters; a virtual machine gets them from its host (vPMU)";
    assert!(says(&uncounted(vm), "no-counters", &["read: this machine"]).next.contains("host"));
    // A run that was stopped says nothing of the machine.
    does_not_say(&uncounted("stopped before it was tried"), "no-counters");
    let mut counted = uncounted(paranoid);
    counted.counters.as_mut().unwrap().rdpmc = Rdpmc { available: true, ..Rdpmc::default() };
    does_not_say(&counted, "no-counters");
    does_not_say(&Profile { host: None, ..uncounted(paranoid) }, "no-counters");
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
        "no-memory-types",
        &["No write-combining or uncached memory", "2 providers"],
    );
    says(
        &of(&[(wc, true), (wc, false), (uc, false)]),
        "no-memory-types",
        &["No uncached memory", "1 provider"],
    );
    does_not_say(&of(&[(wc, true), (uc, true)]), "no-memory-types");
    does_not_say(&of(&[]), "no-memory-types");
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
        says(&both, "not-tried", &["which calls another core should execute and what an OpenMP program"]);
    assert!(told.next.contains("--footprint") && told.next.contains("--peers"), "{told:?}");
    let peer = SyncPeer { name: "libgomp".into(), ratio: Some(estimate(9.0, 40)), ..SyncPeer::default() };
    let done = Profile {
        calls: Some(calls(vec![Footprint::default()])),
        sync: Some(sync(vec![peer])),
        ..both.clone()
    };
    does_not_say(&done, "not-tried");
    does_not_say(&Profile { host: None, ..both }, "not-tried");
}
