//! The coherence experiment as a whole, on the machine at hand.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use coho_platform::pin;
use coho_probe::coherence::{Options, Pairs};
use coho_probe::{Around, Course, Error, Experiment, Progress};
use coho_profile::{Coherence, Estimate, Home, LineState, Pair, PairMethod};
use coho_testing::{Capability, alone, needs};
use coho_topology::{Cache, CacheKind, CpuSet, NumaNode, Pu, Topology, Unit};

fn cpus() -> Vec<u32> {
    pin::allowed().unwrap().iter().take(4).collect()
}

/// A machine of one package with one L3.
fn topology() -> Topology {
    let cpus: coho_topology::CpuSet = cpus().into_iter().collect();
    let cache = Cache {
        level: 3,
        kind: CacheKind::Unified,
        size_bytes: 1 << 20,
        line_bytes: Some(64),
        ways: None,
        cpus: cpus.clone(),
    };
    let mut topology = Topology {
        pus: cpus.iter().map(|os| Pu { os, ..Pu::default() }).collect(),
        cores: cpus.iter().map(|os| Unit { id: None, cpus: [os].into_iter().collect() }).collect(),
        packages: vec![Unit { id: Some(0), cpus }],
        caches: vec![cache],
        ..Topology::default()
    };
    topology.finish();
    topology
}

fn quick() -> Options {
    Options { course: Course::on(cpus()), ..Options::quick() }
}

fn measure(
    options: &Options,
    topology: &Topology,
    progress: &mut dyn FnMut(Progress),
) -> Result<Coherence, Error> {
    options.measure(&mut Around::new(topology, progress))
}

/// Asserts that each pair has so many figures, or a reason why not: where others use the CPUs too, the two of a pair may
/// never run at the same time.
fn assert_figures_or_reasons(coherence: &Coherence, each: usize) {
    let cpus = cpus();
    for (at, &a) in cpus.iter().enumerate() {
        for &b in &cpus[at + 1..] {
            let figures = coherence.pairs.iter().filter(|pair| (pair.a, pair.b) == (a, b)).count();
            let why = coherence.method.not_available.get(&format!("pair {a},{b}"));
            assert_eq!(figures == each, why.is_none(), "{a} and {b}: {figures} figures, {why:?}");
        }
    }
}

/// Of so few CPUs, the sample holds all pairs: they have figures as without one.
#[test]
fn a_sample_s_pairs_are_measured_in_every_pass() {
    needs!(Capability::TwoCpus);
    let _alone = alone();
    let options = Options { pairs: Pairs::Sample, reads: false, ..quick() };
    let coherence = measure(&options, &topology(), &mut |_| ()).unwrap();
    assert_figures_or_reasons(&coherence, 6);
    assert_eq!(coherence.random_pairs(), Some(Coherence::ENOUGH_DRAWS));
    assert_eq!((coherence.sampled(), coherence.method.passes >= options.passes), (None, true));
}

#[test]
fn a_quick_survey_has_every_pair_method_and_home() {
    needs!(Capability::TwoCpus);
    let _alone = alone();
    let mut calls = 0;
    let coherence = measure(&quick(), &topology(), &mut |progress| {
        assert!(progress.done <= progress.total);
        calls += 1;
    })
    .unwrap();
    assert!(calls > 0);
    // Three methods, two homes.
    assert_figures_or_reasons(&coherence, 3 * 2);
    assert_eq!(coherence.singles.len(), cpus().len());
    for pair in &coherence.pairs {
        assert!(pair.a < pair.b && pair.ns.low <= pair.ns.median && pair.ns.median <= pair.ns.high);
        assert_eq!(pair.claimed.as_deref(), Some("L3"));
        let changes = pair.ownership_changes_per_op.as_ref().map(|changes| changes.median);
        assert_eq!(changes.is_some(), pair.method == PairMethod::FreeRunning);
        assert!(changes.is_none_or(|changes| (0.0..=1.01).contains(&changes)));
        assert!(pair.lines.is_none() || pair.method == PairMethod::Turn);
        if let Some(lines) = pair.lines {
            assert!((10..=64).contains(&lines.count), "{lines:?}");
            assert!(0.0 < lines.p10 && lines.p10 <= lines.p50 && lines.p50 <= lines.p90, "{lines:?}");
            assert!(lines.split_half.is_none_or(|r| (-1.0..=1.0).contains(&r)), "{lines:?}");
            assert!(lines.share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{lines:?}");
        }
    }
    let by_line: BTreeSet<_> =
        coherence.pairs.iter().filter(|pair| pair.lines.is_some()).map(|pair| (pair.a, pair.b)).collect();
    let told = coherence.method.parameters["pairs_by_line"].as_u64().unwrap();
    // One class of pairs; where others use the CPUs too, all rounds of a pair may have been broken off.
    assert!(by_line.len() as u64 <= told && told <= 4, "{by_line:?} of {told}");
    for (method, name) in
        [(PairMethod::Turn, "turn"), (PairMethod::Flags, "flags"), (PairMethod::FreeRunning, "free-running")]
    {
        let has_time =
            coherence.coherence_times.iter().any(|time| time.method == method && time.class == "on-die");
        let has_pairs = coherence.pairs.iter().any(|pair| pair.method == method);
        // A time, or the reason why there is none.
        let why = format!("coherence time, on-die, {name}");
        assert_eq!(has_time != coherence.method.not_available.contains_key(&why), has_pairs, "{method:?}");
        assert!(!has_time || method != PairMethod::Flags, "one CPU alone is no baseline of plain stores");
    }
    assert!(coherence.coherence_times.iter().all(|time| time.coherence_ns > 0.0));
    assert!(coherence.coherence_times.iter().all(|time| time.baseline == "locked single CPU"));
    for state in [LineState::Modified, LineState::Exclusive] {
        assert!(coherence.reads.iter().any(|read| read.state == state && read.reader == read.owner));
    }
    assert!(coherence.reads.iter().all(|read| read.ns.n >= 6));
    assert!(coherence.method.not_available.contains_key("reads of state Owned"));
}

#[test]
fn resuming_keeps_stable_figures_and_measures_the_others() {
    needs!(Capability::TwoCpus);
    let _alone = alone();
    let options = Options { reads: false, passes: 1, extra_passes: 0, ..quick() };
    let mut earlier = measure(&options, &topology(), &mut |_| ()).unwrap();
    let (a, b) = (cpus()[0], cpus()[1]);
    // No figure that a machine would have.
    const MADE_UP: f64 = 1e9;
    let pair = |method, home, stable| {
        Pair::new(a, b, method, home, Estimate { stable: Some(stable), ..Estimate::exact(MADE_UP) })
    };
    let stable = [(PairMethod::Turn, Home::A), (PairMethod::Flags, Home::B)];
    let unstable = [(PairMethod::Turn, Home::B), (PairMethod::Flags, Home::A)];
    earlier.pairs = stable.map(|(method, home)| pair(method, home, true)).to_vec();
    earlier.pairs.extend(unstable.map(|(method, home)| pair(method, home, false)));
    let coherence = measure(&Options { resume: Some(earlier), ..options }, &topology(), &mut |_| ()).unwrap();
    let kept: Vec<_> = coherence.pairs.iter().filter(|pair| pair.ns.median == MADE_UP).collect();
    assert_eq!(kept.len(), stable.len(), "{kept:?}");
    assert!(kept.iter().all(|pair| stable.contains(&(pair.method, pair.home))), "{kept:?}");
    assert_figures_or_reasons(&coherence, 3 * 2);
}

#[test]
fn a_time_limit_keeps_what_is_done() {
    needs!(Capability::TwoCpus);
    let _alone = alone();
    let within = |time| Course::on(cpus()).within(time);
    let options = Options { passes: 1 << 40, course: within(Duration::from_millis(300)), ..quick() };
    let start = Instant::now();
    let coherence = measure(&options, &topology(), &mut |_| ()).unwrap();
    assert!(coherence.method.interrupted);
    assert!(start.elapsed() < Duration::from_secs(60));
    assert!(coherence.method.not_available["reads"].starts_with("stopped before"));
    let nothing =
        measure(&Options { course: within(Duration::ZERO), ..options }, &topology(), &mut |_| ()).unwrap();
    assert!(nothing.pairs.is_empty() && nothing.keeps_to_its_values().is_none());
}

#[test]
fn what_cannot_be_is_an_error_or_a_reason() {
    let _alone = alone();
    let error = |cpus: &[u32]| {
        let options = Options { course: Course::on(cpus), ..Options::quick() };
        measure(&options, &topology(), &mut |_| ()).unwrap_err().to_string()
    };
    assert!(error(&cpus()[..1]).contains("two CPUs"));
    assert!(error(&[60_000]).contains("CPU 60000"));
    assert!(error(&[cpus()[0], 60_000]).contains("CPU 60000"));
}

#[test]
fn a_home_that_cannot_be_is_named_and_the_others_measured() {
    needs!(Capability::TwoCpus);
    let _alone = alone();
    let options = Options {
        homes: vec![Home::A, Home::Third],
        methods: vec![PairMethod::Turn],
        pairs: Pairs::Audit,
        passes: 1,
        extra_passes: 0,
        reads: false,
        ..quick()
    };
    let coherence = measure(&options, &topology(), &mut |_| ()).unwrap();
    assert!(coherence.pairs.iter().all(|pair| pair.home == Home::A));
    assert!(coherence.method.not_available.contains_key("home third"));
    // Memory that cannot be bound, as a node that is claimed and does not exist.
    let mut refused = topology();
    let node = |os, cpus| NumaNode { os, cpus, memory_bytes: Some(1 << 30), ..NumaNode::default() };
    refused.numa_nodes = vec![node(0, cpus().into_iter().collect()), node(1000, CpuSet::default())];
    let coherence = measure(&options, &refused, &mut |_| ()).unwrap();
    assert!(coherence.pairs.iter().all(|pair| pair.home == Home::A));
    assert!(coherence.method.not_available["home third"].starts_with("cannot place memory on node 1000"));
}
