//! Groups found from a sample of the pairs, against those from all: a pair's recorded time stands for its measurement.

use coho_model::{Classification, Matrix, audit, classify, judge};
use coho_probe::coherence::sample::sample;
use coho_profile::{Coherence, Estimate, Home, Pair, PairMethod, Profile};
use coho_topology::{CpuSet, Level, Pu, Topology, Unit};
use fastrand::Rng;

use crate::families::{Case, FAMILIES, sizes};

/// A sample's matrix, and how many of the pairs it took.
struct Sampled {
    matrix: Matrix,
    asked: usize,
}

fn sampled(matrix: &Matrix, claimed: &[Vec<Vec<usize>>], seed: u64) -> Sampled {
    let n = matrix.len();
    let found = sample(n, claimed, &mut Rng::with_seed(seed), &mut |pairs| {
        Some(pairs.iter().map(|&(a, b)| matrix.between(a, b)).collect())
    });
    let mut ns = vec![f64::NAN; n * n];
    for (&(a, b), time) in &found.times {
        ns[a * n + b] = time.unwrap_or(f64::NAN);
    }
    Sampled { matrix: Matrix::new(matrix.cpus().to_vec(), ns).unwrap(), asked: found.times.len() }
}

fn published(name: &str) -> Matrix {
    Matrix::parse(&std::fs::read_to_string(coho_testing::data(&format!("matrices/{name}"))).unwrap()).unwrap()
}

fn groups(found: &Classification) -> Vec<&Vec<Vec<u32>>> {
    found.levels.iter().map(|level| &level.groups).collect()
}

#[test]
fn published_matrices_show_the_same_groups() {
    let (mut same, mut all) = (0, 0);
    for file in std::fs::read_dir(coho_testing::data("matrices")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let matrix = if name.ends_with(".csv") { published(&name) } else { continue };
        // Of fewer CPUs, the sample would have nearly all pairs.
        if matrix.len() < 40 {
            continue;
        }
        for seed in 0..5 {
            let few = sampled(&matrix, &[], seed);
            let (expected, found) = (classify(&matrix), classify(&few.matrix));
            let is_same = groups(&found) == groups(&expected) && found.verdict == expected.verdict;
            println!("{name}: {} of {} pairs, {is_same}", few.asked, matrix.pairs().count());
            assert!(
                matrix.len() < 192 || 100 * few.asked <= 8 * matrix.pairs().count(),
                "{name}: {}",
                few.asked
            );
            same += usize::from(is_same);
            all += 1;
        }
    }
    assert!(all >= 35 && 100 * same >= 95 * all, "{same} of {all}");
}

/// Machines whose groups all pairs show.
#[test]
fn machines_like_public_ones_show_the_same_groups() {
    let most = if coho_testing::soak_seconds().is_some() { 500 } else { 24 };
    let mut rng = Rng::with_seed(7);
    let (mut cases, mut right) = (0, 0);
    for number in 0.. {
        let case = Case::new(&mut rng, number % FAMILIES.len());
        if case.matrix.len() <= 64 || case.judge(&classify(&case.matrix)) != (0, 0) {
            continue;
        }
        let few = sampled(&case.matrix, &[], number as u64);
        let found = classify(&few.matrix);
        let judged = case.judge(&found);
        if judged != (0, 0) {
            let found: Vec<String> = found.levels.iter().map(|level| sizes(&level.groups)).collect();
            println!("{number} {}: {judged:?}, {found:?}", case.machine.family);
        }
        cases += 1;
        right += usize::from(judged == (0, 0));
        if cases == most {
            break;
        }
    }
    assert!(100 * right >= 95 * cases, "{right} of {cases}");
}

/// Sockets of core complexes of cores of two threads, whose CPUs have these numbers.
fn made_up(n: usize, number: impl Fn(usize) -> usize, noise: f64) -> Matrix {
    let mut rng = Rng::with_seed(3);
    let mut ns = vec![f64::NAN; n * n];
    for a in 0..n {
        for b in 0..a {
            let time = match (a / 2 == b / 2, a / 16 == b / 16, 2 * a / n == 2 * b / n) {
                (true, ..) => 8.0,
                (_, true, _) => 25.0,
                (.., true) => 110.0,
                _ => 200.0,
            };
            let (a, b) = (number(a), number(b));
            ns[a.max(b) * n + a.min(b)] = time * (1.0 + noise * rng.f64());
        }
    }
    Matrix::new((0..n as u32).collect(), ns).unwrap()
}

#[test]
fn many_cpus_need_a_few_pairs_each() {
    for n in [576, 2048] {
        // The threads of a core are numbered side by side, or all first threads before all second ones.
        for number in [|cpu: usize, _: usize| cpu, |cpu: usize, n: usize| cpu / 2 + cpu % 2 * n / 2] {
            let few = sampled(&made_up(n, |cpu| number(cpu, n), 0.05), &[], 1);
            assert!(few.asked <= 4 * n + Coherence::ENOUGH_DRAWS, "{n}: {}", few.asked);
        }
    }
}

/// Nothing repeats, and what is claimed is of another machine.
#[test]
fn numbers_without_order_take_more_pairs_and_show_the_same() {
    let n = 128;
    let mut numbers: Vec<usize> = (0..n).collect();
    Rng::with_seed(9).shuffle(&mut numbers);
    let matrix = made_up(n, |cpu| numbers[cpu], 0.05);
    let pairs: Vec<Vec<usize>> = (0..n / 2).map(|core| vec![2 * core, 2 * core + 1]).collect();
    for claimed in [vec![], vec![pairs]] {
        let few = sampled(&matrix, &claimed, 2);
        let (all, found) = (classify(&matrix), classify(&few.matrix));
        assert_eq!((all.levels.len(), groups(&found)), (3, groups(&all)));
        assert!(3 * few.asked < matrix.pairs().count(), "{}", few.asked);
    }
}

#[test]
fn a_sample_ends_when_the_time_is_over() {
    let mut asked = 0;
    let found = sample(100, &[], &mut Rng::with_seed(1), &mut |pairs| {
        asked += 1;
        (asked < 2).then(|| vec![Some(50.0); pairs.len()])
    });
    assert!(found.random == 0 && found.times.len() >= 99, "{}", found.times.len());
}

#[test]
fn wrong_claims_show_in_a_sample() {
    let n = 128;
    let matrix = made_up(n, |cpu| cpu, 0.05);
    let few = sampled(&matrix, &[], 4).matrix;
    let pair = |(a, b, ns): (usize, usize, f64)| {
        Pair::new(a as u32, b as u32, PairMethod::Turn, Home::A, Estimate::exact(ns))
    };
    let mut coherence = Coherence { pairs: few.pairs().map(pair).collect(), ..Coherence::default() };
    coherence.method.parameters.insert("random_pairs".into(), Coherence::ENOUGH_DRAWS.into());
    coherence.cpus = (0..n as u32).collect();
    let profile = Profile { coherence: Some(coherence.clone()), ..Profile::default() };
    let notes = judge::coherence(&profile).notes;
    let few = format!("{} of 8128 pairs were measured, after 688 draws from all", coherence.pairs.len());
    assert!(notes.len() == 1 && notes[0].starts_with(&few), "{notes:?}");
    let cores = |shift: u32| {
        let core = |first: u32| {
            [first, first + 1].map(|cpu| (cpu + shift) % n as u32).into_iter().collect::<CpuSet>()
        };
        let unit = |cpus: CpuSet| Unit { id: None, cpus };
        Topology {
            pus: (0..n as u32).map(|os| Pu { os, ..Pu::default() }).collect(),
            cores: (0..n as u32).step_by(2).map(|first| unit(core(first))).collect(),
            packages: vec![unit(CpuSet::up_to(n as u32))],
            ..Topology::default()
        }
    };
    // No claim says that there are complexes of 16.
    let wrong = |claimed: &Topology| {
        audit(claimed, &coherence).iter().filter(|wrong| wrong.level == Some(Level::Core)).count()
    };
    assert_eq!((wrong(&cores(0)), wrong(&cores(1)) > 0), (0, true));
}
