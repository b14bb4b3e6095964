//! Claims against figures: made-up machines with true and false claims, and published matrices.

use coho_model::{Contradiction, Matrix, audit, coherence_from_matrix, coherence_of_machine, judge};
use coho_profile::{Coherence, Estimate, Home, Mode, Pair, PairMethod, Profile, TopologySection};
use coho_topology::{Cache, CacheKind, CpuSet, Pu, Topology, Unit};

fn units(sets: &[&[u32]]) -> Vec<Unit> {
    sets.iter().map(|set| Unit { id: None, cpus: set.iter().copied().collect() }).collect()
}

fn caches(level: u8, sets: &[&[u32]]) -> Vec<Cache> {
    let cache = |set: &&[u32]| Cache {
        level,
        kind: CacheKind::Unified,
        size_bytes: 1 << 20,
        line_bytes: None,
        ways: None,
        cpus: set.iter().copied().collect(),
    };
    sets.iter().map(cache).collect()
}

fn topology(cpus: u32) -> Topology {
    Topology {
        pus: (0..cpus).map(|os| Pu { os, ..Pu::default() }).collect(),
        packages: vec![Unit { id: None, cpus: CpuSet::up_to(cpus) }],
        ..Topology::default()
    }
}

fn pair(a: u32, b: u32, ns: Estimate) -> Pair {
    Pair::new(a, b, PairMethod::Turn, Home::A, ns)
}

/// Figures of all pairs, or of some.
fn measured(cpus: u32, of: impl Fn(u32, u32) -> bool, ns: impl Fn(u32, u32) -> f64) -> Coherence {
    let pairs = (0..cpus).flat_map(|a| (a + 1..cpus).map(move |b| (a, b)));
    let pairs = pairs.filter(|&(a, b)| of(a, b));
    // A per cent or two of spread, so that no two figures are the same.
    let spread = |a: u32, b: u32| 1.0 + f64::from((7 * a + 13 * b) % 10) / 400.0;
    Coherence {
        pairs: pairs.map(|(a, b)| pair(a, b, Estimate::exact(ns(a, b) * spread(a, b)))).collect(),
        ..Coherence::default()
    }
}

fn named(found: &[Contradiction]) -> Vec<(Vec<u32>, &str)> {
    found.iter().map(|c| (c.cpus.clone(), c.claim.as_str())).collect()
}

/// hwloc #835: an FX-6300 whose firmware pairs the cores of modules wrongly.
#[test]
fn wrong_pairs_are_named_both_ways() {
    let mut claimed = topology(6);
    claimed.caches = caches(2, &[&[0, 3], &[1, 2], &[4, 5]]);
    let figures = measured(6, |_, _| true, |a, b| if a / 2 == b / 2 { 43.0 } else { 230.0 });
    let found = audit(&claimed, &figures);
    assert_eq!(
        named(&found),
        [
            (vec![0, 3], "CPUs 0 and 3 share an L2"),
            (vec![1, 2], "CPUs 1 and 2 share an L2"),
            (vec![0, 1], "CPUs 0 and 1 do not share an L2"),
            (vec![2, 3], "CPUs 2 and 3 do not share an L2"),
        ]
    );
    assert!(found[0].figures.contains("0 and 3 take 23"), "{}", found[0].figures);
    let mut right = topology(6);
    right.caches = caches(2, &[&[0, 1], &[2, 3], &[4, 5]]);
    assert_eq!(audit(&right, &figures), []);
}

/// Two measurements a CPU: one claimed-near partner and one claimed-far one.
#[test]
fn two_measurements_a_cpu_are_enough() {
    let groups: [&[u32]; 4] = [&[0, 1, 2, 3], &[4, 5, 6, 7], &[8, 9, 10, 11], &[12, 13, 14, 15]];
    let mut claimed = topology(16);
    claimed.caches = caches(3, &groups);
    let asked = |a: u32, b: u32| (a / 4 == b / 4 && b == a + 1) || b == a + 8 || b + 8 == a;
    let right = measured(16, asked, |a, b| if a / 4 == b / 4 { 22.0 } else { 95.0 });
    assert_eq!(audit(&claimed, &right), []);
    // CPU 5 is elsewhere.
    let moved = measured(16, asked, |a, b| if a / 4 == b / 4 && a != 5 && b != 5 { 22.0 } else { 95.0 });
    let found = audit(&claimed, &moved);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].cpus.contains(&5) && found[0].claim == "CPUs 4-7 share an L3", "{found:?}");
}

#[test]
fn one_cpu_of_a_group_that_is_elsewhere_is_named_alone() {
    let mut claimed = topology(8);
    claimed.caches = caches(3, &[&[0, 1, 2, 3], &[4, 5, 6, 7]]);
    let figures = measured(
        8,
        |_, _| true,
        |a, b| {
            let group = |cpu: u32| if cpu == 3 { 1 } else { cpu / 4 };
            if group(a) == group(b) { 22.0 } else { 95.0 }
        },
    );
    let found = audit(&claimed, &figures);
    assert_eq!(found[0].cpus, [3], "{found:?}");
    assert!(found[0].figures.contains("the figures group 0-2 | 3"), "{}", found[0].figures);
    assert!(found[1].claim.ends_with("do not share an L3"), "{found:?}");
}

#[test]
fn threads_of_one_core_that_are_not_are_told() {
    let mut claimed = topology(8);
    claimed.cores = units(&[&[0, 1], &[2, 3], &[4, 5], &[6, 7]]);
    let found = audit(&claimed, &measured(8, |_, _| true, |_, _| 40.0));
    assert_eq!(named(&found), [((0..8).collect(), "pairs of CPUs 0-7 share a core each")]);
    let true_claim = measured(8, |_, _| true, |a, b| if a / 2 == b / 2 { 8.0 } else { 40.0 });
    assert_eq!(audit(&claimed, &true_claim), []);
}

/// One pair is judged only by itself: two distances within one run.
#[test]
fn two_cpus_that_were_moved_contradict_any_fixed_topology() {
    let mut claimed = topology(2);
    claimed.caches = caches(3, &[&[0, 1]]);
    let far = Coherence { pairs: vec![pair(0, 1, Estimate::exact(100.0))], ..Coherence::default() };
    assert_eq!(audit(&claimed, &far), [], "100 ns may be what an L3 takes here");
    let modes = vec![Mode { value: 25.0, share: 0.6 }, Mode { value: 100.0, share: 0.4 }];
    let jumping = Estimate { modes, stable: Some(false), high: 100.0, n: 50, ..Estimate::exact(25.0) };
    let moved = Coherence { pairs: vec![pair(0, 1, jumping)], ..Coherence::default() };
    let found = audit(&claimed, &moved);
    assert_eq!(named(&found), [(vec![0, 1], "CPUs 0 and 1 share an L3")]);
    assert!(found[0].figures.contains("between 25.0 ns (60 %) and 100.0 ns (40 %)"), "{}", found[0].figures);
}

#[test]
fn nothing_measured_contradicts_nothing() {
    assert_eq!(audit(&topology(4), &Coherence::default()), []);
    assert_eq!(audit(&Topology::default(), &measured(4, |_, _| true, |_, _| 40.0)), []);
}

fn published(matrix: &str) -> Matrix {
    let text = std::fs::read_to_string(coho_testing::data(&format!("matrices/{matrix}"))).unwrap();
    Matrix::parse(&text).unwrap()
}

/// A dump of one Bulldozer against the matrix of another: both have four modules of two neighbours.
#[test]
fn bulldozers_modules_are_where_cpuid_says() {
    let dump = coho_testing::data("cpuid/AMD-FX-8150.cpuid");
    let matrix = published("kcores_AMD_FX-8300_8-Core_Processor_by-kassane.csv");
    let claimed = coho_topology::load(&dump).unwrap().topology;
    assert_eq!(audit(&claimed, &coherence_from_matrix(&matrix)), []);
    // The same matrix with CPUs 1 and 2 exchanged.
    let exchange = |cpu: usize| [0, 2, 1, 3, 4, 5, 6, 7][cpu];
    let n = matrix.len();
    let cell = |at: usize| matrix.directed(exchange(at / n), exchange(at % n)).unwrap_or(f64::NAN);
    let exchanged = Matrix::new((0..8).collect(), (0..n * n).map(cell).collect()).unwrap();
    let found = audit(&claimed, &coherence_from_matrix(&exchanged));
    let cpus: Vec<&[u32]> = found.iter().map(|c| c.cpus.as_slice()).collect();
    assert_eq!(cpus, [&[0, 1][..], &[2, 3], &[0, 2], &[1, 3]], "{found:?}");
}

#[test]
fn a_matrix_alone_is_neither_stable_nor_audited() {
    let matrix = published("kcores_AMD_FX-8300_8-Core_Processor_by-kassane.csv");
    let alone = coherence_from_matrix(&matrix);
    assert!(alone.pairs.iter().all(|pair| pair.ns.stable.is_none()));
    let found = judge::coherence(&Profile { coherence: Some(alone), ..Profile::default() });
    assert_eq!((found.stable, &found.contradictions), (None, &None));
    assert!(found.classes.iter().all(|class| class.ns.stable.is_none()));
    let claimed = coho_topology::load(&coho_testing::data("cpuid/AMD-FX-8150.cpuid")).unwrap().topology;
    let held = coherence_of_machine(&matrix, &claimed).unwrap();
    let section = Some(TopologySection::from(claimed));
    let found = judge::coherence(&Profile { coherence: Some(held), topology: section, ..Profile::default() });
    assert_eq!((found.stable, found.contradictions), (None, Some(Vec::new())));
    let error = coherence_of_machine(&matrix, &topology(7)).unwrap_err().to_string();
    assert!(error.contains("CPU 7") && error.contains("0-6"), "{error}");
}

/// More CPUs than pairs are listed for: two of them have changed places.
#[test]
fn times_in_columns_are_audited_as_listed_ones() {
    let n = 576;
    let place = |cpu: usize| match cpu {
        3 => 500,
        500 => 3,
        cpu => cpu,
    };
    let near = |a: usize, b: usize| if place(a) / 64 == place(b) / 64 { 30.0 } else { 120.0 };
    let spread = |a: usize, b: usize| 1.0 + ((7 * a + 13 * b) % 10) as f64 / 400.0;
    let ns = (0..n * n).map(|at| near(at / n, at % n) * spread(at / n, at % n)).collect();
    let matrix = Matrix::new((0..n as u32).collect(), ns).unwrap();
    let groups: Vec<Vec<u32>> = (0..9).map(|l3| (64 * l3..64 * (l3 + 1)).collect()).collect();
    let mut claimed = topology(n as u32);
    claimed.caches = caches(3, &groups.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let coherence = coherence_of_machine(&matrix, &claimed).unwrap();
    assert!(coherence.pairs.is_empty() && coherence.matrix.is_some());
    assert_eq!(Matrix::of(&coherence).unwrap().between(3, 500), matrix.between(3, 500));
    let found = audit(&claimed, &coherence);
    let named: Vec<&[u32]> = found.iter().map(|c| c.cpus.as_slice()).collect();
    assert!(named.contains(&&[3][..]) && named.contains(&&[500][..]), "{found:?}");
}

/// Home bias must not look like wrong claims: two sockets of 48 cores, lines at home in the first.
#[test]
fn a_home_contradicts_no_claim() {
    let matrix = published("nviennot_AMD_EPYC_7R13_48-Core_Processor.csv");
    let set = |of: &dyn Fn(u32) -> bool| (0..192).filter(|&cpu| of(cpu)).collect::<CpuSet>();
    let mut claimed = topology(192);
    let unit = |cpus: CpuSet| Unit { id: None, cpus };
    claimed.packages = (0..2).map(|p| unit(set(&|cpu| cpu % 96 / 48 == p))).collect();
    claimed.cores = (0..96).map(|core| unit(set(&|cpu| cpu % 96 == core))).collect();
    claimed.caches = (0..12)
        .map(|l3| Cache {
            level: 3,
            kind: CacheKind::Unified,
            size_bytes: 32 << 20,
            line_bytes: None,
            ways: None,
            cpus: set(&|cpu| cpu % 96 / 8 == l3),
        })
        .collect();
    assert_eq!(audit(&claimed, &coherence_from_matrix(&matrix)), []);
}
