//! Matrices of machines that are made up, so that the truth is known: how often it is found.

use coho_model::Verdict;
use coho_model::{Classification, Matrix, classify};
use fastrand::Rng;

/// A machine: how many units each unit has, from the outside in, and the time between CPUs that part at that level.
struct Machine {
    arity: Vec<usize>,
    ns: Vec<f64>,
}

/// What disturbs a measurement of it.
#[derive(Clone, Copy, Default)]
struct Disturbance {
    /// Standard deviation of the times' logarithms.
    noise: f64,
    /// Share of pairs that take up to ten times as long.
    odd: f64,
    /// Share of pairs without a time.
    missing: f64,
    /// Step of the clock, in ns.
    step_ns: f64,
    /// One outermost unit is home to all lines: times grow with the way around CPU, home, CPU.
    home: bool,
}

impl Machine {
    fn random(rng: &mut Rng, levels: usize, ratio: std::ops::Range<f64>) -> Self {
        let arity: Vec<usize> = (0..=levels).map(|_| [2, 2, 3, 4, 8][rng.usize(..5)]).collect();
        let innermost = 5.0 + 25.0 * rng.f64();
        let ratios = (0..levels).map(|_| ratio.start + (ratio.end - ratio.start) * rng.f64());
        let mut ns: Vec<f64> = std::iter::once(innermost)
            .chain(ratios.scan(innermost, |ns, ratio| {
                *ns *= ratio;
                Some(*ns)
            }))
            .collect();
        ns.reverse();
        Self { arity, ns }
    }

    fn cpus(&self) -> usize {
        self.arity.iter().product()
    }

    /// The unit of a CPU at a level; 0 is the whole machine.
    fn unit(&self, cpu: usize, level: usize) -> usize {
        cpu / self.arity[level..].iter().product::<usize>()
    }

    fn truth(&self, names: &[u32]) -> Vec<Vec<Vec<u32>>> {
        let level = |level: usize| {
            let mut groups = vec![Vec::new(); self.arity[..level].iter().product()];
            for (cpu, &name) in names.iter().enumerate() {
                groups[self.unit(cpu, level)].push(name);
            }
            groups.iter_mut().for_each(|group: &mut Vec<u32>| group.sort_unstable());
            groups.sort();
            groups
        };
        (1..self.arity.len()).rev().map(level).collect()
    }

    fn time(&self, a: usize, b: usize) -> f64 {
        let level = (1..self.arity.len()).rev().find(|&level| self.unit(a, level) == self.unit(b, level));
        self.ns[level.unwrap_or(0)]
    }

    /// The matrix in random order, and the number of each CPU in it.
    fn measure(&self, rng: &mut Rng, how: Disturbance) -> (Matrix, Vec<u32>) {
        let n = self.cpus();
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        let home = rng.usize(..self.arity[0]);
        let mut ns = vec![f64::NAN; n * n];
        for a in 0..n {
            for b in a + 1..n {
                let at_home = |cpu: usize| self.unit(cpu, 1) == home;
                let mut time = self.time(a, b);
                if how.home && self.arity.len() > 2 && self.unit(a, 2) != self.unit(b, 2) {
                    // Within one die a transfer asks the home; every way out of the die costs the same again.
                    let way = |near: bool| if near { 0.0 } else { self.ns[0] - self.ns[1] };
                    time = self.ns[1]
                        + (way(at_home(a)) + way(at_home(b)) + way(self.unit(a, 1) == self.unit(b, 1))) / 2.0;
                }
                time *= (how.noise * normal(rng)).exp();
                if rng.f64() < how.odd {
                    time *= 1.2 + 9.0 * rng.f64();
                }
                if how.step_ns > 0.0 {
                    time = (time / how.step_ns + rng.f64()).floor() * how.step_ns;
                }
                if rng.f64() >= how.missing {
                    ns[order[a] * n + order[b]] = time;
                }
            }
        }
        let names = order.iter().map(|&cpu| cpu as u32).collect();
        (Matrix::new((0..n as u32).collect(), ns).unwrap(), names)
    }
}

fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

fn groups(found: &Classification) -> Vec<Vec<Vec<u32>>> {
    found.levels.iter().map(|level| level.groups.clone()).collect()
}

/// Whether the levels are those of the machine, but for CPUs alone whose partners' times are missing or odd.
fn nearly(found: &[Vec<Vec<u32>>], truth: &[Vec<Vec<u32>>]) -> bool {
    let near = |(found, truth): (&Vec<Vec<u32>>, &Vec<Vec<u32>>)| {
        let refines =
            |group: &Vec<u32>| truth.iter().any(|whole| group.iter().all(|cpu| whole.contains(cpu)));
        let kept = truth.iter().filter(|group| found.contains(group)).count();
        found.iter().all(refines) && 3 * kept >= 2 * truth.len()
    };
    found.len() == truth.len() && found.iter().zip(truth).all(near)
}

/// The share of machines for which the levels found are exactly those that there are, and the share for which they
/// nearly are.
fn hit_rate(title: &str, ratio: std::ops::Range<f64>, how: Disturbance) -> (f64, f64) {
    let mut rng = Rng::with_seed(7);
    let (mut hits, mut near, mut tried) = (0, 0, 0);
    while tried < 80 {
        let depth = rng.usize(1..=4);
        let machine = Machine::random(&mut rng, depth, ratio.clone());
        if !(4..=128).contains(&machine.cpus()) {
            continue;
        }
        tried += 1;
        let (matrix, names) = machine.measure(&mut rng, how);
        let found = classify(&matrix);
        let truth = machine.truth(&names);
        let hit = groups(&found) == truth && found.verdict == Verdict::Hops;
        hits += usize::from(hit);
        let nearly = nearly(&groups(&found), &truth) && found.verdict == Verdict::Hops;
        near += usize::from(nearly);
        if !nearly && std::env::var_os("SHOW_MISSES").is_some() {
            let sizes: Vec<Vec<usize>> =
                found.levels.iter().map(|l| l.groups.iter().map(Vec::len).collect()).collect();
            eprintln!("    {:?} {:.0?}: {:?} {sizes:?}", machine.arity, machine.ns, found.verdict);
        }
    }
    let (exact, near) = (hits as f64 / tried as f64, near as f64 / tried as f64);
    eprintln!("{title}: {:.0} % exact, {:.0} % but for lone CPUs", 100.0 * exact, 100.0 * near);
    (exact, near)
}

#[test]
fn levels_of_hierarchies_are_found() {
    let calm = Disturbance::default();
    // The least ratio between levels of a published matrix is 1.8; a socket divided into two memory nodes has less.
    let (usual, narrow) = (1.6..4.0, 1.3..1.6);
    let cases = [
        ("exact", &usual, calm, 1.0, 1.0),
        ("2 % noise", &usual, Disturbance { noise: 0.02, ..calm }, 0.98, 0.98),
        ("5 % noise", &usual, Disturbance { noise: 0.05, ..calm }, 0.95, 0.95),
        ("10 % noise", &usual, Disturbance { noise: 0.1, ..calm }, 0.85, 0.85),
        ("narrow levels, 2 % noise", &narrow, Disturbance { noise: 0.02, ..calm }, 0.85, 0.85),
        ("narrow levels, 5 % noise", &narrow, Disturbance { noise: 0.05, ..calm }, 0.5, 0.5),
        ("3 % noise, 1 % odd", &usual, Disturbance { noise: 0.03, odd: 0.01, ..calm }, 0.75, 0.9),
        ("3 % noise, 5 % odd", &usual, Disturbance { noise: 0.03, odd: 0.05, ..calm }, 0.3, 0.6),
        ("3 % noise, 10 % missing", &usual, Disturbance { noise: 0.03, missing: 0.1, ..calm }, 0.5, 0.85),
        ("3 % noise, 1 ns steps", &usual, Disturbance { noise: 0.03, step_ns: 1.0, ..calm }, 0.95, 0.95),
    ];
    let misses: Vec<String> = cases
        .into_iter()
        .filter_map(|(title, ratio, how, least_exact, least_near)| {
            let (exact, near) = hit_rate(title, ratio.clone(), how);
            (exact < least_exact || near < least_near).then(|| format!("{title}: {exact}, {near}"))
        })
        .collect();
    assert!(misses.is_empty(), "{misses:?}");
}

#[test]
fn machines_without_levels_are_flat() {
    let mut rng = Rng::with_seed(11);
    let mut report = Vec::new();
    for noise in [0.01, 0.03, 0.1, 0.2, 0.3] {
        let mut flat = 0;
        for _ in 0..200 {
            let n = [2, 3, 4, 6, 8, 12, 16, 32, 64][rng.usize(..9)];
            let machine = Machine { arity: vec![n], ns: vec![40.0] };
            let (matrix, _) = machine.measure(&mut rng, Disturbance { noise, ..Disturbance::default() });
            let found = classify(&matrix);
            flat += usize::from(found.verdict == Verdict::Flat);
        }
        eprintln!("flat with {:.0} % noise: {:.1} %", 100.0 * noise, flat as f64 / 2.0);
        report.push(flat as f64 / 200.0);
    }
    assert!(report[0] == 1.0 && report[1] == 1.0 && report[2] >= 0.97 && report[3] >= 0.9, "{report:?}");
}

/// Times that have nothing to do with each other, over a factor of 40: some are always near.
#[test]
fn times_without_order_are_no_groups() {
    let mut rng = Rng::with_seed(7);
    for (n, most) in [(4, 0.3), (6, 0.1), (8, 0.05), (12, 0.02)] {
        let invented = (0..400).filter(|_| {
            let mut ns = vec![0.0; n * n];
            for (a, b) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))) {
                ns[a * n + b] = 10.0 + 390.0 * rng.f64();
                ns[b * n + a] = ns[a * n + b];
            }
            let matrix = Matrix::new((0..n as u32).collect(), ns).unwrap();
            !classify(&matrix).levels.is_empty()
        });
        let share = invented.count() as f64 / 400.0;
        eprintln!("groups in {:.1} % of matrices of {n} CPUs", 100.0 * share);
        assert!(share <= most, "{n} CPUs: {share}");
    }
}

/// Times that grow with the distance on a ring, a line or a mesh: near is near, but there are no groups.
#[test]
fn gradients_are_flat() {
    let mut rng = Rng::with_seed(13);
    let mut flat = 0;
    let tries = 300;
    for round in 0..tries {
        let width = 2 + rng.usize(..7);
        let height = if round % 3 == 2 { 2 + rng.usize(..7) } else { 1 };
        let n = if height == 1 { 4 * width } else { width * height };
        let slope = 5.0 * rng.f64();
        let noise = 0.05 * rng.f64();
        let distance = |a: usize, b: usize| match round % 3 {
            0 => a.abs_diff(b).min(n - a.abs_diff(b)),
            1 => a.abs_diff(b),
            _ => (a % width).abs_diff(b % width) + (a / width).abs_diff(b / width),
        };
        let mut ns = vec![f64::NAN; n * n];
        for a in 0..n {
            for b in a + 1..n {
                ns[a * n + b] = (30.0 + slope * distance(a, b) as f64) * (noise * normal(&mut rng)).exp();
            }
        }
        let found = classify(&Matrix::new((0..n as u32).collect(), ns).unwrap());
        flat += usize::from(found.verdict == Verdict::Flat);
    }
    eprintln!("gradients: {:.1} % flat", 100.0 * flat as f64 / tries as f64);
    assert!(flat * 100 >= tries * 97, "{flat} of {tries}");
}

/// Two and more sockets or dies, all lines at home in one of them.
#[test]
fn a_home_is_told_from_hops() {
    let mut rng = Rng::with_seed(17);
    let tries = if coho_testing::soak_seconds().is_some() { 1000 } else { 60 };
    let (mut told, mut invented) = (0, 0);
    for _ in 0..tries {
        let sockets = [2, 2, 2, 4, 8][rng.usize(..5)];
        let machine = Machine {
            arity: vec![sockets, [2, 4, 6, 8][rng.usize(..4)], 4, [1, 2][rng.usize(..2)]],
            ns: vec![190.0 + 20.0 * rng.f64(), 90.0 + 20.0 * rng.f64(), 24.0, 9.0],
        };
        let how = Disturbance { noise: 0.03, home: true, ..Disturbance::default() };
        let (matrix, names) = machine.measure(&mut rng, how);
        let found = classify(&matrix);
        told += usize::from(found.verdict == Verdict::HomeBiased);
        let truth = machine.truth(&names);
        invented += usize::from(groups(&found).iter().any(|level| !truth.contains(level)));
        assert!(groups(&found).contains(&truth[1]), "{:?}", machine.arity);
    }
    eprintln!("home: told in {told}, levels invented in {invented} of {tries}");
    assert!(told * 100 >= tries * 95 && invented * 100 <= tries * 2, "{told}, {invented}");
}

/// A matrix of the times that a function tells, with noise.
fn noisy(rng: &mut Rng, n: usize, noise: f64, time: impl Fn(usize, usize) -> f64) -> Matrix {
    let cell = |at: usize| time(at / n, at % n) * (noise * normal(rng)).exp();
    let ns = (0..n * n).map(cell).collect();
    Matrix::new((0..n as u32).collect(), ns).unwrap()
}

/// Cores of two kinds, of which only one has two threads; and sockets some of whose sibling threads are missing.
#[test]
fn lone_cpus_are_left_alone() {
    let mut rng = Rng::with_seed(19);
    let (mut right, tries) = (0, 100);
    for _ in 0..tries {
        let (pairs, lone) = (4 + rng.usize(..8), 1 + rng.usize(..12));
        let n = 2 * pairs + lone;
        let kind = |cpu: usize| usize::from(cpu >= 2 * pairs);
        let matrix = noisy(&mut rng, n, 0.03, |a, b| match (kind(a), kind(b)) {
            (0, 0) if a / 2 == b / 2 => 5.0,
            (0, 0) => 34.0,
            (1, 1) => 46.0,
            _ => 40.0,
        });
        let found = classify(&matrix);
        let sizes: Vec<usize> =
            found.levels.iter().flat_map(|level| level.groups.iter().map(Vec::len)).collect();
        let expected: Vec<usize> =
            std::iter::repeat_n(2, pairs).chain(std::iter::repeat_n(1, lone)).collect();
        right += usize::from(sizes == expected && found.verdict == Verdict::Hops);
    }
    eprintln!("lone CPUs: {right} of {tries}");
    assert!(right * 100 >= tries * 97, "{right} of {tries}");
}

/// Clusters of efficiency cores beside performance cores of two threads, at a level of their own.
#[test]
fn clusters_of_one_kind_of_core_are_no_home() {
    let mut rng = Rng::with_seed(23);
    for clusters in 1..=4 {
        let n = 16 + 4 * clusters;
        let matrix = noisy(&mut rng, n, 0.02, |a, b| match (a < 16, b < 16) {
            (true, true) if a / 2 == b / 2 => 5.0,
            (false, false) if a / 4 == b / 4 => 20.0,
            _ => 38.0,
        });
        let found = classify(&matrix);
        assert_eq!(found.verdict, Verdict::Hops, "{clusters}: {:?}", found.notes);
        assert!(found.levels.iter().all(|level| level.groups[..8].iter().all(|group| group.len() == 2)));
    }
}

/// A clock of 100 ns, as some systems have: a mean of few round trips stands at multiples of 5 ns.
#[test]
fn steps_of_a_coarse_clock_are_no_levels() {
    let mut rng = Rng::with_seed(29);
    let (mut right, tries) = (0, 100);
    for _ in 0..tries {
        let step = 5.0 + 0.4 * rng.f64();
        let jitter = (0..1024).map(|_| rng.f64()).collect::<Vec<_>>();
        let read =
            |ns: f64, at: usize| ((ns / step).floor() + f64::from(jitter[at] < (ns / step).fract())) * step;
        let matrix = noisy(&mut rng, 32, 0.001, |a, b| {
            let (a, b) = (a.min(b), a.max(b));
            let ns = if a / 2 == b / 2 {
                7.5
            } else if a / 16 == b / 16 {
                17.0
            } else {
                70.0
            };
            read(ns, 32 * a + b)
        });
        let found = classify(&matrix);
        let socket: Vec<Vec<u32>> = vec![(0..16).collect(), (16..32).collect()];
        right += usize::from(groups(&found).last() == Some(&socket) && found.levels.len() <= 2);
        let invented = |level: &Vec<Vec<u32>>| level.len() != 2 && level.iter().any(|group| group.len() != 2);
        assert!(!groups(&found).iter().any(invented), "{:?}", groups(&found));
    }
    eprintln!("coarse clock: {right} of {tries}");
    assert_eq!(right, tries);
}
