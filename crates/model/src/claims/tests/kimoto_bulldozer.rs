//! Kimoto: programs on two modules of two cores.

use super::*;

/// Two modules of two cores.
pub(super) fn workloads(change: impl Fn(&mut Workloads)) -> Profile {
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

pub(super) fn kimoto_bulldozer() -> Vec<String> {
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
