//! Properties of any machine, and the papers' and published matrices' results.

mod profiles;

use coho_profile::{
    BarrierTime, Coherence, Estimate, ForkJoinTime, Home, Ns, Pair, PairMethod, Profile, Single, Sync,
    SyncLimit, published,
};
use proptest::prelude::*;

use super::program::Program;
use super::*;
use crate::Matrix;

fn tiers<const N: usize>(tiers: [(usize, f64); N]) -> Machine {
    Machine::hierarchical(&tiers.map(|(cpus, ns)| Tier { cpus, one_way: Ns(ns) })).unwrap()
}

fn ns(predictions: &[Prediction], algorithm: Algorithm) -> f64 {
    predictions.iter().find(|prediction| prediction.algorithm == algorithm).unwrap().time.0
}

fn pair(a: u32, b: u32, method: PairMethod, ns: f64) -> Pair {
    Pair::new(a, b, method, Home::A, Estimate::exact(ns))
}

fn assert_near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() <= 1e-9 * expected.abs(), "{actual} instead of {expected}");
}

#[test]
fn two_threads_take_a_message() {
    let predictions = predict(&tiers([(2, 61.7)]), 2, Mapping::Sequential).unwrap();
    assert_near(ns(&predictions, Algorithm::Fbs), 61.7);
    assert_near(predictions[0].times_limit, 1.0);
    let predictions = predict_fork_join(&tiers([(2, 61.7)]), 2, Mapping::Sequential).unwrap();
    assert_near(ns(&predictions, Algorithm::Fbs), 2.0 * 61.7);
    assert_near(predictions[0].times_limit, 1.0);
}

#[test]
fn the_quickest_is_found_without_the_slow_ones() {
    for machine in [tiers([(2, 10.0), (16, 30.0), (64, 90.0)]), tiers([(24, 100.0)])] {
        for threads in [2, 5, 24] {
            let all = predict(&machine, threads, Mapping::BinaryTree).unwrap();
            let few = predict_quick(&machine, threads, Mapping::BinaryTree).unwrap();
            assert_eq!(few[0], all[0]);
            let win = |found: &[Prediction]| quickest(&machine, Mapping::BinaryTree, found);
            assert_eq!(win(&few), win(&all));
        }
    }
}

/// With all CPUs alike, the times follow by hand.
#[test]
fn closed_forms() {
    let predictions = predict(&tiers([(64, 100.0)]), 64, Mapping::Sequential).unwrap();
    assert_near(ns(&predictions, Algorithm::Fbs), 100.0 + 62.0 * 3.0);
    assert_near(ns(&predictions, Algorithm::Dissemination), 600.0);
    // Two exchanges of eight.
    assert_near(ns(&predictions, Algorithm::Grid), 2.0 * (100.0 + 6.0 * 3.0));
    // Six rounds up and down; every winner's releases follow each other at the gap.
    let tournament = ns(&predictions, Algorithm::Tournament);
    assert!((1200.0..1200.0 + 6.0 * 5.0 * 3.0).contains(&tournament), "{tournament}");
    // 64 transfers of the counter, the release, and 62 further readers of it.
    let central = ns(&predictions, Algorithm::Central);
    assert!((6300.0..6400.0 + 100.0 + 62.0 * 3.0 + 1.0).contains(&central), "{central}");
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let machine = tiers([(4, 50.0)]);
    assert!(predict(&machine, 1, Mapping::Sequential).is_err());
    assert!(predict(&machine, 5, Mapping::Sequential).unwrap_err().to_string().contains("4 CPUs"));
    assert!(Machine::hierarchical(&[]).is_err());
    assert!(
        Machine::hierarchical(&[(4, 1.0), (6, 2.0)].map(|(cpus, ns)| Tier { cpus, one_way: Ns(ns) }))
            .is_err()
    );
    assert!(Machine::hierarchical(&[Tier { cpus: 2, one_way: Ns(f64::NAN) }]).is_err());
    assert!(Machine::from_profile(&Profile::default()).is_err());
    let below_the_clock = Coherence {
        cpus: vec![0, 1],
        pairs: vec![pair(0, 1, PairMethod::Turn, 0.0)],
        ..Coherence::default()
    };
    assert!(
        Machine::from_profile(&Profile { coherence: Some(below_the_clock), ..Profile::default() }).is_err()
    );
    assert!(fit(&Published { separate_8: Ns::ZERO, ..Published::sr11000() }).is_err());
}

/// A matrix of distances between points, which no detour shortens.
fn metric() -> impl Strategy<Value = Matrix> {
    prop::collection::vec((0.0..100.0f64, 0.0..100.0f64), 2..10).prop_map(|points| {
        let way = |a: (f64, f64), b: (f64, f64)| 5.0 + (a.0 - b.0).hypot(a.1 - b.1);
        let cells = points.iter().flat_map(|&a| points.iter().map(move |&b| way(a, b))).collect();
        Matrix::new((0..points.len() as u32).collect(), cells).unwrap()
    })
}

/// A matrix with shortcuts.
fn any_times() -> impl Strategy<Value = Matrix> {
    (2usize..12).prop_flat_map(|n| {
        prop::collection::vec(1.0..100.0f64, n * n)
            .prop_map(move |ns| Matrix::new((0..n as u32).collect(), ns).unwrap())
    })
}

proptest! {
    #[test]
    fn nothing_beats_the_limit(matrix in prop_oneof![metric(), any_times()], gap in 0.0..40.0f64, share in 0.0..1.0f64) {
        let mut machine = Machine::from_matrix(&matrix).unwrap();
        machine.extra_line = ExtraLine {
            fixed: Ns(gap),
            of_latency: share,
            range: [Gap::NONE, Gap::WHOLE],
            source: Source::Assumed("drawn".into()),
        };
        let n = machine.len();
        for mapping in Mapping::ALL {
            let root = eccentricity(&machine, machine.order(mapping), 0, Machine::one_way);
            for prediction in predict(&machine, n, mapping).unwrap() {
                prop_assert!(prediction.times_limit > 1.0 - 1e-9, "{prediction:?}");
                let rooted = prediction.algorithm.has_fixed_root();
                prop_assert!(!rooted || prediction.time > 2.0 * root * (1.0 - 1e-9), "{prediction:?}");
            }
            for prediction in predict_fork_join(&machine, n, mapping).unwrap() {
                prop_assert!(prediction.times_limit > 1.0 - 1e-9, "{prediction:?}");
            }
        }
    }

    #[test]
    fn the_limit_is_the_diameter_of_the_shortest_paths(matrix in any_times()) {
        let machine = Machine::from_matrix(&matrix).unwrap();
        let n = machine.len();
        let team: Vec<usize> = (0..n).collect();
        let mut way: Vec<Ns> = (0..n * n).map(|at| machine.one_way(at / n, at % n)).collect();
        for by in 0..n {
            for at in 0..n * n {
                way[at] = way[at].min(way[at / n * n + by] + way[by * n + at % n]);
            }
        }
        let diameter = way.iter().copied().fold(Ns::ZERO, Ns::max);
        prop_assert!((barrier_limit(&machine, &team, Machine::one_way) - diameter).abs() < Ns(1e-9));
        let furthest = way[..n].iter().copied().fold(Ns::ZERO, Ns::max);
        prop_assert!((fork_join_limit(&machine, &team, 0, Machine::one_way) - 2.0 * furthest).abs() < Ns(1e-9));
    }
}

/// The rule's choice is near the best of its candidates.
#[test]
fn the_rule_agrees_with_the_simulation() {
    let machines = [
        tiers([(64, 100.0)]),
        tiers([(2, 10.0), (16, 29.0), (128, 140.0)]),
        tiers([(2, 8.0), (16, 25.0), (96, 110.0), (192, 200.0)]),
        tiers([(16, 45.0), (32, 140.0)]),
    ];
    for machine in machines {
        for (gap, threads) in [(1.0, 4), (3.0, 8), (3.0, 16), (3.0, 32), (8.0, 64), (50.0, 128)] {
            if threads > machine.len() {
                continue;
            }
            let mut machine = machine.clone();
            machine.extra_line.fixed = Ns(gap);
            let predictions = predict(&machine, threads, Mapping::Sequential).unwrap();
            let choices =
                [Algorithm::Fbs, Algorithm::Grid, Algorithm::Hierarchical, Algorithm::Dissemination];
            // Quickest first.
            let best =
                predictions.iter().find(|prediction| choices.contains(&prediction.algorithm)).unwrap().time;
            let found = quickest(&machine, Mapping::Sequential, &predictions).unwrap();
            let (choice, chosen) = (found.choice, found.choice_time.unwrap());
            assert!(
                chosen <= 1.2 * best,
                "{threads} threads, {gap} ns a line: {choice:?} takes {chosen:?}, not {best:?}"
            );
        }
    }
}

/// Paper 3: separate lines before one line before the lock variable, the more CPUs the more; sequential mapping before
/// binary tree.
#[test]
fn the_papers_orders_hold_on_its_machine() {
    let fit = fit(&Published::sr11000()).unwrap();
    for figure in &fit.figures {
        assert!(figure.residual().abs() < 0.25, "{:?}", fit.figures);
        assert!(figure.left_out.is_some_and(|ns| ns != figure.fitted), "a fit is no prediction: {figure:?}");
    }
    eprintln!("{:?} {:?} {} {:?} {}", fit.figures, fit.tiers, fit.share, fit.shares, fit.alternatives.len());
    let time = |threads, mapping, algorithm| {
        let found = predict_fork_join(&fit.machine, threads, mapping).unwrap();
        let by_barrier = |one: &&Prediction| (one.algorithm, one.by) == (algorithm, Some(By::Barrier));
        found.iter().find(by_barrier).unwrap().time
    };
    let mut before = 0.0;
    for threads in [4, 8, 16] {
        let [separate, one_line, lock] = [Algorithm::Fbs, Algorithm::FbsOneLine, Algorithm::Lock]
            .map(|algorithm| time(threads, Mapping::Sequential, algorithm));
        assert!(separate < one_line && one_line < lock, "{threads}: {separate:?} {one_line:?} {lock:?}");
        assert!(lock / separate > before);
        before = lock / separate;
    }
    for threads in [2, 4, 8] {
        let [sequential, tree] = Mapping::ALL.map(|mapping| time(threads, mapping, Algorithm::Fbs));
        assert!(tree > 1.2 * sequential, "{threads}: {sequential:?} {tree:?}");
    }
}

#[test]
fn a_machine_is_found_again_from_its_figures() {
    let known = super::fit::judge(&[90.0, 200.0, 330.0, 0.4], &Published::sr11000()).unwrap();
    let figure = |at: usize| known[at].fitted;
    let again = fit(&Published {
        separate_8: Ns(figure(0)),
        separate_16: Ns(figure(1)),
        lock_over_separate_16: figure(2),
        one_line_over_separate_16: figure(3),
        binary_tree_over_sequential_8: figure(4),
        ..Published::sr11000()
    })
    .unwrap();
    for figure in &again.figures {
        assert!(figure.residual().abs() < 0.03, "{figure:?}");
    }
}

/// The paper's node: CPUs 0 and 1 share a chip, 0 to 7 a module.
#[test]
fn the_papers_orders() {
    let machine = tiers([(2, 1.0), (8, 2.0), (16, 3.0)]);
    assert_eq!(machine.order(Mapping::Sequential), (0..16).collect::<Vec<_>>());
    let spread = machine.order(Mapping::BinaryTree);
    assert_eq!(spread[..2], [0, 8]);
    assert!(spread[..8].iter().all(|cpu| cpu % 2 == 0), "{spread:?}");
}

/// Without a topology, nothing shows that CPUs with distant numbers are hyper-threads of one core: near numbers stay
/// together.
#[test]
fn groups_of_a_bare_matrix_are_no_cores() {
    let matrix = Matrix::parse("\n90\n10,91\n92,11,93\n").unwrap();
    let machine = Machine::from_matrix(&matrix).unwrap();
    assert_eq!(machine.order(Mapping::Sequential), [0, 2, 1, 3]);
    assert_eq!(machine.order(Mapping::BinaryTree), [0, 1, 2, 3]);
}

/// The extra line's cost is assumed: what depends on it has a range, and nothing else has one to speak of.
#[test]
fn a_prediction_tells_what_it_owes_to_an_assumption() {
    let machine = tiers([(2, 10.0), (8, 100.0)]);
    let variants = machine.variants();
    assert_eq!(variants.len(), 2);
    let mut of_two = predict(&machine, 2, Mapping::BinaryTree).unwrap();
    add_ranges(&mut of_two, &variants);
    assert_eq!(of_two[0].range, Some((Ns(100.0), Ns(100.0))), "two threads read one line each");
    let mut of_eight = predict(&machine, 8, Mapping::Sequential).unwrap();
    add_ranges(&mut of_eight, &variants);
    let fbs = of_eight.iter().find(|one| one.algorithm == Algorithm::Fbs).unwrap();
    let (low, high) = fbs.range.unwrap();
    assert!(low == Ns(100.0) && low < fbs.time && high > 4.0 * fbs.time, "{fbs:?}");
    let mut winner = quickest(&machine, Mapping::Sequential, &of_eight).unwrap();
    add_rivals(&mut winner, &variants);
    assert!(!winner.rivals.is_empty(), "where no transfers overlap, another is quickest: {winner:?}");
    // Where the extra line is known, there is nothing to try.
    let mut known = machine.clone();
    known.extra_line = ExtraLine::between(Ns(3.0), Ns(3.0), Ns(3.0), Source::Assumed("as asked for".into()));
    assert!(known.variants().is_empty());
}

/// Diameter in ns and, where recorded, the rooted algorithms' least time over it, as computed independently.
#[test]
fn limits_of_published_machines() {
    let cases = [
        ("AMD_EPYC_7773X", 140.0, 1.69),
        ("AMD_EPYC_7R13_48-Core_Processor", 209.0, 1.87),
        ("AWS_Graviton3", 57.0, 1.79),
        ("AMD_Ryzen_Threadripper_1950X", 160.0, 1.94),
    ];
    for (name, diameter, rooted) in cases {
        let file = coho_testing::data(&format!("matrices/nviennot_{name}.csv"));
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let machine = Machine::from_matrix(&Matrix::parse(&text).unwrap()).unwrap();
        let team: Vec<usize> = (0..machine.len()).collect();
        let limit = barrier_limit(&machine, &team, Machine::one_way);
        assert_eq!(limit.0.round(), diameter, "{name}");
        let centre = team
            .iter()
            .map(|&cpu| eccentricity(&machine, &team, cpu, Machine::one_way))
            .fold(Ns::INFINITY, Ns::min);
        assert!((2.0 * centre / limit - rooted).abs() < 0.006, "{name}: {}", 2.0 * centre / limit);
    }
}

/// Events served by one episode of every algorithm.
fn events(machine: &Machine) -> Vec<(Algorithm, u64)> {
    let n = machine.len();
    let team: Vec<usize> = (0..n).collect();
    let levels = [team.chunks(n.isqrt()).map(<[usize]>::to_vec).collect()];
    let count =
        |program: Program| simulate::run(machine, &team, &program, 2, Ns::INFINITY).unwrap().events / 2;
    Algorithm::BARRIERS.map(|algorithm| (algorithm, count(algorithm.barrier(n, &levels)))).to_vec()
}

#[test]
fn teams_are_looked_at_by_powers_of_two() {
    assert_eq!(team_sizes(48), [2, 4, 8, 16, 32, 48]);
    assert_eq!((team_sizes(2), team_sizes(1)), (vec![2], vec![]));
}

#[test]
fn events_stay_countable() {
    for (algorithm, events) in events(&tiers([(4, 10.0), (16, 40.0), (64, 90.0), (256, 200.0)])) {
        assert!(events < 3 * 256 * 256, "{algorithm}: {events}");
    }
}

/// `make soak` tries the largest machine.
#[test]
fn many_cpus() {
    let n = if coho_testing::soak_seconds().is_some() { 4096 } else { 1024 };
    let machine = tiers([(2, 10.0), (16, 30.0), (128, 90.0), (n / 4, 150.0), (n, 400.0)]);
    for (algorithm, events) in events(&machine) {
        assert!(events < 3 * (n * n) as u64, "{algorithm}: {events}");
    }
    for mapping in Mapping::ALL {
        let start = std::time::Instant::now();
        let predictions = predict(&machine, n, mapping).unwrap();
        eprintln!("{n} threads, {mapping}: {:.2?}", start.elapsed());
        assert!(
            matches!(predictions[0].algorithm, Algorithm::Grid | Algorithm::Hierarchical),
            "{:?}",
            predictions[0]
        );
        assert!(predictions[0].times_limit < 3.0);
    }
}
