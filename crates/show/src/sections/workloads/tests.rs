use coho_profile::{ClockPoint, Estimate, IdleGain, Profile, SharedKernel, WithoutIdle};

use super::*;
use crate::testing;

fn told(workloads: Workloads, depth: Depth) -> String {
    let subject = Subject::new("mine", Profile { workloads: Some(workloads), ..Profile::default() });
    testing::text(&section(&subject).unwrap(), depth)
}

fn row(test: &str, placement: &str, copies: u32, value: f64) -> WorkloadResult {
    let value = Estimate { low: 0.98 * value, high: 1.02 * value, n: 9, ..Estimate::exact(value) };
    WorkloadResult {
        test: test.into(),
        placement: placement.into(),
        copies,
        unit: "lps".into(),
        value: Some(value),
        ..WorkloadResult::default()
    }
}

#[test]
fn the_articles_tables_can_be_compared() {
    let subject = Subject::load("published:kimoto-bulldozer/c6-off-stock").unwrap().remove(0);
    let figures = testing::figures(&section(&subject).unwrap());
    assert_eq!(figures.len(), 14);
    let value = |id: &str| figures.iter().find(|figure| figure.0 == id).map(|figure| figure.1);
    assert_eq!(value("workloads.pipe_context_switching.none.1.lps"), Some(192_096.2));
    assert_eq!(value("workloads.score.none.1.12-tests.index"), Some(733.5));
    assert_eq!(value("workloads.kernel_build.none.1.s"), Some(737.0));
}

#[test]
fn placements_stand_side_by_side_and_the_widest_gap_leads() {
    let results = vec![
        row("pipe_context_switching", "compact", 1, 250_000.0),
        row("pipe_context_switching", "spread", 1, 50_000.0),
        row("dhrystone2", "compact", 1, 4e7),
        row("dhrystone2", "spread", 1, 4e7),
        row("dhrystone2", "spread", 8, 3e8),
    ];
    let workloads = Workloads { results, ..Workloads::default() };
    assert_eq!(
        headline(&workloads),
        "context1 is 5.00 (4.80–5.20) times as quick under compact as under spread"
    );
    let summary = told(workloads.clone(), Depth::Summary);
    let line = summary.lines().find(|line| line.contains("context1")).unwrap();
    assert!(line.contains("10^3 lps") && line.contains("250") && line.contains("50.0"), "{summary}");
    assert!(summary.contains("1 more row") && !summary.contains("300"), "{summary}");
    assert!(told(workloads.clone(), Depth::Detail).contains("300"));
    let same = vec![row("dhrystone2", "compact", 1, 4e7), row("dhrystone2", "spread", 1, 4e7)];
    assert!(headline(&Workloads { results: same, ..Workloads::default() }).starts_with("no placement"));
    assert_eq!(headline(&Workloads::default()), "");
    let build = |placement, s| WorkloadResult { unit: "s".into(), ..row("kernel_build", placement, 1, s) };
    let results = vec![build("compact", 100.0), build("spread", 50.0)];
    let of_seconds = headline(&Workloads { results, ..Workloads::default() });
    assert_eq!(of_seconds, "build is 2.00 (1.92–2.08) times as quick under spread as under compact");
}

#[test]
fn what_others_took_is_told_of_every_row() {
    let row = |test: &str, steal, waiting| WorkloadResult {
        steal_s: Some(steal),
        psi_cpu_some: Some(waiting),
        ..row(test, "compact", 2, 1.0)
    };
    let results = vec![row("pipe_throughput", 0.5, 0.04), row("process_creation", 0.01, 0.03)];
    let text = told(Workloads { results, ..Workloads::default() }, Depth::Summary);
    assert!(text.contains("disturbed: pipe, compact, 2 copies: the host took 0.50 s\n"), "{text}");
    assert!(text.contains("at most 0.01 s in any other row"), "{text}");
    assert!(text.contains("waited for a CPU: some task did for at most 4 %"), "{text}");
    assert!(!text.contains("disturbed: spawn") && !text.contains("other work"), "{text}");
    let said = |busy: f64| {
        let mut workloads =
            Workloads { results: vec![row("pipe_throughput", 0.0, 0.9)], ..Workloads::default() };
        workloads.method.parameters.insert("busy_before".into(), busy.into());
        told(workloads, Depth::Summary)
    };
    assert!(said(0.95).contains("other work took: 95 % of the CPUs") && !said(0.02).contains("other work"));
}

#[test]
fn sharing_agreement_and_clock_are_shown() {
    let peer = |test: &str| WorkloadPeer { test: test.into(), ..WorkloadPeer::default() };
    let workloads = Workloads {
        sharing: vec![SharedKernel {
            kernel: "floating-point".into(),
            pair_class: "module".into(),
            pairs: vec![[0, 1]; 9],
            ratio: Some(Estimate::exact(0.51)),
            ..SharedKernel::default()
        }],
        peers: vec![
            WorkloadPeer { ratio: Some(1.013), tolerance: Some(0.03), agrees: Some(true), ..peer("execl") },
            WorkloadPeer { not_available: Some("there is no looper".into()), ..peer("shell_1") },
        ],
        clock: vec![
            ClockPoint { at_s: 1.0, cpu: 3, ghz: 3.2 },
            ClockPoint { at_s: 2.0, cpu: 4, ghz: f64::NAN },
        ],
        ..Workloads::default()
    };
    let text = told(workloads, Depth::Detail);
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in ["floating-point", "0.51", "0–1", ", …", "1.013", "3.0 %", "there is no looper", "by 1 look"]
    {
        assert!(flowing.contains(told), "{told}: {text}");
    }
}

#[test]
fn a_gain_without_a_state_stands_with_clock_and_temperature_of_both() {
    let at = |ghz: f64, celsius: f64| WorkloadResult {
        clock_ghz: Some(Estimate::exact(ghz)),
        celsius: Some(Estimate::exact(celsius)),
        ..row("dhrystone2", "none", 1, 1000.0)
    };
    let speed = Estimate { low: 1.25, high: 1.35, n: 9, ..Estimate::exact(1.29) };
    let gain = IdleGain {
        test: "dhrystone2".into(),
        placement: "none".into(),
        copies: 1,
        speed: Some(speed),
        ..IdleGain::default()
    };
    let without = WithoutIdle {
        states: vec!["C6".into()],
        status: "set and verified: it was".into(),
        results: vec![at(4.4, 71.0)],
        gains: vec![gain],
        ..WithoutIdle::default()
    };
    let workloads =
        Workloads { results: vec![at(3.6, 58.0)], without_idle: Some(without), ..Workloads::default() };
    let text = told(workloads.clone(), Depth::Summary);
    let line = text.lines().find(|line| line.contains("1.29")).unwrap();
    for figure in ["1.25", "1.35", "3.60", "4.40", "58.0", "71.0"] {
        assert!(line.contains(figure), "{figure} in {line}");
    }
    assert!(text.contains("With C6 allowed and forbidden") && text.contains("set and verified"), "{text}");
    let mut cold = workloads;
    cold.results[0].celsius = None;
    cold.without_idle.as_mut().unwrap().results[0].celsius = None;
    assert!(!told(cold, Depth::Summary).contains("°C"));
}
