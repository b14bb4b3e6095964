//! How often the levels of machines like those in public collections are found, disturbed as their figures are.

mod disturbance;
mod machines;

use std::collections::BTreeMap;

use coho_model::Verdict;
use coho_model::{Classification, Matrix, classify};
use disturbance::Disturbance;
use fastrand::Rng;
pub use machines::FAMILIES;
use machines::{CLUSTER, CORE, DIE, Machine, SOCKET};

type Groups = Vec<Vec<u32>>;

/// A machine, its matrix, and what may and must be found in it.
pub struct Case {
    pub machine: Machine,
    pub matrix: Matrix,
    pub how: Disturbance,
    /// Every division of the machine into units of one kind.
    real: Vec<Groups>,
    /// Those whose gap stands out of the noise.
    pub plain: Vec<Groups>,
    /// Pairs that took much longer.
    odd: Vec<(usize, usize)>,
}

impl Case {
    pub fn new(rng: &mut Rng, family: usize) -> Self {
        let machine = FAMILIES[family](rng);
        let how = Disturbance::random(rng);
        let n = machine.len();
        let times: Vec<f64> = (0..n * n).map(|at| machine.time(at / n, at % n)).collect();
        let (matrix, odd) = how.measure(rng, n, &times);
        let mut case = Self { machine, matrix, how, real: Vec::new(), plain: Vec::new(), odd };
        for level in [CORE, CLUSTER, DIE, SOCKET] {
            let units = case.machine.units(level);
            let groups: Groups =
                units.iter().map(|unit| unit.iter().map(|&cpu| cpu as u32).collect()).collect();
            if !(2..n).contains(&groups.len()) || case.real.contains(&groups) {
                continue;
            }
            if case.how.shows(gap(n, &times, &units), case.machine.slope) {
                case.plain.push(groups.clone());
            }
            case.real.push(groups);
        }
        case
    }

    /// Whether the groups found are real ones, but for those divided by a pair that took much longer.
    fn same(&self, real: &Groups, found: &Groups) -> bool {
        let within = |group: &Vec<u32>, cpu: usize| group.binary_search(&(cpu as u32)).is_ok();
        real.iter().all(|group| {
            let divided = || {
                let pieces: Vec<_> = found.iter().filter(|piece| within(group, piece[0] as usize)).collect();
                pieces.len() == 2
                    && pieces.iter().all(|piece| piece.iter().all(|&cpu| within(group, cpu as usize)))
                    && self.odd.iter().any(|&(a, b)| within(group, a) && within(group, b))
            };
            found.contains(group) || divided()
        })
    }

    /// Levels found that the machine has not, and plain ones that were not found.
    pub fn judge(&self, found: &Classification) -> (usize, usize) {
        let groups: Vec<&Groups> = found.levels.iter().map(|level| &level.groups).collect();
        let invented =
            groups.iter().filter(|groups| !self.real.iter().any(|real| self.same(real, groups))).count();
        let missed =
            self.plain.iter().filter(|plain| !groups.iter().any(|groups| self.same(plain, groups))).count();
        (invented, missed)
    }
}

/// The least time across and the largest inside, undisturbed.
fn gap(n: usize, times: &[f64], units: &[Vec<usize>]) -> (f64, f64) {
    let mut of = vec![0; n];
    for (index, unit) in units.iter().enumerate() {
        unit.iter().for_each(|&cpu| of[cpu] = index);
    }
    let (mut inside, mut across) = (0.0f64, f64::INFINITY);
    for a in 0..n {
        for b in a + 1..n {
            let ns = times[a * n + b];
            if of[a] == of[b] { inside = inside.max(ns) } else { across = across.min(ns) }
        }
    }
    (inside, across)
}

#[derive(Default, Clone, Copy)]
struct Score {
    cases: usize,
    right: usize,
    plain: usize,
    missed: usize,
    found: usize,
    invented: usize,
}

impl Score {
    fn add(&mut self, case: &Case, found: usize, (invented, missed): (usize, usize)) {
        self.cases += 1;
        self.right += usize::from(invented + missed == 0);
        self.plain += case.plain.len();
        self.missed += missed;
        self.found += found;
        self.invented += invented;
    }
}

/// The scores of each family, and of `all`.
fn score(seed: u64, cases: usize) -> BTreeMap<&'static str, Score> {
    let mut rng = Rng::with_seed(seed);
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for number in 0..cases {
        let case = Case::new(&mut rng, number % FAMILIES.len());
        let found = classify(&case.matrix);
        let judged = case.judge(&found);
        for family in [case.machine.family, "all"] {
            scores.entry(family).or_default().add(&case, found.levels.len(), judged);
        }
        for level in &found.levels {
            assert!(level.max_inside_ns < level.min_across_ns, "{number}: {level:?}");
        }
        assert!(found.verdict != Verdict::Flat || found.levels.is_empty(), "{number}");
        if judged != (0, 0) && std::env::var_os("SHOW_MISSES").is_some() {
            let plain: Vec<String> = case.plain.iter().map(sizes).collect();
            let found_sizes: Vec<String> = found.levels.iter().map(|level| sizes(&level.groups)).collect();
            eprintln!("{number} {}: {plain:?}, found {found_sizes:?}, {:?}", case.machine.family, case.how);
        }
    }
    for (family, s) in &scores {
        let rate = 100.0 * s.right as f64 / s.cases as f64;
        eprintln!(
            "{family:16} {:4} of {:4} right ({rate:.1} %), {} of {} plain levels missed, {} of {} found invented",
            s.right, s.cases, s.missed, s.plain, s.invented, s.found
        );
    }
    scores
}

/// `8×2 4×1`: groups by size.
pub fn sizes(groups: &Groups) -> String {
    let mut sizes = BTreeMap::<usize, usize>::new();
    groups.iter().for_each(|group| *sizes.entry(group.len()).or_default() += 1);
    sizes.iter().map(|(size, number)| format!("{number}×{size}")).collect::<Vec<_>>().join(" ")
}

fn assert_good(scores: &BTreeMap<&str, Score>) {
    for (family, score) in scores {
        assert!(100 * score.right >= 90 * score.cases, "{family}");
    }
    let all = scores["all"];
    assert!(100 * all.right >= 98 * all.cases, "{} of {} machines", all.right, all.cases);
    assert!(100 * all.missed <= all.plain, "{} of {} levels missed", all.missed, all.plain);
    assert!(100 * all.invented <= all.found, "{} of {} levels invented", all.invented, all.found);
}

#[test]
fn levels_of_public_machines() {
    let (seeds, machines): (&[u64], usize) =
        if coho_testing::soak_seconds().is_some() { (&[5, 77, 1001], 1000) } else { (&[41], 330) };
    for seed in seeds {
        assert_good(&score(*seed, machines));
    }
}
