//! Sections of what acts on a machine: idle states and choices for commands.

use coho_profile::{
    Estimate, Examination, Idle, IdleControl, IdleState, Live, PlacementRate, PlacementTime, Profile, Runs,
    Trial, Wakeup,
};

/// A server's idle states, one of them disabled on a CPU, and a pair of processes that was tried and one that was moved.
pub fn add(profile: &mut Profile) {
    let state = |name: &str, latency_us, disabled_on| IdleState {
        name: name.into(),
        latency_us,
        residency_us: 3 * latency_us,
        cpus: vec![0, 1],
        disabled_on,
        usage: 12_345,
        time_us: 67_890_000,
        ..IdleState::default()
    };
    let wakeup = |by: &str, from, slept_us, ns| Wakeup {
        by: by.into(),
        from,
        slept_us,
        ns: Some(Estimate::exact(ns)),
        ..Wakeup::default()
    };
    let control = |name: &str, status: &str| IdleControl { name: name.into(), status: status.into() };
    profile.idle = Some(Idle {
        driver: Some("intel_idle".into()),
        governor: Some("menu".into()),
        states: vec![state("POLL", 0, vec![]), state("C1", 2, vec![]), state("C6", 133, vec![1])],
        wakeups: vec![
            wakeup("timer", None, 100, 52_000.0),
            wakeup("timer", None, 10_000, 181_000.0),
            wakeup("futex", Some(0), 1000, 9100.0),
        ],
        controls: vec![
            control("idle states", "available"),
            control("governor", "not available: there is no cpufreq"),
        ],
        ..Idle::default()
    });
    let tried = |name: &str, cpus: &[u32], seconds, times| PlacementTime {
        name: name.into(),
        cpus: cpus.into(),
        seconds: Some(Estimate::exact(seconds)),
        times_best: times,
        ..PlacementTime::default()
    };
    let lived = |name: &str, rate, times| PlacementRate {
        name: name.into(),
        cpus: vec![0],
        rate: Some(Estimate::exact(rate)),
        best_times: times,
        ..PlacementRate::default()
    };
    let runs = profile.run.insert(Runs::default());
    let trial = Trial {
        command: ["pair", "20000"].map(Into::into).into(),
        placements: vec![
            tried("0", &[0], 0.09, None),
            tried("spread", &[0, 1], 0.5, Some(Estimate::exact(5.6))),
        ],
        best: Some("0".into()),
        winners: vec!["0".into()],
        decided: true,
        ..Trial::default()
    };
    runs.commands.insert("pair".into(), trial);
    let examination = Examination {
        placements: vec![
            lived("compact", 260_000.0, None),
            lived("none", 13_500.0, Some(Estimate::exact(19.3))),
        ],
        best: "compact".into(),
        decided: true,
        ..Examination::default()
    };
    let live = Live {
        command: vec!["pair".into()],
        progress: "([0-9]+) trips/s".into(),
        examinations: vec![examination],
        best: Some("compact".into()),
        ..Live::default()
    };
    runs.live.insert("pair".into(), live);
}

/// The same with this for every text.
pub fn hostile(profile: &mut Profile, text: &str) {
    add(profile);
    let text = || text.to_owned();
    let idle = profile.idle.as_mut().expect("a section");
    idle.driver = Some(text());
    idle.frequency.governors.insert(text(), vec![0]);
    idle.states[0].name = text();
    idle.wakeups[0].by = text();
    idle.wakeups[0].under = Some(text());
    idle.controls[0] = IdleControl { name: text(), status: text() };
    idle.method.not_available.insert(text(), text());
    let runs = profile.run.as_mut().expect("a section");
    let mut trial = runs.commands["pair"].clone();
    (trial.command, trial.date, trial.best) = (vec![text()], Some(text()), Some(text()));
    trial.placements[0].name = text();
    trial.placements[1].same_as = Some(text());
    runs.commands.insert(text(), trial);
    let mut live = runs.live["pair"].clone();
    (live.progress, live.date) = (text(), Some(text()));
    live.examinations[0].best = text();
    live.examinations[0].placements[0].name = text();
    runs.live.insert(text(), live);
}
